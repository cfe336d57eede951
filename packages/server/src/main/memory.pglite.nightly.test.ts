import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { processEnvironment } from '../../test/process.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
/** `env`, its settings, Node, its options and the program. */
const [program = '', ...words]: string[] = scripts.start.split(' && ').at(-1).split(' ');

test.runIf(process.platform === 'linux')(
  'start › has at most 330 MB of resident memory after it has added three years and is read',
  async () => {
    const environment = await processEnvironment();
    const server = spawn(program, words, { cwd: root, env: { ...process.env, ...environment } });
    let printed = '';
    server.stdout.on('data', (chunk) => {
      printed += chunk;
    });
    try {
      await expect.poll(() => printed, { timeout: 900_000 }).toContain('now also has three years');
      const apiKey = /API_KEY='([^']+)'/.exec(printed)?.[1] ?? '';
      const address = `http://127.0.0.1:${environment.PORT}`;
      const body = JSON.stringify({ apiKey });
      const json = { 'Content-Type': 'application/json' };
      const exchanged = await fetch(`${address}/v1/auth/token`, { method: 'POST', headers: json, body });
      const { access_token: token } = (await exchanged.json()) as { access_token: string };
      const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: 'hartwell' };
      const reads = ['clients', 'invoices', 'payments', 'wips', 'time_entries'];
      for (let index = 0; index < 500; index++) {
        const path = `${address}/gql/v1/${reads[index % reads.length]}/search`;
        const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify({ pageSize: 100 }) });
        expect([path, response.status]).toEqual([path, 200]);
        await response.text();
      }
      await pause(60_000);
      const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? [];
      expect(Number(kilobytes) / 1024).toBeLessThanOrEqual(330);
    } finally {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
  },
);
