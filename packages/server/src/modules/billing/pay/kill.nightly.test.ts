import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { engineName } from '../../../../test/database.ts';
import {
  accountOf,
  disagreements,
  formKeyIn,
  goodCard,
  payerDetails,
  TestPayer,
} from '../../../../test/modules/pay.ts';
import { createTenantWithKeys } from '../../../../test/operate.ts';
import { patientLimits } from '../../../../test/patient-limits.ts';
import { processEnvironment, runScript, startServer, type TestProcess } from '../../../../test/process.ts';
import { wire } from '../../../../test/wire.ts';
import { Directory } from '../../../admission/directory.ts';
import { readConfig } from '../../../app/read-config.ts';
import { transact } from '../../../entity/transact.ts';
import { serve } from '../../../main/main.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import { Vault } from '../../../platform/auth/vault.ts';
import { parseDecimal } from '../../../platform/decimal.ts';
import { SandboxProcessor } from '../../../platform/payments/sandbox.ts';
import { databaseOf } from '../../../platform/process/config.ts';
import { openStore, type Store } from '../../../platform/store/store.ts';
import { receivePayment } from '../payment/payment-rules.ts';
import { dueAttempts, findAttempt, type Write } from './attempt.ts';
import { followUp } from './reconcile.ts';

const environment = await processEnvironment();
const config = readConfig(environment);
const log = pino({ level: 'silent' });
// KILL_ROUNDS=20 runs more rounds than the suite has time for.
const rounds = Number(process.env.KILL_ROUNDS ?? 1);
const linksPerRound = 16;
const payersAtOnce = 8;
const tenantName = 'hartwell';
const killedPayment = fileURLToPath(new URL('../../../../test/killed-payment.ts', import.meta.url));
const [apiKey = ''] = await createTenantWithKeys(environment, tenantName, 'crm');
const json = { 'Content-Type': 'application/json' };

/** Each round starts a server and opens the database again, which is slow on a busy machine. In milliseconds. */
const slow = 1_800_000;

/** Attempts that were interrupted by kills, by the step of the payment. */
const interrupted = { beforeCapture: 0, afterCapture: 0 };

