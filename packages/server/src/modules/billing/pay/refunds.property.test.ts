import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import {
  accountOf,
  disagreements,
  goodCard,
  payerDetails,
  payingFirm,
  type TestPayer,
  tickOf,
  WatchedSandbox,
} from '../../../../test/modules/pay.ts';
import { testService } from '../../../../test/service.ts';
import { findBreaches } from '../ledger/invariants.ts';
import { differencesOf } from '../ledger/kept-sums.ts';
import { followAttempts } from './reconcile.ts';

let now = Temporal.Now.instant();
const server = await testService({ replace: ({ store }) => ({ processor: new WatchedSandbox(store, () => now) }) });
const { invoiceOf, linkOf, newClient, pay, payer } = await payingFirm(server);
const { service, store, tenant } = server;
const processor = service.processor as WatchedSandbox;
// REFUND_RUNS=200 runs more than the suite has time for.
const numRuns = Number(process.env.REFUND_RUNS ?? 3);

const details = {
  good: goodCard,
  challenged: { ...goodCard, cardNumber: '4000000000003220' },
  declined: { ...goodCard, cardNumber: '4000000000000002' },
  bank: accountOf('000123456789'),
} as const;

/** Things that happen at the same time, to four links for two invoices of 500.00. */
const link = fc.nat(3);
const action = fc.oneof(
  fc.record({
    kind: fc.constant('pay'),
    link,
    by: fc.constantFrom('good', 'challenged', 'challenged', 'declined', 'bank'),
  }),
  fc.record({ kind: fc.constant('confirm'), link }),
  fc.record({ kind: fc.constant('cancel'), link }),
  fc.record({ kind: fc.constant('check'), invoice: fc.nat(1), amount: fc.constantFrom('500.00', '100.00') }),
  fc.record({
    kind: fc.constant('fail'),
    step: fc.constantFrom('capture', 'cancel', 'refund'),
    when: fc.constantFrom('before', 'after'),
  }),
  fc.record({ kind: fc.constant('tick') }),
);
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

async function tick(): Promise<void> {
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`update payment_attempt set next_check_at = now() - interval '1 second'
      where tenant_id = ${tenant.id} and next_check_at is not null`),
  );
  await followAttempts.run(tickOf(server));
}

interface Firm {
  readonly clientId: string;
  readonly invoices: readonly string[];
  readonly links: readonly { readonly id: string; readonly path: string; readonly browser: TestPayer }[];
}

async function newFirm(): Promise<Firm> {
  const client = await newClient();
  const [first, second] = [await invoiceOf(client.id, '500.00'), await invoiceOf(client.id, '500.00')];
  const links = [];
  for (const invoiceIds of [[first], [first], [second], [first, second]])
    links.push({ ...(await linkOf(client.ref, { invoiceIds })), browser: payer() });
  return { clientId: client.id, invoices: [first, second], links };
}

/** Does one thing. Rejections are expected: a link may have ended, and an invoice may be paid. */
async function act({ clientId, invoices, links }: Firm, step: Action): Promise<void> {
  const at = links['link' in step ? step.link : 0];
  if (at === undefined) return;
  const { browser, path } = at;
  const isFine = ({ status }: { readonly status: number }) => expect(status, JSON.stringify(step)).toBeLessThan(500);
  switch (step.kind) {
    case 'pay':
      if ('by' in step) isFine(await browser.submit(path, { ...payerDetails, ...details[step.by] }));
      return;
    case 'confirm':
      return isFine(await browser.submit(`${path}/challenge`, { answer: 'confirm' }));
    case 'cancel':
      return isFine(await browser.submit(`${path}/cancel`, {}, path));
    case 'check': {
      const { invoice = 0, amount = '' } = 'invoice' in step ? step : {};
      const invoiceId = invoices[invoice] ?? '';
      await pay(amount, [{ invoiceId, amount }], { clientId }).catch(() => undefined);
      return;
    }
    case 'fail':
      if ('step' in step) processor.fail(step.step, step.when);
      return;
    default:
      await tick();
  }
}

/** Attempts of links, with what the processor and the books have of their money. */
const moneyOf = (linkIds: readonly string[]) =>
  store.read(tenant.id, (session) =>
    session.all<{ id: string; status: string; toRefund: boolean; method: string; paid: string; unapplied: string }>(sql`
      select a.id, a.status, a.to_refund as "toRefund", a.method, coalesce(p.amount - p.refunded_amount, 0) as paid,
        coalesce(p.unapplied_amount, 0) as unapplied
      from payment_attempt a left join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
      where a.tenant_id = ${tenant.id} and a.quick_payment_link_id = any(${linkIds}::uuid[]) order by a.id`),
  );
const capturedOf = (keys: readonly string[]) =>
  store.system((transaction) =>
    transaction.all<{ key: string; amount: string }>(sql`
      select key, case when (captured_at is not null or scenario = 'settled') and refunded_at is null then amount else 0 end
        as amount from sandbox_payment where key = any(${keys}::uuid[]) order by key`),
  );

test('whatever happens at the same time, the books have what was captured and not refunded, and no link is paid in vain', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(action, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 5 }),
      async (batches) => {
        processor.reset();
        const firm = await newFirm();
        for (const batch of batches) await Promise.all(batch.map((step) => act(firm, step)));
        processor.reset();
        // Challenges have expired, and bank payments have arrived.
        now = now.add({ minutes: 20 });
        await tick();
        await tick();
        const money = await moneyOf(firm.links.map(({ id }) => id));
        expect(
          money.filter(({ status, toRefund }) => status === 'OPEN' || (status === 'COMPLETED' && toRefund)),
        ).toEqual([]);
        const captured = await capturedOf(money.map(({ id }) => id));
        const amounts = new Map(captured.map(({ key, amount }) => [key, Number(amount)]));
        expect(money.map(({ id, paid }) => [id, Number(paid)])).toEqual(
          money.map(({ id }) => [id, amounts.get(id) ?? 0]),
        );
        // A pending bank payment does not end other links, so a card can then pay more than is due.
        if (money.every(({ method }) => method === 'CARD'))
          expect(money.filter(({ unapplied }) => Number(unapplied) !== 0)).toEqual([]);
        const faults = await store.read(tenant.id, async (session) => [
          ...(await session.all(disagreements(tenant.id))),
          ...(await findBreaches(session, tenant.id)),
          ...(await differencesOf(session, tenant.id)),
        ]);
        expect(faults).toEqual([]);
      },
    ),
    { numRuns },
  );
});
