/** The commands of a report show the same after the run, although the run deleted what it created. */
import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { renderJson } from '../src/report/formats.ts';
import { specificationOf } from './independent/independent.ts';
import { auth, start } from './independent/lab/server.ts';

interface Shown {
  readonly title: string;
  readonly setup: readonly string[];
  readonly exchanges: readonly { readonly curl: string; readonly response: { readonly status: number } }[];
}

/** The statuses of the responses to commands, in order. */
async function statusesOf(commands: readonly string[]): Promise<number[]> {
  const token = auth.caller().authorization.slice('Bearer '.length);
  const child = spawn('sh', ['-c', commands.join('\n')], { env: { PATH: process.env.PATH ?? '', TOKEN: token } });
  const text: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => text.push(String(chunk)));
  await new Promise((done) => child.once('close', done));
  return [...text.join('').matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
}

it('an ignored If-Match shows again by the commands of its finding', async () => {
  const [drift, focus] = [
    'any-tag-deleteInstrument',
    ['deleteInstrument', 'createInstrument', 'getInstrument'],
  ] as const;
  const server = await start(drift);
  try {
    const options = { url: server.url, auth, disposable: true, focus, probes: 1, checks: ['behavior'] as const };
    const report = await check({ spec: specificationOf('lab'), ...options });
    const { findings } = JSON.parse(renderJson(report)) as { findings: readonly Shown[] };
    expect(findings.length).toBeGreaterThan(0);
    for (const { title, setup, exchanges } of findings) {
      const commands = [...setup, ...exchanges.map(({ curl }) => curl)];
      expect(commands.join('\n'), title).toMatch(/^ID=\$\(/m);
      const expected = exchanges.map(({ response }) => response.status);
      expect((await statusesOf(commands)).slice(-expected.length), `${title}\n${commands.join('\n')}`).toEqual(
        expected,
      );
    }
  } finally {
    await server.stop();
  }
});