// Where a kill hits is chance; the next test has each step in turn. By day `billing/kill.test.ts` kills a server.
test(
  'a server that is killed repeatedly while links are paid: the books are consistent, and no payment is lost or duplicated',
  async () => {
    const receipts: string[] = [];
    for (let round = 1; round <= rounds; round++) {
      const server = await startServer(environment);
      const links = await makeLinks(server, apiKey, round);
      await payUntilKilled(server, links, receipts, round % 2 === 0 ? 'sent' : 'responded');
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
    await untilNothingIsOpen(server);
    server.kill('SIGTERM');
    expect(await server.finished).toMatchObject({ code: 0 });
    await onStore(async (store, tenantId, write) => {
      expect(await openAttempts(store, tenantId)).toEqual([]);
      await followUpAll(store, tenantId, write);
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

test(
  'a process that is killed before or after a step at the processor: the next one charges, cancels or refunds once',
  async () => {
    const server = await serve({ ...environment, LOG_LEVEL: 'silent', BACKGROUND: 'off' });
    const links = (await makeLinks(server, apiKey, 'steps')).slice(0, 4);
    for (const { path } of links)
      await new TestPayer(server.address).submit(path, {
        ...payerDetails,
        ...goodCard,
        cardNumber: '4000000000003220',
      });
    await server.stop();
    const ids: string[] = [];
    await onStore(async (store, tenantId) => {
      const open = await openAttempts(store, tenantId);
      ids.push(...open.map(({ id }) => id).sort());
      for (const id of ids) await new SandboxProcessor(store).answerChallenge({ key: id, clockOffset: 0 }, true);
    });
    expect(ids).toHaveLength(4);
    const [kept = '', late = '', lapsed = '', raced = ''] = ids;
    type Kill = readonly [id: string, step: 'capture' | 'cancel' | 'refund', when: 'before' | 'after'];
    /** One process that is killed amid all of these. */
    const killAmid = async (...kills: readonly Kill[]) =>
      expect(await runScript(environment, killedPayment, tenantName, ...kills.flat())).toMatchObject({ code: null });
    await killAmid([kept, 'capture', 'before']);
    await killAmid([kept, 'capture', 'after'], [late, 'capture', 'after']);
    await onStore(async (_store, _tenantId, write) => {
      for (const link of links.slice(1, 3)) await payDirectly(write, link);
    });
    await killAmid([late, 'refund', 'before']);
    await killAmid([late, 'refund', 'after'], [lapsed, 'cancel', 'before']);
    await killAmid([lapsed, 'cancel', 'after']);
    await race(raced);
    await onStore(async (store, tenantId, write) => {
      await followUpAll(store, tenantId, write);
      const ended = await Promise.all(
        ids.map((id) => store.read(tenantId, (session) => findAttempt(session, tenantId, id))),
      );
      expect(ended.map((attempt) => attempt?.status)).toEqual(['COMPLETED', 'REFUNDED', 'DECLINED', 'COMPLETED']);
      expect(await missingPayments(store, tenantId)).toEqual([]);
      const money = await store.system((transaction) =>
        transaction.all(sql`select captured_at is not null as captured, refunded_at is not null as refunded
          from sandbox_payment where key = any(${ids}::uuid[]) order by key`),
      );
      expect(money).toEqual([
        { captured: true, refunded: false },
        { captured: true, refunded: true },
        { captured: false, refunded: false },
        { captured: true, refunded: false },
      ]);
    });
  },
  slow,
);

/** Several processes follow up one attempt at the same time. The embedded database supports one. */
async function race(id: string): Promise<void> {
  const racers = Array.from({ length: engineName === 'postgres' ? 3 : 1 });
  const ended = racers.map(() => runScript(environment, killedPayment, tenantName, id, 'none'));
  for (const { code, error } of await Promise.all(ended)) expect({ code, error }).toEqual({ code: 0, error: '' });
}

/** Pays the invoice of a link with a check, while no server runs. */
async function payDirectly(write: Write, { clientId, invoiceId }: PaidLink): Promise<void> {
  const amount = parseDecimal('100.00');
  const fixed = { paymentDate: '2026-02-01', currency: 'USD', method: 'CHECK', source: 'MANUAL' } as const;
  const system = { ...fixed, clientId, amount, allocations: [{ invoiceId, amount }] };
  await write((unit) => unit.plan((plan) => receivePayment(plan, system)));
}

interface PaidLink {
  readonly path: string;
  readonly clientId: string;
  readonly invoiceId: string;
  /** Pays its invoice with a check, if it is still due. */
  readonly payOtherwise: () => Promise<unknown>;
}

/** Creates a client with invoices, and a link for each. */
async function makeLinks(
  server: Pick<TestProcess, 'address'>,
  key: string,
  round: number | string,
): Promise<PaidLink[]> {
  const headers = await signIn(server, key);
  const post = async (path: string, body: object) => {
    for (;;) {
      const request = { method: 'POST', path, headers, body: JSON.stringify(body) };
      const { status, json: response } = await wire(server.address, request);
      if (status === 200 || status === 201) return response as Record<string, string>;
      // On a busy machine, an API user has too many requests in progress.
      if (status !== 429) throw new Error(`${path}: ${status} ${JSON.stringify(response)}`);
      await pause(1_000);
    }
  };
  const { clientId = '', clientRef } = await post('/api/v1/clients/v1/onboard', {
    name: `Client ${round}`,
    address: {},
  });
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
  const links: PaidLink[] = [];
  for (const id of ids) {
    const { url = '' } = await post('/api/v1/clients/v1/link/payment', { clientRef, invoiceIds: [id] });
    const amounts = { amount: '100.00', allocations: [{ invoiceId: id, amount: '100.00' }] };
    const attributes = {
      clientId,
      paymentDate: '2026-02-01',
      currency: 'USD',
      method: 'CHECK',
      source: 'MANUAL',
      ...amounts,
    };
    const payOtherwise = () => post('/api/v1/records', { records: [{ type: 'Payment', attributes }] });
    links.push({ path: new URL(url).pathname, clientId, invoiceId: id, payOtherwise });
  }
  return links;
}

async function signIn({ address }: Pick<TestProcess, 'address'>, key: string) {
  const exchanged = await wire(address, {
    method: 'POST',
    path: '/v1/auth/token',
    headers: json,
    body: JSON.stringify({ apiKey: key }),
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
  links: readonly PaidLink[],
  receipts: string[],
  after: 'sent' | 'responded',
): Promise<void> {
  const paid = Promise.withResolvers<void>();
  const enough = Math.floor(Math.random() * (linksPerRound - payersAtOnce));
  let count = 0;
  const seen = (): void => {
    if (count++ >= enough) paid.resolve();
  };
  const queue = links.entries();
  const payers = Array.from({ length: payersAtOnce }, async () => {
    for (const [index, { path, payOtherwise }] of queue) {
      const details = [goodCard, accountOf('000123456789'), { ...goodCard, cardNumber: '4000000000000002' }][index % 3];
      const payer = new TestPayer(server.address);
      const { text } = await payer.get(path);
      const response = payer.post(path, { formKey: formKeyIn(text), ...payerDetails, ...details });
      // Some invoices are paid otherwise at the same time: one of both payments is cancelled, rejected or refunded.
      const isPaidOtherwise = index % 4 === 0;
      if (after === 'sent') seen();
      await Promise.all([response, isPaidOtherwise ? payOtherwise() : undefined]);
      // A payment that is rejected because of the other one begins no attempt.
      if (after === 'responded' && !isPaidOtherwise) seen();
      const number = /PAY-\d{4}-\d+/.exec((await payer.get(path)).text)?.[0];
      if (number !== undefined) receipts.push(number);
    }
  });
  // Those that fail at the kill are expected from now on.
  const ended = Promise.allSettled(payers);
  await paid.promise;
  await pause(Math.random() * 60);
  server.kill('SIGKILL');
  await ended;
  await server.finished;
}

async function tenantOf(store: Store): Promise<Tenant> {
  const tenant = await new Directory(store).tenant(tenantName);
  if (tenant === undefined) throw new Error('There is no tenant.');
  return tenant;
}

/** Opens the database while no server uses it. */
async function onStore(work: (store: Store, tenantId: number, write: Write) => Promise<void>): Promise<void> {
  const store = await openStore({ ...databaseOf(config), limits: patientLimits });
  try {
    const tenant = await tenantOf(store);
    const vault = new Vault(config.masterKeys);
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
        transaction.all<{ key: string }>(sql`select key from sandbox_payment where captured_at is not null`),
      );
      const keys = new Set(captured.map(({ key }) => key));
      return open.map(({ id }) => ({ id, captured: keys.has(id) }));
    });
}

/** Money that the sandbox has captured and not refunded, and the books do not have, and vice versa. */
async function missingPayments(store: Store, tenantId: number): Promise<string[]> {
  interface Money {
    readonly reference: string;
    readonly amount: string;
  }
  const captured = await store.system((transaction) =>
    transaction.all<Money>(
      sql`select reference, amount from sandbox_payment
        where (scenario = 'settled' or captured_at is not null) and refunded_at is null`,
    ),
  );
  const paid = await store.read(tenantId, (session) =>
    session.all<Money>(
      sql`select processor_ref as reference, amount - refunded_amount as amount from payment
        where tenant_id = ${tenantId} and processor = 'sandbox' and refunded_amount < amount`,
    ),
  );
  const [there, here] = [captured, paid].map((rows) => new Set(rows.map((row) => `${row.reference} ${row.amount}`)));
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
  const tenant = await tenantOf(store);
  const due = await store.read(tenantId, (session) => dueAttempts(session, tenantId, Temporal.Now.instant(), 1000));
  const context = { processor: new SandboxProcessor(store), tenant, write, log };
  for (const attempt of due) await followUp(context, attempt);
  expect(await store.read(tenantId, (session) => session.all(disagreements(tenantId)))).toEqual([]);
}

/** Waits for the clock of the server, by the state of links in the API. */
async function untilNothingIsOpen(server: TestProcess): Promise<void> {
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
