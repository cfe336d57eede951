import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { disagreements, payingFirm } from '../../../../test/modules/pay.ts';
import { sampleOf } from '../../../../test/nightly.ts';
import { sharedService } from '../../../../test/service.ts';
import { parseDecimal } from '../../../platform/decimal.ts';
import type { PaymentProgress } from '../../../platform/payments/processor.ts';
import { beginAttempt, findAttempt } from './attempt.ts';
import {
  type AttemptEvent,
  type AttemptStatus,
  attemptMachine,
  attemptStatuses,
  nextStatus,
} from './attempt-machine.ts';
import { pageWrites } from './pay-link.ts';
import { settle } from './settle.ts';

const server = await sharedService();
const { linkOf, newClient, payment } = await payingFirm(server);
const { service, store, tenant } = server;
const write = pageWrites(service, tenant, 'test');
const log = pino({ level: 'silent' });
const client = await newClient();
let created = 0;

/** Returns a state at the processor. */
function progressOf(state: AttemptEvent): PaymentProgress {
  const reference = `reference-${created}`;
  const details = { reference, cardBrand: null, last4: '4242', fee: parseDecimal('0.10') };
  const reason = { code: 'a_code', message: 'A reason.' };
  switch (state) {
    case 'action':
      return { state, reference, url: 'https://bank.example/' };
    case 'authorized':
      return { state, reference };
    case 'declined':
      return { state, ...reason };
    case 'failed':
    case 'returned':
      return { state, ...details, ...reason };
    default:
      return { state, ...details };
  }
}

const events = ['action', 'authorized', 'declined', 'accepted', 'captured', 'failed', 'returned', 'refunded'] as const;

/** The states at the processor that lead to each status. */
const ways: Readonly<Record<AttemptStatus, readonly AttemptEvent[]>> = {
  OPEN: [],
  DECLINED: ['declined'],
  PENDING: ['accepted'],
  COMPLETED: ['captured'],
  FAILED: ['accepted', 'failed'],
  RETURNED: ['captured', 'returned'],
  REFUNDED: ['captured', 'refunded'],
};

async function attemptIn(status: AttemptStatus): Promise<string> {
  created += 1;
  const link = await linkOf(client.ref, { amount: '5.00' });
  const attempt = await beginAttempt(write, link.id, {
    method: 'CARD',
    amount: undefined,
    payerName: 'Ines Duarte',
    payerEmail: null,
    description: 'Books',
    processor: 'sandbox',
    sessionHash: '00',
  });
  if (attempt === undefined) throw new Error('The link cannot be paid.');
  for (const event of ways[status]) await settle(write, attempt.id, progressOf(event), log);
  expect(await stored(attempt.id)).toMatchObject({ status });
  return attempt.id;
}

const stored = (id: string) => store.read(tenant.id, (session) => findAttempt(session, tenant.id, id));

/** The status after all transitions that an event causes. */
function lastStatus(status: AttemptStatus, event: AttemptEvent): AttemptStatus {
  const next = nextStatus(status, event);
  return next === undefined ? status : lastStatus(next, event);
}

describe('an attempt to pay', () => {
  test.each(attemptStatuses)('that is %s only takes the transitions that are declared', async (status) => {
    const taken = events.filter((event) => nextStatus(status, event) !== undefined);
    const others = events.filter((event) => !taken.includes(event));
    for (const event of [...taken, ...sampleOf(others, 3)]) {
      const id = await attemptIn(status);
      await settle(write, id, progressOf(event), log);
      const attempt = await stored(id);
      const expected = lastStatus(status, event);
      expect(attempt?.status, `${status} and ${event}`).toBe(expected);
      const hasPayment = expected !== 'OPEN' && expected !== 'DECLINED';
      const paid = hasPayment ? (await payment(attempt?.paymentId ?? '')).status : expected;
      expect(paid, `${status} and ${event}`).toBe(expected);
    }
    expect(await store.read(tenant.id, (session) => session.all(disagreements(tenant.id)))).toEqual([]);
  });

  test.each([
    ['OPEN', 'authorized', 'capture'],
    ['OPEN', 'action', undefined],
    ['DECLINED', 'authorized', 'cancel'],
    ['DECLINED', 'action', 'cancel'],
    // As a process of an earlier version leaves it, for which an authorization was an accepted payment.
    ['PENDING', 'authorized', 'capture'],
    ['COMPLETED', 'captured', undefined],
    ['REFUNDED', 'captured', undefined],
  ] as const)('that is %s, and %s at the processor: the next step is %s', async (status, event, step) => {
    const id = await attemptIn(status);
    expect(await settle(write, id, progressOf(event), log)).toMatchObject({ step });
  });

  test('has a machine that reaches every status, and in which an event has one result', () => {
    const { initial, transitions } = attemptMachine;
    const reached = new Set([initial]);
    for (const status of reached) for (const { from, to } of transitions) if (from.includes(status)) reached.add(to);
    expect([...reached].toSorted()).toEqual([...attemptStatuses].toSorted());
    const keys = transitions.flatMap(({ from, events: causes }) =>
      from.flatMap((one) => causes.map((by) => `${one} ${by}`)),
    );
    expect(keys).toHaveLength(new Set(keys).size);
  });

  test('can only have a declared status in the database', async () => {
    const { rows } = await store.ownerStatements(`select pg_get_constraintdef(oid) as definition from pg_constraint
      where conname = 'payment_attempt_status_enum'`);
    const named = [...String(rows[0]?.definition).matchAll(/'([A-Z]+)'/g)].map(([, name]) => name);
    expect(named.toSorted()).toEqual([...attemptStatuses].toSorted());
  });

  test('has one payment that uses its link, whatever else is refunded', async () => {
    const open = await attemptIn('OPEN');
    const second = (toRefund: boolean) =>
      store.write(tenant.id, (transaction) =>
        transaction.all(sql`
          insert into payment_attempt (tenant_id, id, quick_payment_link_id, status, processor, method, amount, currency,
            payer_name, description, session_hash, payment_id, to_refund)
          select tenant_id, gen_random_uuid(), quick_payment_link_id, 'COMPLETED', processor, method, amount, currency,
            payer_name, description, session_hash, (select id from payment where tenant_id = ${tenant.id} limit 1), ${toRefund}
          from payment_attempt where tenant_id = ${tenant.id} and id = ${open}`),
      );
    await expect(second(false)).rejects.toThrow();
    await second(true);
  });
});
