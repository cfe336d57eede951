/** The tools that `tools.ts` compares: how each is configured, and where it says what it found. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseYaml, stringifyYaml } from '@redocly/openapi-core';
import { OpenApiDocument } from '../../src/document/document.ts';
import { operationsOf } from '../../src/document/operation.ts';
import { isObject } from '../../src/json.ts';
import type { Report } from '../../src/run/report.ts';
import { printed, serving } from '../programs.ts';
import { type Exchange, objectsIn, type Running, type Server } from './servers.ts';

/** Where a tool works: the folder of its packages, one for the files of this run, and the contract in one file. */
export interface Place {
  readonly folder: string;
  readonly files: string;
  readonly document: string;
}

export interface Tool {
  readonly name: string;
  /** From the npm registry, with their versions. */
  readonly packages: readonly string[];
  /** Runs it once, and returns what it reports about the server. Throws if the tool fails. */
  readonly run: (server: Server, running: Running, place: Place) => Promise<readonly string[]>;
}

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const bin = (folder: string, name: string) => join(folder, 'node_modules/.bin', name);
const redocly = '@redocly/cli@2.77.0';

export const tools: readonly Tool[] = [
  {
    name: 'contract-check',
    packages: [],
    async run({ spec, auth }, { url }, { files }) {
      const [signIn, report] = [join(files, 'auth.mjs'), join(files, 'report.json')];
      const functions = Object.entries(auth).map(([who, headers]) => `${who}: () => (${JSON.stringify(headers())})`);
      await writeFile(signIn, `export default { ${functions.join(', ')} };`);
      const options = ['--disposable', '--seed', '1', '--auth', signIn, '--json', report];
      const output = await printed(['node', here('../../src/bin.ts'), '--spec', spec, '--url', url, ...options], files);
      const { findings } = await readJson<Report>(report, output);
      return findings.map(({ operation, cause }) => `${operation} ${cause}`);
    },
  },
  {
    name: 'prism',
    packages: ['@stoplight/prism-cli@5.16.0'],
    async run(_server, { url, sendProbes }, { folder, document }) {
      const program = join(folder, 'node_modules/@stoplight/prism-cli/dist/index.js');
      // Its validation of requests ends it at parameters of the styles that it does not know.
      const options = ['--validate-request', 'false'];
      const words = (port: number) => [program, 'proxy', document, url, '--port', String(port), ...options];
      const { output } = await serving(words, { folder, ready: '/' }, sendProbes);
      return output.split('[HTTP SERVER] ').flatMap((part) => {
        const request = part.split(' ', 2).join(' ');
        return [...part.matchAll(/Violation: (response.*)/g)].map(([, violation]) => `${request} ${violation}`);
      });
    },
  },
  {
    name: 'express-openapi-validator',
    packages: ['express-openapi-validator@5.6.2', 'express@5.3.0'],
    async run(_server, { url, sendProbes }, { folder, document }) {
      const words = (port: number) => [here('express-openapi-validator.mjs'), String(port), document, url];
      const { output } = await serving(words, { folder, ready: '/' }, sendProbes);
      return [...output.matchAll(/VIOLATION (.*)/g)].map(([, violation = '']) => violation);
    },
  },
  {
    name: 'drift',
    packages: [redocly],
    async run(_server, { url, sendProbes, exchanges }, { folder, files, document }) {
      const [traffic, report] = [join(files, 'traffic.har'), join(files, 'report.json')];
      await sendProbes(url);
      const entries = exchanges.flatMap((one) => entryOf(url, one));
      await writeFile(traffic, JSON.stringify({ log: { version: '1.2', entries } }));
      const options = ['--api', document, '--server', url, '--format', 'json', '--output', report];
      const output = await printed([bin(folder, 'redocly'), 'drift', traffic, ...options], files);
      type Problem = { readonly operationId?: string; readonly message: string; readonly target: string };
      const { problems } = await readJson<{ readonly problems: readonly Problem[] }>(report, output);
      // Some of the requests are wrong on purpose.
      const ofServer = problems.filter(({ target }) => target !== 'request');
      return ofServer.map(({ operationId, message }) => `${operationId} ${message}`);
    },
  },
  {
    name: 'respect',
    packages: [redocly],
    async run({ credentials }, { url }, { folder, files, document }) {
      const [workflows, report] = [join(files, 'workflows.arazzo.yaml'), join(files, 'report.json')];
      await printed([bin(folder, 'redocly'), 'generate-arazzo', document, '--output-file', workflows], files);
      const generated = parseYaml(await readFile(workflows, 'utf8')) as { workflows: { workflowId: string }[] };
      generated.workflows = deletesLast(generated.workflows, ({ workflowId }) => workflowId.startsWith('delete-'));
      await writeFile(workflows, stringifyYaml(generated));
      const options = ['--server', `openapi=${url}`, '--input', JSON.stringify(credentials), '--json-output', report];
      const output = await printed([bin(folder, 'redocly'), 'respect', workflows, ...options], files);
      const steps = objectsIn(await readJson(report, output)).filter(({ stepId }) => stepId !== undefined);
      const failed = steps.flatMap(({ stepId, checks }) =>
        [...objectsIn(checks)].flatMap(({ name, message, passed }) => {
          if (passed !== false) return [];
          // The other lines are those of the response around the place.
          const reasons = name === 'schema check' ? String(message).match(/^[A-Z]{3,} .*/gm) : undefined;
          return (reasons ?? [message]).map((reason) => `${stepId} ${name} ${reason}`);
        }),
      );
      return [...failed];
    },
  },
  {
    name: 'dredd',
    packages: ['dredd@14.1.0'],
    async run({ headers }, { url }, { folder, files, document }) {
      // Of OpenAPI 3, it expects all responses of an operation to the same request; of OpenAPI 2, only those of success.
      const contract = JSON.parse(await readFile(document, 'utf8'));
      for (const { responses } of objectsIn(contract.paths)) {
        if (!isObject(responses)) continue;
        for (const status of Object.keys(responses)) if (!status.startsWith('2')) delete responses[status];
      }
      await writeFile(document, JSON.stringify(contract));
      const sent = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
      const options = ['--loglevel', 'error', '--color', 'false', '--sorted', ...sent];
      const output = await printed([bin(folder, 'dredd'), document, url, ...options], files);
      if (!output.includes('complete: Tests took')) throw new Error(`It ended early: ${output.slice(-500)}`);
      const failed = output
        .split(/^(?=(?:pass|fail|error): .* duration: \d+ms$)/m)
        .filter((part) => !part.startsWith('pass'));
      return failed.flatMap((part) => {
        const [, kind, test] = /^(fail|error): (.*) duration: /.exec(part) ?? [];
        const reasons = part.match(/(?<=^(?:fail: )?)(?:headers|body|statusCode): (?:At|Expected) .*/gm) ?? [];
        return [...(kind === 'error' ? ['error'] : []), ...reasons].map((reason) => `${test} ${reason}`);
      });
    },
  },
  {
    name: 'portman',
    // It requires tslib without declaring it, and none of its dependencies brings it any more.
    packages: ['@apideck/portman@1.33.0', 'tslib@2.8.1'],
    async run({ headers }, { url }, { folder, files, document }) {
      const [settings, report] = [join(files, 'portman.json'), join(files, 'report.json')];
      const enabled = { enabled: true };
      const all = { statusSuccess: enabled, contentType: enabled, jsonBody: enabled, schemaValidation: enabled };
      const overwriteRequestHeaders = Object.entries(headers).map(([key, value]) => ({ key, value }));
      const operations = operationsOf(await OpenApiDocument.load(document));
      const ordered = deletesLast(operations, ({ method }) => method === 'DELETE');
      const orderOfOperations = ordered.map(({ method, path }) => `${method}::${path}`);
      const everywhere = { openApiOperation: '*::/*' };
      await writeFile(
        settings,
        JSON.stringify({
          version: 1,
          tests: { contractTests: [{ ...everywhere, ...all, headersPresent: enabled }] },
          overwrites: [{ ...everywhere, overwriteRequestHeaders, overwriteRequestSecurity: { remove: true } }],
          globals: { securityOverwrites: { remove: true }, orderOfOperations },
        }),
      );
      // By default, it ends at the first failure.
      const newman = { abortOnFailure: false, reporters: ['json'], reporter: { json: { export: report } } };
      const options = ['--baseUrl', url, '--portmanConfigFile', settings, '--newmanRunOptions', JSON.stringify(newman)];
      const words = [bin(folder, 'portman'), '--local', document, '--runNewman', '--includeTests', ...options];
      const output = await printed(words, files);
      type Failure = { readonly error: { readonly test?: string; readonly message: string } };
      const { run } = await readJson<{ readonly run: { readonly failures: readonly Failure[] } }>(report, output);
      return run.failures.flatMap(({ error: { test, message } }) =>
        message.split(', ').map((part) => `${test} ${part.replace(/^expected data to .*\s*/, '')}`),
      );
    },
  },
];

