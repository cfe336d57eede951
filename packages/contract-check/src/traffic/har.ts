import { readFile } from 'node:fs/promises';
import { CannotRun } from '../cannot-run.ts';
import { responseOf } from '../http/client.ts';
import { isObject, type JsonObject } from '../json.ts';
import type { CheckOptions } from '../options.ts';
import type { Report } from '../report/report.ts';
import { TrafficJudge } from './traffic.ts';

/**
 * Checks traffic recorded by a browser, proxy or test as HTTP Archive 1.2
 * (https://w3c.github.io/web-performance/specs/HAR/Overview.html).
 *
 * @throws CannotRun if the file cannot be read or is not an archive.
 */
export async function judgeHar(options: CheckOptions & { readonly har: string }): Promise<Report> {
  const judge = await TrafficJudge.create(options);
  const entries = await entriesOf(options.har);
  const origin = options.url === undefined ? undefined : new URL(options.url).origin;
  for (const { request, response } of entries) {
    const url = String(request.url);
    // The archive of a page may contain requests to other servers.
    if (!URL.canParse(url) || (origin !== undefined && new URL(url).origin !== origin)) continue;
    const sent = { method: String(request.method), url, headers: headersOf(request), body: bodyOf(request.postData) };
    const content = isObject(response.content) ? response.content : {};
    const text =
      content.encoding === 'base64'
        ? Buffer.from(String(content.text ?? ''), 'base64').toString()
        : String(content.text ?? '');
    const status = Number(response.status);
    if (status > 0) judge.add(sent, responseOf(status, headersOf(response), text, 0));
  }
  return judge.report(options.url ?? options.har);
}

async function entriesOf(path: string): Promise<{ request: JsonObject; response: JsonObject }[]> {
  let archive: unknown;
  try {
    archive = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new CannotRun(
      `${path} cannot be read as an HTTP archive: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const log = isObject(archive) && isObject(archive.log) ? archive.log : undefined;
  if (!Array.isArray(log?.entries)) throw new CannotRun(`${path} is not an HTTP archive: it has no log.entries.`);
  return log.entries
    .filter(isObject)
    .flatMap(({ request, response }) => (isObject(request) && isObject(response) ? [{ request, response }] : []));
}

function headersOf({ headers }: JsonObject): Record<string, string> {
  const list = Array.isArray(headers) ? headers.filter(isObject) : [];
  return Object.fromEntries(list.map(({ name, value }) => [String(name).toLowerCase(), String(value)]));
}

function bodyOf(postData: unknown): string | undefined {
  return isObject(postData) && typeof postData.text === 'string' ? postData.text : undefined;
}
