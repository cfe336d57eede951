import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { patientLimits } from '../../test/patient-limits.ts';
import { processEnvironment, runCli, startServer, type TestProcess } from '../../test/process.ts';
import { wire } from '../../test/wire.ts';
import { Directory } from '../auth/directory.ts';
import { Vault } from '../auth/vault.ts';
import { databaseOf, readConfig } from '../config.ts';
import { transact } from '../entity/transact.ts';
import { openStore, type Store } from '../store/store.ts';
import { dueAttempts, type Write } from './attempt.ts';
import { followUp } from './reconcile.ts';
import { SandboxProcessor } from './sandbox.ts';
import { accountOf, disagreements, formKeyIn, goodCard, payerDetails, TestPayer } from './testing.ts';

const environment = await processEnvironment();
const config = readConfig(environment);
const log = pino({ level: 'silent' });
// KILL_ROUNDS=20 runs more rounds than the suite has time for.
const rounds = Number(process.env.KILL_ROUNDS ?? 2);
const linksPerRound = 16;
const payersAtOnce = 8;
const tenantName = 'hartwell';
const json = { 'Content-Type': 'application/json' };

/** Each round starts a server and opens the database again, which is slow on a busy machine. In milliseconds. */
const slow = 1_800_000;

/** Attempts that were interrupted by kills, by the step of the payment. */
const interrupted = { beforeCapture: 0, afterCapture: 0 };

test(
  'a server that is killed repeatedly while links are paid: the books are consistent, and no payment is lost or duplicated',
  async () => {
    await runCli(environment, 'tenant', 'create', tenantName);
    const { out } = await runCli(environment, 'api-key', 'create', tenantName, 'crm', '--roles', 'API_ADMIN');
    const apiKey = out.trim();
    const receipts: string[] = [];
    for (let round = 1; round <= rounds; round++) {
      const server = await startServer(environment);
      const paths = await makeLinks(server, apiKey, round);
      await payUntilKilled(server, paths, receipts, round % 2 === 0 ? 'sent' : 'answered');
      await onStore(async (store, tenantId, write) => {
        // The books are always consistent, also before interrupted attempts are followed up.
        expect(await store.read(tenantId, (session) => session.all(disagreements(tenantId)))).toEqual([]);
        const open = await openAttempts(store, tenantId);
        for (const { captured } of open) interrupted[captured ? 'afterCapture' : 'beforeCapture'] += 1;
        // In the last round the server itself does this.
        if (round < rounds) await followUpAll(store, tenantId, write);
        else await makeDue(store, tenantId);
      });
    }
    const server = await startServer(environment);
    await untilNothingIsOpen(server, apiKey);
    server.kill('SIGTERM');
    expect(await server.finished).toMatchObject({ code: 0 });
    await onStore(async (store, tenantId) => {
      expect(await openAttempts(store, tenantId)).toEqual([]);
      expect(await store.read(tenantId, (session) => session.all(disagreements(tenantId)))).toEqual([]);
      expect(await missingPayments(store, tenantId)).toEqual([]);
      const numbers = await store.read(tenantId, (session) =>
        session.all<{ number: string }>(
          sql`select payment_number as number from payment where tenant_id = ${tenantId}`,
        ),
      );
      const known = new Set(numbers.map(({ number }) => number));
      expect(receipts.filter((number) => !known.has(number))).toEqual([]);
      const begun = await store.read(tenantId, (session) => session.all(sql`select from payment_attempt`));
      expect(begun.length).toBeGreaterThan(0);
    });
    // In a few rounds, all payers may be interrupted, or none.
    if (rounds >= 10) {
      expect(receipts.length).toBeGreaterThan(0);
      expect(interrupted.beforeCapture + interrupted.afterCapture).toBeGreaterThan(0);
    }
  },
  slow,
);

/** Creates clients with an invoice each, and a link for it. */
async function makeLinks(server: TestProcess, apiKey: string, round: number): Promise<string[]> {
  const headers = await signIn(server, apiKey);
  const post = async (path: string, body: object) => {
    const { status, json: response } = await wire(server.address, {
      method: 'POST',
      path,
      headers,
      body: JSON.stringify(body),
    });
    if (status !== 200 && status !== 201) throw new Error(`${path}: ${status} ${JSON.stringify(response)}`);
    return response as Record<string, string>;
  };
  const { clientId, clientRef } = await post('/api/v1/clients/v1/onboard', { name: `Client ${round}`, address: {} });
  const keys = Array.from({ length: linksPerRound }, (_, index) => `${round}-${index}`);
  const imported = await post('/api/v1/records', {
    records: keys.map((key) => ({
      type: 'Invoice',
      systemRef: key,
      attributes: {
        pmsRef: key,
        clientId,
        invoiceDate: '2026-01-01',
        dueDate: '2026-01-31',
        lines: [{ lineType: 'FIXED_FEE', description: 'Books', quantity: '1', unitAmount: '100.00', taxable: false }],
      },
    })),
  });
  const ids = (imported.records as unknown as { id: string }[]).map(({ id }) => id);
  const paths: string[] = [];
  for (const id of ids) {
    const { url = '' } = await post('/api/v1/clients/v1/link/payment', { clientRef, invoiceIds: [id] });
    paths.push(new URL(url).pathname);
  }
  return paths;
}