/** Other requests may need what is deleted. */
function deletesLast<Item>(items: readonly Item[], isDelete: (item: Item) => boolean): Item[] {
  return items.toSorted((one, other) => Number(isDelete(one)) - Number(isDelete(other)));
}

/** An entry of a HAR file. */
function entryOf(url: string, { request, response }: Exchange): object[] {
  if (response === undefined) return [];
  const query = request.query === '' ? '' : `?${request.query}`;
  const pairs = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => ({ name, value }));
  const type = (headers: Readonly<Record<string, string>>) => headers['content-type'] ?? '';
  return [
    {
      startedDateTime: new Date().toISOString(),
      time: 1,
      request: {
        method: request.method,
        url: `${url}${request.path}${query}`,
        headers: pairs(request.headers),
        queryString: [...new URLSearchParams(query)].map(([name, value]) => ({ name, value })),
        ...(request.body && { postData: { mimeType: type(request.headers), text: String(request.body) } }),
      },
      response: {
        status: response.status,
        headers: pairs(response.headers),
        content: { mimeType: type(response.headers), text: response.text, size: response.text.length },
      },
    },
  ];
}

/** The report that a tool writes. Without one, the tool failed, and its output says why. */
async function readJson<Content>(file: string, output: string): Promise<Content> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new Error(`It wrote no report. Its output ends with:\n${output.slice(-1000)}`, { cause });
  }
}
