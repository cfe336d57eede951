import { sql } from 'kysely';
import { pino } from 'pino';
import { expect } from 'vitest';
import type { Tick } from '../../src/background/clock.ts';
import { dueAttempts, type PaymentAttempt } from '../../src/modules/billing/pay/attempt.ts';
import { pageWrites } from '../../src/modules/billing/pay/pay-link.ts';
import { followUp } from '../../src/modules/billing/pay/reconcile.ts';
import type { PaymentOrder, PaymentProcessor, PaymentProgress } from '../../src/platform/payments/processor.ts';
import { SandboxProcessor } from '../../src/platform/payments/sandbox.ts';
import { StripeProcessor } from '../../src/platform/payments/stripe.ts';
import { atEnd } from '../at-end.ts';
import { type TestService, type TestServiceOptions, testService } from '../service.ts';
import { startStripeDouble } from '../stripe-double.ts';
import { type WireResponse, wire } from '../wire.ts';
import { firm } from './billing.ts';

export const goodCard = { method: 'CARD', cardNumber: '4242 4242 4242 4242', expiry: '12/40', securityCode: '123' };
export const payerDetails = { payerName: 'Ines Duarte', payerEmail: 'ines@example.com' };

export function accountOf(accountNumber: string) {
  return { method: 'ACH', routingNumber: '110000000', accountNumber };
}

/**
 * A browser without JavaScript on the pages of links: it keeps its cookie, and submits forms with their hidden fields.
 */
export class TestPayer {
  readonly #address: string;
  cookie: string | undefined;

  constructor(address: string) {
    this.#address = address;
  }

