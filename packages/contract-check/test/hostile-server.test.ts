import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { run } from '../src/main.ts';
import { isEveryDriftTested } from './sample.ts';
import type { Alter, Reply } from './servers/kit/serve.ts';
import { startThings, Things } from './things.ts';

let folder: string;
let spec: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-hostile-'));
  spec = join(folder, 'openapi.json');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Texts that no URL, header, file name or regular expression can have as they are. */
const hostile = {
  'half of a surrogate pair': '\\ud800',
  'the other half': 'a\\udc00b',
  'a percent sign': '%',
  'an invalid escape': '%E0%A4%A',
  'a null character': 'a\\u0000b',
  'a line break': 'a\\r\\nb: c',
  'a parent folder': '../..',
  'a query': '?a=b#c',
  'an address': '//[',
  'the name of a prototype': '__proto__',
  'a pattern': '(*+?',
  'a long text': 'x'.repeat(9000),
  'invisible characters': '\\u202e\\u2028\\ufeff',
};

/** Sends the hostile text in place of all texts of a response, in the body and in headers. */
function withText(reply: Reply, escaped: string): Reply {
  const body = JSON.stringify(reply.body)?.replaceAll(/(?<=:)"[^"]*"/g, `"${escaped}"`);
  const plain = escaped.replaceAll(/\\[rnu][\da-f]{0,4}/g, '');
  const headers = { 'content-type': 'application/json', location: plain, etag: plain, link: `<${plain}>; rel=next` };
  return { status: reply.status, headers: { ...reply.headers, ...headers }, body: Buffer.from(body ?? '') };
}

/** Each text is returned by a server of its own at night; by day, one server returns them in turn. */
const servers: readonly (readonly [name: string, texts: readonly string[]])[] = isEveryDriftTested
  ? Object.entries(hostile).map(([name, escaped]) => [name, [escaped]])
  : [['all of them', Object.values(hostile)]];

describe.concurrent('a server that returns hostile texts as IDs, names and headers', () => {
  it.each(servers)('does not end a run: %s', async (name, texts) => {
    let count = 0;
    const sent = new Set<string>();
    const { url, close } = await startThings(new Things(), spec, async (request, next) => {
      const escaped = texts[count++ % texts.length] ?? '';
      sent.add(escaped);
      return withText(await next(request), escaped);
    });
    const file = join(folder, `${name}.json`);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const errors = text(stderr);
    stdout.resume();
    const options = ['--disposable', '--json', file, '--sarif', `${file}.sarif`, '--probes', '3'];
    const code = await run(['--spec', spec, '--url', url, ...options], undefined, {
      stdout,
      stderr,
      directory: folder,
    });
    stderr.end();
    await close();
    const report = JSON.parse(await readFile(file, 'utf8'));
    expect(sent.size).toBe(texts.length);
    expect(await errors).not.toContain('bug');
    expect({ code, stopped: report.stopped }).toEqual({ code: 1, stopped: null });
    expect(report.notices.join()).not.toContain('bug');
    expect(JSON.parse(await readFile(`${file}.sarif`, 'utf8'))).toMatchObject({ version: '2.1.0' });
  });
});

describe('whatever fails in a run', () => {
  /** The things that are left after a run on which the auth module, called for each operation, fails once. */
  async function failing(
    fail: (operation: string, count: number) => void,
    alter: Alter = (request, next) => next(request),
  ) {
    const data = new Things();
    const { url, close } = await startThings(data, spec, alter);
    let count = 0;
    const caller = (operation?: { id: string }) => {
      fail(operation?.id ?? '', ++count);
      return {};
    };
    const report = await check({ spec, url, disposable: true, auth: { caller } });
    await close();
    return { ...report, things: [...data.things.keys()] };
  }

  it('what it created is deleted, and the report says what did not run', async () => {
    const { things, stopped, notices, left, operations } = await failing((operation) => {
      if (operation === 'getPreset') throw new Error('No such user.');
    });
    expect(things).toEqual(['old']);
    expect(left.created.flatMap(({ targets }) => targets).filter((target) => target.startsWith('/things'))).toEqual([]);
    expect(stopped).toMatchObject({ reason: 'failed' });
    expect(stopped?.missedPhases.length).toBeGreaterThan(0);
    expect(notices.join()).toContain('The auth module failed to sign in: No such user.');
    expect(operations.find(({ id }) => id === 'createThing')?.reached).toBe(true);
  });
});
