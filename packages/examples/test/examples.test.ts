/** Every example against one server with the demo tenant. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createDemoTenant, demoKey } from '@financial-automation/demo-data/demo';
import { freePort } from '@financial-automation/server/test/free-port';
import { serveForFile } from '@financial-automation/server/test/serve';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pay } from '../../../scripts/payer.ts';
import { createClient, orThrow } from '../../client/src/index.ts';

const runner = fileURLToPath(new URL('../run.ts', import.meta.url));
const running = await serveForFile({ RATE_LIMIT_FACTOR: '100', WEBHOOK_ALLOW_LOOPBACK: 'on' });
let folder: string;
let apiKey: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'examples-'));
  await createDemoTenant(running);
  apiKey = await demoKey(running);
});
afterAll(() => rm(folder, { recursive: true }));

describe('crm-sync', () => {
  it('pushes new and changed accounts once, and pulls what changed in the firm', async () => {
    const accounts = async () => JSON.parse(await readFile(join(folder, 'crm.json'), 'utf8')).accounts;
    expect(await run('crm-sync')).toEqual(['pushed 2', 'pulled 2']);
    expect(await accounts()).toMatchObject([{ status: 'PROSPECT', version: 1 }, { status: 'PROSPECT' }]);
    expect(await run('crm-sync')).toEqual(['pushed 0', 'pulled 0']);

    const crm = JSON.parse(await readFile(join(folder, 'crm.json'), 'utf8'));
    crm.accounts[0].email = 'billing@foxglove.example';
    await writeFile(join(folder, 'crm.json'), JSON.stringify(crm));
    await writeClient('crm-91002', { status: 'ACTIVE' });
    expect(await run('crm-sync')).toEqual(['pushed 1', 'pulled 1']);
    expect(await accounts()).toMatchObject([{ version: 2 }, { status: 'ACTIVE', version: 2 }]);
  });
});

describe('custom-records', () => {
  it('corrects the record that fails, adds a field, and can run again', async () => {
    const rows = [
      expect.stringMatching(/^REN-1 .*"stage":"WON","annualValue":"4800.00","decidedOn":"2026-11-02"/),
      expect.stringMatching(/^REN-2 .*"stage":"PLANNED"/),
    ];
    for (const round of ['first', 'second'])
      expect(await run('custom-records'), round).toEqual([expect.stringMatching(/^REN-2 failed at .*stage/), ...rows]);
  });
});

describe('warehouse-sync', () => {
  it('reads everything once, then only what changed, and agrees with the API', async () => {
    const changes = (rows: number) => `{ readAll: false, rows: ${rows}, deleted: 0 }`;
    const first = await run('warehouse-sync');
    expect(first[0]).toMatch(/^\{ readAll: true, rows: [1-9]\d+, deleted: 0 \}$/);
    // What changed while another transaction ran, of whatever tenant, is read again.
    await expect.poll(async () => (await run('warehouse-sync'))[0]).toBe(changes(0));
    await writeClient('crm-91003', { name: 'Tern & Tide LLC' });
    const second = await run('warehouse-sync');
    expect(second[0]).toBe(changes(1));
    for (const [, ...totals] of [first, second]) {
      expect(totals.length).toBeGreaterThan(0);
      for (const total of totals)
        expect(total).toMatch(/^Amount due in [A-Z]{3}: [1-9]\d+(\.\d+)? in the API, the same in the warehouse\.$/);
    }
  });
});

describe('dashboard', () => {
  it('prints figures of each kind', async () => {
    const output = (await run('dashboard')).join('\n');
    for (const title of ['Receivables', 'Work in progress', 'Billed', 'Approved hours'])
      expect(output).toMatch(new RegExp(`^${title}[^\\n]*\\n {2}\\S[^\\n]* [1-9][\\d.]+`, 'm'));
    expect(output).toMatch(/^ {2}\d{4}-\d\d billable /m);
  });

  it('prints what the documents of a month and currency add up to', async () => {
    const [, section = ''] = /^Billed[^\n]*\n([\s\S]*?)\n\n/m.exec((await run('dashboard')).join('\n')) ?? [];
    const rows = section.split('\n').map((line) => line.trim().split(/ +/));
    const printed = rows.map(([month, currency, total]) => [`${month} ${currency}`, total]);

    const api = createClient({ baseUrl: running.address, tenant: 'hartwell', apiKey });
    const year = rows[0]?.[0]?.slice(0, 4);
    const cents = new Map<string, bigint>();
    for await (const { status, invoiceDate, currency, total } of api.searchInvoices.rows({ body: {} })) {
      if (status === 'VOIDED' || invoiceDate.slice(0, 4) !== year) continue;
      const month = `${invoiceDate.slice(0, 7)} ${currency}`;
      cents.set(month, (cents.get(month) ?? 0n) + BigInt(total.replace('.', '')));
    }
    expect(printed).not.toEqual([]);
    expect(new Map(printed.map(([month, total]) => [month, BigInt(String(total).replace('.', ''))]))).toEqual(cents);
  });
});

describe('payment-link', () => {
  it('waits until the link is paid', async () => {
    const card = { cardNumber: '4242424242424242', expiry: '12/40', securityCode: '123', payerName: 'Ines Calder' };
    const output = await run('payment-link', {}, async (line) => {
      const [link] = /http\S+\/pay\/[\w-]+/.exec(line) ?? [];
      if (link !== undefined) expect(await pay(link, { method: 'CARD', ...card })).toBe('Receipt');
    });
    expect(output.slice(-2)).toEqual([
      expect.stringMatching(/^COMPLETED: [\d.]+ by CARD/),
      expect.stringMatching(/ is PAID, and 0\.00 is due\.$/),
    ]);
  });
});

describe('webhook-receiver', () => {
  it('receives a signed event, and rejects a forged one', async () => {
    const port = String(await freePort());
    const output = await run('webhook-receiver', { RECEIVER_PORT: port, EVENTS: '1' }, async (line) => {
      if (!line.startsWith('Receiving')) return;
      const headers = { 'webhook-id': '1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' };
      const forged = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body: '{}' });
      expect(forged.status).toBe(401);
      await writeClient('crm-91004', { name: 'Osprey Ridge Winery' });
    });
    expect(output.slice(1)).toEqual([expect.stringMatching(/^CREATE C-\d+ Osprey Ridge Winery/)]);
  });
});

describe('an unknown example', () => {
  it('is rejected with the list of examples', async () => {
    await expect(run('nothing')).rejects.toThrow(/Name an example:\n {2}crm-sync\n/);
  });
});

/** Runs an example in the folder. @returns its lines */
async function run(
  name: string,
  more: Record<string, string> = {},
  onLine: (line: string) => Promise<void> = async () => {},
): Promise<string[]> {
  const env = { ...process.env, API_URL: running.address, API_TENANT: 'hartwell', API_KEY: apiKey, ...more };
  const child = spawn(process.execPath, [runner, name], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const failure = text(child.stderr);
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    await onLine(line);
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${await failure}`);
  return lines;
}

async function writeClient(systemRef: string, attributes: Record<string, unknown>): Promise<void> {
  const api = createClient({ baseUrl: running.address, tenant: 'hartwell', apiKey });
  const records = [{ type: 'Client' as const, systemRef, attributes }];
  const { summary } = await orThrow(api.upsertRecords({ body: { records } }));
  expect(summary.failed).toBe(0);
}
