import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Operation } from '@financial-automation/server/request-checks';

export interface Prism {
  /** Returns an example of the contract, with the headers that the contract declares. A response without a body has none. */
  response(
    operation: Operation,
    code: number,
    example: string | undefined,
  ): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly body: unknown }>;
  close(): Promise<void>;
}

/** Headers of the connection, and those that the mock sets for every response. */
const ownHeaders = /^(access-control-.*|connection|content-(length|type)|date|keep-alive)$/;

/** Runs the command `prism mock` of a document, in a thread, on a free port of this machine. */
export async function startPrism(document: object): Promise<Prism> {
  const folder = await mkdtemp(join(tmpdir(), 'mock-'));
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(document));
  const command = fileURLToPath(import.meta.resolve('@stoplight/prism-cli'));
  const env = { ...process.env, FORCE_COLOR: '0' };
  const worker = new Worker(command, { argv: ['mock', '--port', '0', file], env, stdout: true, stderr: true });
  const url = await listening(worker);
  return {
    async response({ method, path }, code, example) {
      const preference = example === undefined ? `code=${code}` : `code=${code}, example=${example}`;
      // The examples do not depend on the parameters.
      const response = await fetch(url + path.replaceAll(/[{}]/g, ''), { method, headers: { Prefer: preference } });
      const text = await response.text();
      if (response.status !== code) throw new Error(`Prism returned ${response.status} instead of ${code}: ${text}`);
      const headers = [...response.headers].filter(([name]) => !ownHeaders.test(name));
      return { headers: Object.fromEntries(headers), body: text === '' ? undefined : JSON.parse(text) };
    },
    async close() {
      await worker.terminate();
      // Prism watches the file as long as it runs.
      await rm(folder, { recursive: true });
    },
  };
}

/** Waits until Prism serves. @returns its URL */
function listening(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (text: string) => {
      output = (output + text).slice(-10_000);
      const [, url] = /listening on (http:\/\/\S+:\d+)/.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    };
    for (const stream of [worker.stdout, worker.stderr]) stream.setEncoding('utf8').on('data', read);
    worker.once('error', reject).once('exit', () => reject(new Error(`Prism did not start: ${output}`)));
  });
}
