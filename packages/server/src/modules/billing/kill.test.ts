import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { patientLimits } from '../../../test/patient-limits.ts';
import { processEnvironment, runCli, startServer, type TestProcess } from '../../../test/process.ts';
import { checkBooks } from '../../operator/books.ts';
import { tenantNamed } from '../../operator/tenants.ts';
import { Directory } from '../../platform/auth/directory.ts';
import { openStore } from '../../platform/store/store.ts';
import type { WriteItem, WriteResult } from '../records/testing.ts';

// KILL_ROUNDS=20 runs more rounds than the suite has time for.
const rounds = Number(process.env.KILL_ROUNDS ?? 2);
const documents = 12;

const environment = await processEnvironment();
const tenant = 'hartwell';

interface Acknowledged {
  readonly systemRef: string;
}

interface Caller {
  read<Row>(method: 'GET' | 'POST', path: string, body?: object): Promise<readonly Row[]>;
  send(method: 'POST' | 'PUT', records: readonly object[]): Promise<readonly WriteItem[]>;
}

type Send = Caller['send'];

async function apiKey(user: string): Promise<string> {
  const { out } = await runCli(environment, 'api-key', 'create', tenant, user, '--roles', 'API_ADMIN');
  return out.trim();
}

/** Calls of an authenticated user. @throws if the server is down. */
async function signIn({ address }: TestProcess, key: string): Promise<Caller> {
  const json = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ apiKey: key });
  const exchanged = await fetch(`${address}/v1/auth/token`, { method: 'POST', headers: json, body });
  const { access_token: token } = (await exchanged.json()) as { access_token: string };
  const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: tenant };
  const call = async <Result>(method: string, path: string, body?: object): Promise<Result> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${address}${path}`, { method, headers, ...content });
    const result = await response.json();
    if (response.status !== 200) throw new Error(`${response.status}: ${JSON.stringify(result)}`);
    return result as Result;
  };
  return {
    read: async <Row>(method: string, path: string, body?: object) =>
      (await call<{ data: readonly Row[] }>(method, path, body)).data,
    send: async (method, records) => (await call<WriteResult>(method, '/api/v1/records', { records })).records,
  };
}

/** Writes records, each of which must succeed. */
async function written(send: Send, method: 'POST' | 'PUT', records: readonly object[]): Promise<readonly WriteItem[]> {
  const items = await send(method, records);
  for (const item of items) if (item.error !== null) throw new Error(JSON.stringify(item));
  return items;
}

/** Creates drafts in review that bill work, and posted invoices, for the payments and approvals of a round. */
async function prepare(send: Send, round: number) {
  const ref = (type: string, index: number) => `${type}-${round}-${index}`;
  const many = (make: (index: number) => object) => Array.from({ length: documents }, (_, index) => make(index));
  const [owner] = await written(send, 'POST', [{ type: 'Client', attributes: { name: `Client ${round}` } }]);
  const clientId = owner?.id;
  const job = { name: 'Job', clientId, billingType: 'TIME_AND_MATERIALS' };
  const [work] = await written(send, 'POST', [{ type: 'Job', attributes: job }]);
  const row = { wipType: 'FIXED_FEE', clientId, jobId: work?.id, workDate: '2026-01-05', amount: '100.10' };
  const rows = await written(
    send,
    'POST',
    many(() => ({ type: 'WipEntry', attributes: row })),
  );
  const line = { lineType: 'FIXED_FEE', description: 'Work', quantity: '1', unitAmount: '60.00', taxable: false };
  const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  await written(
    send,
    'POST',
    many((index) => ({
      type: 'DraftInvoice',
      systemRef: ref('draft', index),
      attributes: { clientId, ...dates, lines: [{ ...line, wipIds: [rows[index]?.id] }] },
    })),
  );
  await written(
    send,
    'PUT',
    many((index) => ({ type: 'DraftInvoice', systemRef: ref('draft', index), attributes: { status: 'IN_REVIEW' } })),
  );
  const invoices = await written(
    send,
    'POST',
    many((index) => {
      const attributes = { pmsRef: ref('invoice', index), clientId, invoiceDate: '2026-01-31', dueDate: '2026-03-02' };
      return { type: 'Invoice', systemRef: ref('invoice', index), attributes: { ...attributes, lines: [line] } };
    }),
  );
  return {
    approval: (index: number) => ({
      type: 'DraftInvoice',
      systemRef: ref('draft', index),
      attributes: { status: 'APPROVED' },
    }),
    payment(index: number) {
      const paid = [invoices[index], invoices[(index + 1) % documents]];
      const allocations = paid.map((one) => ({ invoiceId: one?.id, amount: '20.00' }));
      const money = { paymentDate: '2026-02-01', amount: '50.00', currency: 'USD', method: 'CHECK', source: 'MANUAL' };
      return { type: 'Payment', systemRef: ref('payment', index), attributes: { clientId, ...money, allocations } };
    },
  };
}

test('the books are consistent after every restart of a server that is killed during approvals, payments and their corrections, and each invoice has one document', {
  timeout: 600_000 + rounds * 120_000,
}, async () => {
  await runCli(environment, 'tenant', 'create', tenant);
  const [preparer, approver] = [await apiKey('preparer'), await apiKey('approver')];
  /** Writes that succeeded before the process was killed. */
  const acknowledged: Acknowledged[] = [];
  let unfinished = 0;
  for (let round = 1; round <= rounds; round++) {
    const server = await startServer(environment);
    const [preparing, approving] = [(await signIn(server, preparer)).send, (await signIn(server, approver)).send];
    const { approval, payment } = await prepare(preparing, round);
    const attempts = Array.from({ length: documents }, (_, index) => index).map(async (index) => {
      await pause(index * 15);
      const [approved, paid] = await Promise.allSettled([
        approving('PUT', [approval(index)]),
        preparing('POST', [payment(index)]),
      ]);
      for (const [request, result] of [
        [approval(index), approved],
        [payment(index), paid],
      ] as const) {
        if (result?.status !== 'fulfilled') unfinished += 1;
        else if (result.value[0]?.error === null) acknowledged.push({ systemRef: request.systemRef });
      }
      // Both halves of each allocation are taken back, or none.
      const { type, systemRef } = payment(index);
      await preparing('PUT', [{ type, systemRef, attributes: { allocations: [] } }]).catch(() => {
        unfinished += 1;
      });
    });
    await pause(Math.random() * documents * 25);
    server.kill('SIGKILL');
    await Promise.all(attempts);
    await server.finished;

    await expectBooksAfter(acknowledged, `round ${round}`);
  }
  const server = await startServer(environment);
  await expectDocuments(await signIn(server, preparer));
  server.kill('SIGTERM');
  await server.finished;
  if (process.env.KILL_ROUNDS !== undefined)
    console.log(`${acknowledged.length} writes succeeded, and ${unfinished} did not.`);
});

/** Waits for the documents that killed processes left, and checks that none was written twice. */
async function expectDocuments({ read }: Caller): Promise<void> {
  type Document = {
    readonly invoiceNumber: string;
    readonly draftInvoiceId: string | null;
    readonly pdfFileId: string | null;
  };
  const posted = async () => {
    const rows = await read<Document>('POST', '/gql/v1/invoices', { pageSize: 1000 });
    return rows.filter((row) => row.draftInvoiceId !== null);
  };
  await expect
    .poll(async () => (await posted()).filter((row) => row.pdfFileId === null), { timeout: 120_000 })
    .toEqual([]);
  for (const { invoiceNumber, pdfFileId } of await posted()) {
    const files = await read<{ readonly id: string }>('GET', `/api/v1/files?fileName=${invoiceNumber}`);
    expect(files.map(({ id }) => id)).toEqual([pdfFileId]);
  }
}

/** Opens the database that the killed process left, like the next process would. */
async function expectBooksAfter(acknowledged: readonly Acknowledged[], what: string): Promise<void> {
  const { DATABASE_URL: databaseUrl, DATA_DIR = '' } = environment;
  const place = databaseUrl === undefined ? { dataDir: join(DATA_DIR, 'database') } : { databaseUrl };
  const store = await openStore({ ...place, limits: patientLimits });
  try {
    const operator = { service: { store, directory: new Directory(store) } };
    expect(await checkBooks(operator, { tenant, repair: false }), what).toEqual({ differences: [], breaches: [] });
    const { id: tenantId } = await tenantNamed(operator, tenant);
    const lost = await store.read(tenantId, (session) =>
      session.all<{ ref: string }>(sql`
        select ref from unnest(${acknowledged.map(({ systemRef }) => systemRef)}::text[]) as ref
        where not exists (select from draft_invoice d where d.system_ref = ref and d.status = 'POSTED')
          and not exists (select from payment p where p.system_ref = ref and p.unapplied_amount = 10)`),
    );
    expect(lost, what).toEqual([]);
  } finally {
    await store.close();
  }
}
