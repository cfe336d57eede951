/** Every example against one server with the demo tenant. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { demoKey } from '@financial-automation/demo-data/demo';
import { pay, serveForFile } from '@financial-automation/server/testing';
import { freePort } from '@financial-automation/server/tools';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, orThrow } from '../../client/src/index.ts';

const runner = fileURLToPath(new URL('../run.ts', import.meta.url));
const running = await serveForFile({ RATE_LIMIT_FACTOR: '100', WEBHOOK_ALLOW_LOOPBACK: 'on' }, 'demo');
let folder: string;
let apiKey: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'examples-'));
  apiKey = await demoKey(running);
  await addBooks();
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
    // The documents of the invoices are written in the background, and change them.
    const open = `select from background_job where status in ('WAITING', 'RUNNING')`;
    await expect.poll(async () => (await running.service.store.ownerStatements(open)).rows.length).toBe(0);
    const changes = (rows: number) => `{ readAll: false, rows: ${rows}, deleted: 0 }`;
    const first = await run('warehouse-sync');
    expect(first[0]).toMatch(/^\{ readAll: true, rows: [1-9]\d+, deleted: 0 \}$/);
    // What changed while another transaction ran, of whatever tenant, is read again: that can be more than the one change.
    await expect.poll(async () => (await run('warehouse-sync'))[0]).toBe(changes(0));
    await writeClient('crm-91003', { name: 'Tern & Tide LLC' });
    const second = await run('warehouse-sync');
    expect(second[0]).toMatch(/^\{ readAll: false, rows: [1-9], deleted: 0 \}$/);
    for (const [, ...totals] of [first, second]) {
      expect(totals.length).toBeGreaterThan(0);
      for (const total of totals)
        expect(total).toMatch(/^Amount due in [A-Z]{3}: [1-9]\d+(\.\d+)? in the API, the same in the warehouse\.$/);
    }
  });
});

describe('dashboard', () => {
  it('prints figures of each kind: the sums of the documents, entries and open amounts', async () => {
    const api = createClient({ baseUrl: running.address, tenant: 'hartwell', apiKey });
    const [org] = (await orThrow(api.listOrgs())).data;
    const today = new Intl.DateTimeFormat('en-CA', { timeZone: org?.timeZone }).format(new Date());
    const year = today.slice(0, 4);
    const daysBefore = (day: string) => (Date.parse(today) - Date.parse(day)) / 86_400_000;
    const [open, unbilled, billed, tax, documents, hours] = [sums(), sums(), sums(), sums(), sums(), sums()];
    for await (const row of api.searchInvoices.rows({ body: { where: { status: { _neq: 'VOIDED' } } } })) {
      const past = daysBefore(row.dueDate);
      const age = past < 1 ? 'not due' : past < 31 ? '1–30' : past < 61 ? '31–60' : past < 91 ? '61–90' : 'over 90';
      if (row.documentType === 'INVOICE') open.add(`${row.currency} ${age}`, row.amountDue);
      if (row.invoiceDate.slice(0, 4) !== year) continue;
      const month = `${row.invoiceDate.slice(0, 7)} ${row.currency}`;
      billed.add(month, row.total);
      tax.add(month, row.taxTotal);
      documents.add(month, '1');
    }
    for await (const row of api.searchWip.rows({ body: {} })) {
      const age = [91, 61, 31, 0].find((least) => daysBefore(row.workDate) >= least) ?? 'below';
      unbilled.add(`${row.currency} from ${age}`, row.outstandingAmount);
    }
    const approved = { status: { _eq: 'APPROVED' }, active: { _eq: true } } as const;
    for await (const row of api.searchTimeEntries.rows({ body: { where: approved } }))
      if (row.workDate.slice(0, 4) === year)
        hours.add(`${row.workDate.slice(0, 7)} ${row.isBillable ? 'billable' : 'other'}`, row.hours);

    const output = (await run('dashboard')).join('\n');
    for (const title of ['Receivables', 'Work in progress', 'Billed', 'Approved hours'])
      expect(output).toMatch(new RegExp(`^${title}[^\\n]*\\n {2}\\S[^\\n]* [1-9][\\d.]+`, 'm'));
    expect(output).toMatch(/^ {2}\d{4}-\d\d billable /m);
    expect(printed(output, 'Receivables', 0)).toEqual(open.found());
    expect(printed(output, 'Work in progress', 0)).toEqual(unbilled.found());
    expect(printed(output, 'Billed', 0)).toEqual(billed.found());
    expect(printed(output, 'Billed', 1)).toEqual(tax.found());
    expect(printed(output, 'Billed', 2)).toEqual(documents.found());
    expect(printed(output, 'Approved hours', 0)).toEqual(hours.found());
    // What is above would also hold with subtotals, or with one sum for all currencies, in books that have neither.
    expect([...open.found().keys()].map((key) => key.slice(0, 3))).toEqual(expect.arrayContaining(['EUR', 'USD']));
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

/** Exact sums of two decimal places, by key. */
function sums() {
  const cents = new Map<string, bigint>();
  return {
    add: (key: string, amount: string) => cents.set(key, (cents.get(key) ?? 0n) + centsOf(amount)),
    found: () => new Map([...cents].filter(([, sum]) => sum !== 0n)),
  };
}

