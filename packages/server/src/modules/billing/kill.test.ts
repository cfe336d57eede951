import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { expect, test } from 'vitest';
import { freePort } from '../../../test/free-port.ts';
import type { WriteItem, WriteResult } from '../../../test/modules/records.ts';
import { isNightly } from '../../../test/nightly.ts';
import { createTenantWithKeys } from '../../../test/operate.ts';
import { patientLimits } from '../../../test/patient-limits.ts';
import { processEnvironment, startServer, type TestProcess } from '../../../test/process.ts';
import { Directory } from '../../admission/directory.ts';
import { checkBooks } from '../../operator/books.ts';
import { tenantNamed } from '../../operator/tenants.ts';
import { Vault } from '../../platform/auth/vault.ts';
import { openStore, type Store } from '../../platform/store/store.ts';

// KILL_ROUNDS=20 runs more rounds than the suite has time for.
const rounds = Number(process.env.KILL_ROUNDS ?? (isNightly ? 2 : 1));
const documents = isNightly || process.env.KILL_ROUNDS !== undefined ? 12 : 6;

const environment = await processEnvironment();
/** Two processes at night. PGlite allows only one. */
const environments = [environment];
if (isNightly && environment.DATABASE_URL !== undefined)
  environments.push({ ...environment, PORT: String(await freePort()) });
const tenant = 'hartwell';

interface Acknowledged {
  readonly systemRef: string;
}

/** A request to close the books, and the figures as of that day that were read after its response; null without one. */
interface Closing {
  readonly day: string;
  figures: Figures | null;
}

/** The sums of accounts as of a day, as text. */
type Figures = Readonly<Record<string, string>>;

/** The day of the documents of a round. Their payments are one day later. */
function dayOf(round: number): string {
  return Temporal.PlainDate.from('2026-01-31')
    .add({ days: 7 * (round - 1) })
    .toString();
}

function dayAfter(day: string): string {
  return Temporal.PlainDate.from(day).add({ days: 1 }).toString();
}

interface Caller {
  read<Row>(method: 'GET' | 'POST', path: string, body?: object): Promise<readonly Row[]>;
  send(method: 'POST' | 'PUT', records: readonly object[]): Promise<readonly WriteItem[]>;
}

type Send = Caller['send'];