async function signIn(server: TestProcess, apiKey: string) {
  const exchanged = await wire(server.address, {
    method: 'POST',
    path: '/v1/auth/token',
    headers: json,
    body: JSON.stringify({ apiKey }),
  });
  const { access_token: token } = exchanged.json as { access_token: string };
  return { ...json, Authorization: `Bearer ${token}`, Tenant: tenantName };
}

/**
 * Pays links concurrently, and kills the server at a random moment after some payments were sent, or got a response: in
 * the first case most of them are at their start, in the second at their end.
 */
async function payUntilKilled(
  server: TestProcess,
  paths: readonly string[],
  receipts: string[],
  after: 'sent' | 'answered',
): Promise<void> {
  const paid = Promise.withResolvers<void>();
  const enough = Math.floor(Math.random() * (linksPerRound - payersAtOnce));
  let count = 0;
  const seen = (): void => {
    if (count++ >= enough) paid.resolve();
  };
  const queue = paths.entries();
  const payers = Array.from({ length: payersAtOnce }, async () => {
    for (const [index, path] of queue) {
      const details = [goodCard, accountOf('000123456789'), { ...goodCard, cardNumber: '4000000000000002' }][index % 3];
      const payer = new TestPayer(server.address);
      const { text } = await payer.get(path);
      const response = payer.post(path, { formKey: formKeyIn(text), ...payerDetails, ...details });
      if (after === 'sent') seen();
      await response;
      if (after === 'answered') seen();
      const number = /PAY-\d{4}-\d+/.exec((await payer.get(path)).text)?.[0];
      if (number !== undefined) receipts.push(number);
    }
  });
  await paid.promise;
  await pause(Math.random() * 60);
  server.kill('SIGKILL');
  await Promise.allSettled(payers);
  await server.finished;
}

/** Opens the database while no server uses it. */
async function onStore(work: (store: Store, tenantId: number, write: Write) => Promise<void>): Promise<void> {
  const store = await openStore({ ...databaseOf(config), limits: patientLimits });
  try {
    const tenant = await new Directory(store).tenant(tenantName);
    if (tenant === undefined) throw new Error('There is no tenant.');
    const vault = new Vault(config.masterKey);
    const origin = { tenant, caller: undefined, operation: 'test', requestId: 'test', vault };
    await work(store, tenant.id, (inTransaction) => transact(store, origin, inTransaction));
  } finally {
    await store.close();
  }
}

function openAttempts(store: Store, tenantId: number): Promise<{ id: string; captured: boolean }[]> {
  return store
    .read(tenantId, (session) =>
      session.all<{ id: string }>(
        sql`select id from payment_attempt where tenant_id = ${tenantId} and status = 'OPEN'`,
      ),
    )
    .then(async (open) => {
      const captured = await store.system((transaction) =>
        transaction.all<{ key: string }>(sql`select key from sandbox_payment`),
      );
      const keys = new Set(captured.map(({ key }) => key));
      return open.map(({ id }) => ({ id, captured: keys.has(id) }));
    });
}

/** Payments that the sandbox captured and the books do not have, and vice versa. */
async function missingPayments(store: Store, tenantId: number): Promise<string[]> {
  const captured = await store.system((transaction) =>
    transaction.all<{ reference: string }>(
      sql`select reference from sandbox_payment where scenario in ('approved', 'settled')`,
    ),
  );
  const paid = await store.read(tenantId, (session) =>
    session.all<{ reference: string }>(
      sql`select processor_ref as reference from payment where tenant_id = ${tenantId}`,
    ),
  );
  const [there, here] = [captured, paid].map((rows) => new Set(rows.map(({ reference }) => reference)));
  return [...(there?.symmetricDifference(here ?? new Set<string>()) ?? [])];
}

async function makeDue(store: Store, tenantId: number): Promise<void> {
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`update payment_attempt set next_check_at = now() - interval '1 second'
      where tenant_id = ${tenantId} and next_check_at is not null`),
  );
}

async function followUpAll(store: Store, tenantId: number, write: Write): Promise<void> {
  await makeDue(store, tenantId);
  const tenant = await new Directory(store).tenant(tenantName);
  if (tenant === undefined) throw new Error('There is no tenant.');
  const due = await store.read(tenantId, (session) => dueAttempts(session, tenantId, Temporal.Now.instant(), 1000));
  const context = { processor: new SandboxProcessor(store), tenant, write, log };
  for (const attempt of due) await followUp(context, attempt);
  expect(await store.read(tenantId, (session) => session.all(disagreements(tenantId)))).toEqual([]);
}

/** Waits for the clock of the server, by the state of links in the API. */
async function untilNothingIsOpen(server: TestProcess, apiKey: string): Promise<void> {
  const headers = await signIn(server, apiKey);
  for (let page = 0; ; ) {
    const { json: found } = await wire(server.address, {
      method: 'POST',
      path: '/api/v1/records/batch/QuickPaymentLink',
      headers,
      body: JSON.stringify({ pageSize: 100, page }),
    });
    const { data, hasMore } = found as { data: { attributes: { status: string } }[]; hasMore: boolean };
    const isOpen = data.some(({ attributes }) => attributes.status === 'PROCESSING');
    if (!isOpen && !hasMore) return;
    if (isOpen) await pause(500);
    else page += 1;
  }
}