function centsOf(amount: string): bigint {
  const [whole = '', places = ''] = amount.split('.');
  return BigInt(`${whole}${places.padEnd(2, '0')}`);
}

/** One column of a section of the dashboard, without zeros. */
function printed(output: string, title: string, column: number): Map<string, bigint> {
  const [, section = ''] =
    new RegExp(`^${title}[^\\n]*\\n([\\s\\S]*?)(\\n\\n|$(?!\\n))`, 'm').exec(`${output}\n\n`) ?? [];
  const rows = section.split('\n').flatMap((line): [string, bigint][] => {
    const [, label = '', figures = ''] = /^ {2}(.{18})(.*)$/.exec(line) ?? [];
    const figure = figures.trim().split(/ +/)[column] ?? '';
    return label === '' ? [] : [[label.trim(), centsOf(figure)]];
  });
  return new Map(rows.filter(([, sum]) => sum !== 0n));
}

/** Clients of two currencies, with a discount on an invoice of each and a credit note. */
async function addBooks(): Promise<void> {
  const api = createClient({ baseUrl: running.address, tenant: 'hartwell', apiKey });
  const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
  const yesterday = dayBefore(1);
  const line = { lineType: 'OTHER' as const, description: 'Advice', quantity: '1', taxable: false };
  const discount = { ...line, lineType: 'DISCOUNT' as const, description: 'Discount' };
  for (const [currency, unitAmount] of [
    ['EUR', '1000.00'],
    ['USD', '500.00'],
  ] as const) {
    const client = {
      type: 'Client' as const,
      systemRef: `books-${currency}`,
      attributes: { name: `Books ${currency}`, currency },
    };
    const created = await orThrow(api.upsertRecords({ body: { records: [client] } }));
    const clientId = created.records[0]?.id ?? '';
    const lines = [
      { ...line, unitAmount },
      { ...discount, unitAmount: '-50.25' },
    ];
    const attributes = {
      pmsRef: `books-${currency}`,
      clientId,
      invoiceDate: dayBefore(9),
      dueDate: dayBefore(3),
      lines,
    };
    const invoice = { type: 'Invoice' as const, systemRef: `books-${currency}`, attributes };
    const { records } = await orThrow(api.upsertRecords({ body: { records: [invoice] } }));
    const note = {
      clientId,
      creditedInvoiceId: records[0]?.id ?? '',
      billThroughDate: yesterday,
      proposedInvoiceDate: yesterday,
      dueDate: yesterday,
      lines: [{ ...discount, unitAmount: '-20.10' }],
    };
    const draft = { type: 'DraftInvoice' as const, systemRef: `books-${currency}` };
    await orThrow(api.upsertRecords({ body: { records: [{ ...draft, attributes: note }] } }));
    const states = (['IN_REVIEW', 'APPROVED'] as const).map((status) => ({ ...draft, attributes: { status } }));
    const posted = await orThrow(api.updateRecords({ body: { records: states } }));
    expect(posted.records.map(({ error }) => error ?? null)).toEqual([null, null]);
  }
}

async function writeClient(systemRef: string, attributes: Record<string, unknown>): Promise<void> {
  const api = createClient({ baseUrl: running.address, tenant: 'hartwell', apiKey });
  const records = [{ type: 'Client' as const, systemRef, attributes }];
  const { summary } = await orThrow(api.upsertRecords({ body: { records } }));
  expect(summary.failed).toBe(0);
}