/** Calls of an authenticated user, to the servers in turn. @throws if a server is down. */
async function signIn(servers: readonly TestProcess[], key: string): Promise<Caller> {
  let calls = 0;
  const address = () => servers[calls++ % servers.length]?.address;
  const json = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ apiKey: key });
  const exchanged = await fetch(`${address()}/v1/auth/token`, { method: 'POST', headers: json, body });
  const { access_token: token } = (await exchanged.json()) as { access_token: string };
  const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: tenant };
  const call = async <Result>(method: string, path: string, body?: object): Promise<Result> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${address()}${path}`, { method, headers, ...content });
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
  const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: dayOf(round), dueDate: '2026-11-01' };
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
      const attributes = { pmsRef: ref('invoice', index), clientId, invoiceDate: dayOf(round), dueDate: '2026-11-01' };
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
      const paymentDate = dayAfter(dayOf(round));
      const money = { paymentDate, amount: '50.00', currency: 'USD', method: 'CHECK', source: 'MANUAL' };
      return { type: 'Payment', systemRef: ref('payment', index), attributes: { clientId, ...money, allocations } };
    },
  };
}

test('the books are consistent after every restart of a server that is killed during approvals, payments, their corrections and the closing of a period, and each invoice has one document', {
  timeout: 600_000 + rounds * 120_000,
}, async () => {
  const [preparer = '', approver = ''] = await createTenantWithKeys(environment, tenant, 'preparer', 'approver');
  /** Writes that succeeded before the process was killed. */
  const acknowledged: Acknowledged[] = [];
  const closings: Closing[] = [];
  let unfinished = 0;
  for (let round = 1; round <= rounds; round++) {
    const servers = await Promise.all(environments.map((one) => startServer(one)));
    const controller = await signIn(servers, preparer);
    const [preparing, approving] = [controller.send, (await signIn(servers, approver)).send];
    const { approval, payment } = await prepare(preparing, round);
    const progress = progressOf();
    const attempts = Array.from({ length: documents }, (_, index) => index).map(async (index) => {
      await pause(index * 15);
      const [approved, paid] = await Promise.allSettled([
        approving('PUT', [approval(index)]).finally(progress.add),
        preparing('POST', [payment(index)]).finally(progress.add),
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
    const closing = progress.reached(Math.random() * documents).then(() => {
      const closed = closeAmid(controller, dayAfter(dayOf(round)), closings);
      return closed.finally(progress.add);
    });
    await progress.reached(documents / 2 + Math.random() * documents * 1.5);
    // Some kills happen between two responses, at any moment of a transaction.
    await pause(Math.random() * 10);
    for (const { kill } of servers) kill('SIGKILL');
    await Promise.all([...attempts, closing, ...servers.map(({ finished }) => finished)]);

    await expectBooksAfter(acknowledged, closings, `round ${round}`);
  }
  const responded = closings.filter(({ figures }) => figures !== null).length;
  const server = await startServer(environment);
  const controller = await signIn([server], preparer);
  await expectDocuments(controller);
  await expectNumbersWithoutGaps(controller);
  await killWhileClosing(server, controller, '2026-10-31');
  await expectBooksAfter(acknowledged, closings, 'after the last kill');
  if (process.env.KILL_ROUNDS !== undefined)
    console.log(
      `${acknowledged.length} writes succeeded, and ${unfinished} did not. ${responded} of ${rounds} closings had a response.`,
    );
});

/** Counts responses, so that a process is killed amid its work however fast the machine is. */
function progressOf() {
  let count = 0;
  const waiting: { readonly at: number; readonly resolve: () => void }[] = [];
  return {
    add() {
      count += 1;
      for (const { at, resolve } of waiting) if (count >= at) resolve();
    },
    reached: (at: number) =>
      new Promise<void>((resolve) => {
        if (count >= at) resolve();
        else waiting.push({ at, resolve });
      }),
  };
}

/** Closes the books at some moment of a round, and reads the figures that must never change from then on. */
async function closeAmid({ send, read }: Caller, day: string, closings: Closing[]): Promise<void> {
  const closing: Closing = { day, figures: null };
  closings.push(closing);
  try {
    const [org] = await read<{ readonly systemRef: string }>('POST', '/gql/v1/orgs', {});
    const attributes = { booksClosedThrough: day };
    await written(send, 'PUT', [{ type: 'Org', systemRef: org?.systemRef, attributes }]);
    const sums = await read<{ readonly key: { account: string }; readonly values: { balance: string } }>(
      'POST',
      '/gql/v1/ledger_entries/aggregate',
      {
        where: { businessDate: { _lte: day } },
        groupBy: [{ column: 'account' }],
        measures: { balance: { function: 'SUM', column: 'amount' } },
      },
    );
    closing.figures = Object.fromEntries(sums.map(({ key, values }) => [key.account, values.balance]));
  } catch {
    // The process was killed before.
  }
}

/** Kills a server whose transaction has closed the books, and waits for entries of another one before it commits. */
async function killWhileClosing(server: TestProcess, { send, read }: Caller, day: string): Promise<void> {
  const { DATABASE_URL: databaseUrl } = environment;
  if (databaseUrl === undefined) {
    server.kill('SIGKILL');
    await server.finished;
    return;
  }
  const [org] = await read<{ readonly systemRef: string }>('POST', '/gql/v1/orgs', {});
  const { id: tenantId } = await usingStore(({ operator }) => tenantNamed(operator, tenant));
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  try {
    await holder.query('select pg_advisory_lock_shared(72304, $1)', [tenantId]);
    const closing = send('PUT', [
      { type: 'Org', systemRef: org?.systemRef, attributes: { booksClosedThrough: day } },
    ]).catch(() => undefined);
    const waiting = `select count(*)::int as count from pg_locks where locktype = 'advisory' and classid = 72304 and not granted`;
    await expect.poll(async () => (await holder.query<{ count: number }>(waiting)).rows[0]?.count).toBe(1);
    server.kill('SIGKILL');
    await Promise.all([closing, server.finished]);
  } finally {
    await holder.end();
  }
}

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

/** Approvals that a kill has interrupted leave no gap in the numbers, and no number is used twice. */
async function expectNumbersWithoutGaps({ read }: Caller): Promise<void> {
  const rows = await read<{ readonly invoiceNumber: string }>('POST', '/gql/v1/invoices', { pageSize: 1000 });
  const used = rows.map(({ invoiceNumber }) => Number(/\d+$/.exec(invoiceNumber)?.[0]));
  expect(used.toSorted((one, other) => one - other)).toEqual(used.map((_, index) => index + 1));
}

/** Opens the database that the killed process left, like the next process would. */
async function expectBooksAfter(
  acknowledged: readonly Acknowledged[],
  closings: readonly Closing[],
  what: string,
): Promise<void> {
  await usingStore(async ({ store, operator }) => {
    expect(await checkBooks(operator, { tenant, repair: false }), what).toEqual({ differences: [], breaches: [] });
    const { id: tenantId } = await tenantNamed(operator, tenant);
    const lost = await store.read(tenantId, (session) =>
      session.all<{ ref: string }>(sql`
        select ref from unnest(${acknowledged.map(({ systemRef }) => systemRef)}::text[]) as ref
        where not exists (select from draft_invoice d where d.system_ref = ref and d.status = 'POSTED')
          and not exists (select from payment p where p.system_ref = ref and p.unapplied_amount in (10, 50))`),
    );
    expect(lost, what).toEqual([]);
    await expectClosings(store, tenantId, closings, what);
  });
}

/**
 * The books are closed through the day of the last closing that had a response, or of a later one that was killed. Each closing
 * is recorded as a whole or not at all, and the figures as of its day have not changed.
 */
async function expectClosings(
  store: Store,
  tenantId: number,
  closings: readonly Closing[],
  what: string,
): Promise<void> {
  const [org, recorded] = await store.read(tenantId, async (session) => [
    await session.first<{ day: string | null }>(
      sql`select books_closed_through::text as day from org where tenant_id = ${tenantId}`,
    ),
    await session.all<{ day: string }>(sql`
      select after ->> 'booksClosedThrough' as day from audit_log
      where tenant_id = ${tenantId} and entity_type = 'Org' and before is not null order by id`),
  ]);
  const days = recorded.map(({ day }) => day);
  expect(org?.day ?? undefined, what).toBe(days.at(-1));
  for (const closing of closings) {
    if (closing.figures !== null) expect(days, what).toContain(closing.day);
    if (!days.includes(closing.day)) continue;
    const sums = await store.read(tenantId, (session) =>
      session.all<{ account: string; balance: string }>(sql`
        select account, sum(amount)::text as balance from ledger_entry
        where tenant_id = ${tenantId} and business_date <= ${closing.day} group by account`),
    );
    const figures = Object.fromEntries(sums.map(({ account, balance }) => [account, balance]));
    closing.figures ??= figures;
    expect(figures, `${what}, as of ${closing.day}`).toEqual(closing.figures);
  }
}

async function usingStore<Result>(
  work: (opened: { readonly store: Store; readonly operator: BooksOperator }) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL: databaseUrl, DATA_DIR = '' } = environment;
  const place = databaseUrl === undefined ? { dataDir: join(DATA_DIR, 'database') } : { databaseUrl };
  const store = await openStore({ ...place, limits: patientLimits });
  try {
    return await work({
      store,
      operator: { service: { store, directory: new Directory(store), vault: new Vault([Buffer.alloc(32)]) } },
    });
  } finally {
    await store.close();
  }
}

type BooksOperator = Parameters<typeof checkBooks>[0];