  async get(path: string): Promise<WireResponse> {
    const response = await wire(this.#address, { path, headers: this.#cookies() });
    this.cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? this.cookie;
    return response;
  }

  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<WireResponse> {
    return wire(this.#address, {
      method: 'POST',
      path,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...this.#cookies(), ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  /** Opens a page and submits its form. */
  async submit(path: string, fields: Readonly<Record<string, string>>, from = path): Promise<WireResponse> {
    const { text } = await this.get(from);
    return this.post(path, { formKey: formKeyIn(text), ...fields });
  }

  /** Submits a form and follows the redirect. */
  async pay(path: string, fields: Readonly<Record<string, string>>): Promise<WireResponse> {
    const response = await this.submit(path, { ...payerDetails, ...fields });
    return response.status === 303 ? this.get(response.headers.location ?? '') : response;
  }

  #cookies(): Record<string, string> {
    return this.cookie === undefined ? {} : { Cookie: this.cookie };
  }
}

export function formKeyIn(page: string): string {
  return /name="formKey" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

/** Sends a notification of Stripe to the webhook endpoint. */
export function sendNotification(
  address: string,
  { body, signature }: { readonly body: string; readonly signature: string | undefined },
): Promise<WireResponse> {
  const headers = {
    'Content-Type': 'application/json',
    ...(signature === undefined ? {} : { 'Stripe-Signature': signature }),
  };
  return wire(address, { method: 'POST', path: '/pay/webhook', headers, body });
}

type Step = 'submit' | 'capture' | 'cancel' | 'refund';

/** A sandbox whose steps are counted, and can be preceded by other work or fail once. */
export class WatchedSandbox extends SandboxProcessor {
  calls: Record<Step, number> = { submit: 0, capture: 0, cancel: 0, refund: 0 };
  readonly #before = new Map<Step, () => Promise<unknown>>();
  readonly #failing = new Map<Step, 'before' | 'after'>();

  reset(): void {
    this.calls = { submit: 0, capture: 0, cancel: 0, refund: 0 };
    this.#before.clear();
    this.#failing.clear();
  }

  /** Does something before the next call of a step reaches the processor. */
  before(step: Step, work: () => Promise<unknown>): void {
    this.#before.set(step, work);
  }

  /** Loses the connection of the next call of a step, before or after it takes effect. */
  fail(step: Step, when: 'before' | 'after'): void {
    this.#failing.set(step, when);
  }

  override submit(...order: Parameters<PaymentProcessor['submit']>): Promise<PaymentProgress> {
    return this.#watched('submit', () => super.submit(...order));
  }

  override capture(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#watched('capture', () => super.capture(order));
  }

  override cancel(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#watched('cancel', () => super.cancel(order));
  }

  override refund(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#watched('refund', () => super.refund(order));
  }

  async #watched(step: Step, call: () => Promise<PaymentProgress>): Promise<PaymentProgress> {
    this.calls[step] += 1;
    const [before, failing] = [this.#before.get(step), this.#failing.get(step)];
    this.#before.delete(step);
    this.#failing.delete(step);
    await before?.();
    if (failing === 'before') throw new Error('The connection was refused.');
    const progress = await call();
    if (failing === 'after') throw new Error('The connection was lost.');
    return progress;
  }
}

/** Creates a firm whose clients have invoices and links. */
export async function payingFirm(service: TestService) {
  const base = await firm(service);
  const { store, tenant } = service;
  let imports = 0;
  const invoiceOf = async (clientId: string, amount: string, dueDate = '2026-01-31'): Promise<string> => {
    const { id } = await base.records.make('Invoice', {
      pmsRef: `import-${++imports}`,
      clientId,
      invoiceDate: '2026-01-01',
      dueDate,
      lines: [{ lineType: 'FIXED_FEE', description: 'Books', quantity: '1', unitAmount: amount, taxable: false }],
    });
    return id;
  };
  const linkOf = async (clientRef: string, more: object) => {
    const { status, body } = await base.preparer.call<{ id: string; url: string }>(
      'POST',
      '/api/v1/clients/v1/link/payment',
      { clientRef, ...more },
    );
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return { id: body.id, path: new URL(body.url).pathname };
  };
  return {
    ...base,
    invoiceOf,
    linkOf,
    payer: () => new TestPayer(service.address),
    /** Creates a client with one open invoice, and a link for it. */
    async owing(amount = '500.00') {
      const client = await base.newClient({ name: 'Cedar & Co <Ltd>' });
      const invoiceId = await invoiceOf(client.id, amount);
      return { client, invoiceId, link: await linkOf(client.ref, { invoiceIds: [invoiceId] }) };
    },
    linkStatus: async (id: string): Promise<string | undefined> => {
      const row = await store.read(tenant.id, (session) =>
        session.first<{ status: string }>(
          sql`select status from quick_payment_link where tenant_id = ${tenant.id} and id = ${id}`,
        ),
      );
      return row?.status;
    },
    attempts: (linkId: string) =>
      store.read(tenant.id, (session) =>
        session.all<Pick<PaymentAttempt, 'id' | 'status' | 'failureCode' | 'paymentId' | 'toRefund'>>(sql`
          select id, status, failure_code as "failureCode", payment_id as "paymentId", to_refund as "toRefund" from payment_attempt
          where tenant_id = ${tenant.id} and quick_payment_link_id = ${linkId} order by id`),
      ),
    payments: (clientId: string) =>
      store.read(tenant.id, (session) =>
        session.all<{ id: string; status: string; amount: string; unapplied: string }>(sql`
          select id, status, amount, unapplied_amount as unapplied from payment
          where tenant_id = ${tenant.id} and client_id = ${clientId} order by id`),
      ),
  };
}

export const stripeKeys = { secretKey: 'sk_test_51Double', webhookSecret: 'whsec_of_the_double' };

/** Creates a firm that takes payments through a double of Stripe. */
export async function stripeFirm(options: Pick<TestServiceOptions, 'wrapStore'> = {}) {
  const stripe = await startStripeDouble(stripeKeys.secretKey, stripeKeys.webhookSecret);
  atEnd(() => stripe.stop());
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const server = await testService({
    ...options,
    log,
    replace: () => ({
      processor: new StripeProcessor(stripeKeys, log, { host: stripe.host, port: stripe.port, protocol: 'http' }),
    }),
  });
  const base = await payingFirm(server);
  const { service, store, tenant } = server;
  return {
    ...base,
    stripe,
    server,
    /** What was logged. */
    lines,
    /** Returns the ID of the Stripe session of a link's attempt. */
    async sessionOf(linkId: string): Promise<string> {
      const ids = new Set((await base.attempts(linkId)).map(({ id }) => id));
      const found = [...stripe.sessions.values()].findLast(({ session }) => ids.has(session.client_reference_id ?? ''));
      if (found === undefined) throw new Error('No session found.');
      return found.session.id;
    },
    session: (id: string) => stripe.sessions.get(id)?.session ?? {},
    notify: (type: string, object: object): Promise<WireResponse> =>
      sendNotification(server.address, stripe.notification({ type, data: { object } })),
    /** Runs the clock task. */
    async followUpAll(): Promise<void> {
      const { processor } = service;
      if (processor === undefined) throw new Error('No processor is configured.');
      const later = Temporal.Now.instant().add({ hours: 1 });
      const due = await store.read(tenant.id, (one) => dueAttempts(one, tenant.id, later, 100));
      for (const attempt of due)
        await followUp({ processor, tenant, write: pageWrites(service, tenant, 'test'), log }, attempt);
    },
    async expectAgreement(): Promise<void> {
      expect(await store.read(tenant.id, (one) => one.all(disagreements(tenant.id)))).toEqual([]);
    },
  };
}

/** Creates a run of a clock task for the tenant of a service, now. */
export function tickOf({ service, store, tenant }: Pick<TestService, 'service' | 'store' | 'tenant'>): Tick {
  return {
    tenant,
    now: Temporal.Now.instant(),
    today: Temporal.Now.plainDateISO(),
    signal: new AbortController().signal,
    log: service.log,
    service,
    keepProgress: async () => undefined,
    read: (work) => store.read(tenant.id, work),
    write: pageWrites(service, tenant, 'test'),
  };
}

/** SQL of inconsistencies in the books of a tenant, each described in a sentence, including rules for links. */
export const disagreements = (tenantId: number) => sql<{ what: string }>`
  select 'link ' || link.id || ' is USED and has ' || count(p.id) || ' payments' as what
  from quick_payment_link link
  left join payment p on p.tenant_id = link.tenant_id and p.quick_payment_link_id = link.id
    and p.source = 'QUICK_PAYMENT_LINK' and p.id = link.payment_id
  where link.tenant_id = ${tenantId}
  group by link.id, link.status having count(p.id) <> case when link.status = 'USED' then 1 else 0 end
  union all
  select 'payment ' || p.id || ' came through a link that it does not use' from payment p
  join quick_payment_link link on link.tenant_id = p.tenant_id and link.id = p.quick_payment_link_id
  where p.tenant_id = ${tenantId} and p.id is distinct from link.payment_id and not exists (
    select from payment_attempt a where a.tenant_id = p.tenant_id and a.payment_id = p.id and a.to_refund)
  union all
  select 'attempt ' || a.id || ' is ' || a.status || ' and its link ' || link.status from payment_attempt a
  join quick_payment_link link on link.tenant_id = a.tenant_id and link.id = a.quick_payment_link_id
  where a.tenant_id = ${tenantId} and ((a.status = 'OPEN') <> (link.status = 'PROCESSING') and a.status <> 'DECLINED'
      and not a.to_refund
    or a.status = 'DECLINED' and link.status = 'PROCESSING' and not exists (select from payment_attempt other
      where other.tenant_id = a.tenant_id and other.quick_payment_link_id = link.id and other.status = 'OPEN'))
  union all
  select 'payment ' || p.id || ' does not add up' from payment p
  where p.tenant_id = ${tenantId} and counts(p.status) and p.amount <> p.unapplied_amount + p.refunded_amount
    + coalesce((select sum(a.amount) from payment_allocation a where a.tenant_id = p.tenant_id and a.payment_id = p.id), 0)
  union all
  select 'invoice ' || i.id || ' does not follow from its allocations' from invoice i
  cross join lateral (
    select coalesce(sum(a.amount) filter (where counts(p.status)), 0) as paid,
      coalesce(sum(a.amount) filter (where p.status = 'PENDING'), 0) as pending
    from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where a.tenant_id = i.tenant_id and a.invoice_id = i.id) allocated
  where i.tenant_id = ${tenantId} and (i.amount_paid <> allocated.paid or i.amount_pending <> allocated.pending)
  union all
  select 'the balances of client ' || c.id || ' are not its sums' from client c
  where c.tenant_id = ${tenantId} and (
    c.outstanding_balance <> (select coalesce(sum(i.amount_due), 0) from invoice i where i.tenant_id = c.tenant_id
      and i.client_id = c.id and i.status in ('POSTED', 'PARTIALLY_PAID') and i.currency = c.currency)
    or c.unapplied_credit <> (select coalesce(sum(p.unapplied_amount), 0) from payment p where p.tenant_id = c.tenant_id
      and p.client_id = c.id and (counts(p.status) or p.status = 'RETURNED') and p.currency = c.currency))`;
