import { sql } from 'kysely';
import { Cells } from '../../../platform/store/databases/index.ts';
import type { Session, Store } from '../../../platform/store/store.ts';
import { hashOf } from '../link/link-token.ts';
import { latestAttempt, type PaymentAttempt } from './attempt.ts';

/** The link of a token, with its tenant. */
export interface FoundLink {
  readonly tenantName: string;
  readonly linkId: string;
}

/**
 * Returns the link of a token, or undefined if no open tenant has it. The database compares hashes, so the response time
 * does not reveal anything about the token.
 */
export async function findLink(store: Store, token: string): Promise<FoundLink | undefined> {
  // A tenant can have moved since the link was created, so the token does not say where it is.
  const results = await Promise.allSettled(
    store.cells.map(async ({ number }) => ({ number, link: await findIn(store.cell(number), token) })),
  );
  const known = results.flatMap((one) =>
    one.status === 'fulfilled' && one.value.link !== undefined ? [one.value] : [],
  );
  const here = known.find(({ link }) => link?.hasLeft === false);
  if (here !== undefined) return here.link;
  // It may be in a database that is unavailable.
  for (const one of results) if (one.status === 'rejected') throw one.reason;
  const [left] = known;
  // The tenant has just left a database, and may not be open yet in the other one.
  if (left?.link === undefined || !(store instanceof Cells)) return undefined;
  await store.follow(left.link.tenantId, left.number);
  const link = await findIn(store.cellOf(left.link.tenantId), token);
  return link?.hasLeft === false ? link : undefined;
}

interface KnownLink extends FoundLink {
  readonly tenantId: number;
  /** Whether the tenant has left this database: what is here is a copy. */
  readonly hasLeft: boolean;
}

function findIn(store: Store, token: string): Promise<KnownLink | undefined> {
  return store.system((transaction) =>
    transaction.first<KnownLink>(sql`
      select tenant.id as "tenantId", tenant.name as "tenantName", known.quick_payment_link_id as "linkId",
        move.tenant is not null as "hasLeft"
      from payment_link_token known join tenant on tenant.id = known.tenant
      left join tenant_move move on move.tenant = tenant.id and move.phase = 'LEFT'
      where known.token_hash = decode(${hashOf(token).toString('hex')}, 'hex') and (tenant.active or move.tenant is not null)`),
  );
}

export interface LinkInvoice {
  readonly number: string;
  readonly dueDate: string;
  readonly due: string;
  /** Sum of pending payments. */
  readonly pending: string;
}

export interface LinkPayment {
  readonly number: string;
  readonly date: string;
  readonly amount: string;
  readonly status: string;
  readonly method: string;
  readonly cardBrand: string | null;
  readonly last4: string | null;
  readonly payerName: string | null;
  readonly payerEmail: string | null;
  readonly unapplied: string;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly allocations: readonly { readonly invoiceNumber: string; readonly amount: string }[];
}

/** The data that the page shows of a link. */
export interface LinkPage {
  readonly id: string;
  readonly status: 'ACTIVE' | 'PROCESSING' | 'USED' | 'EXPIRED' | 'INVALIDATED' | 'CANCELLED';
  readonly amount: string | null;
  readonly currency: string;
  readonly note: string | null;
  /** The day at the firm, ISO 8601. */
  readonly today: string;
  readonly clientName: string;
  readonly orgName: string;
  readonly invoices: readonly LinkInvoice[];
  readonly attempt: PaymentAttempt | undefined;
  /** The payment of the attempt, which uses the link unless it is refunded. */
  readonly payment: LinkPayment | undefined;
}

/** @throws Error if the link does not exist. */
export async function readLinkPage(session: Session, tenantId: number, linkId: string): Promise<LinkPage> {
  const link = await session.first<Omit<LinkPage, 'attempt' | 'payment'>>(sql`
    select link.id, case when link.status = 'ACTIVE' and link.expires_at <= tenant_now() then 'EXPIRED' else link.status end as status,
      link.amount, link.currency, link.note, today() as today, client.name as "clientName", org.legal_name as "orgName",
      coalesce((select json_agg(json_build_object('number', i.invoice_number, 'dueDate', i.due_date, 'due', i.amount_due::text,
          'pending', i.amount_pending::text) order by i.due_date, i.id)
        from quick_payment_link_invoice chosen
        join invoice i on i.tenant_id = chosen.tenant_id and i.id = chosen.invoice_id
        where chosen.tenant_id = link.tenant_id and chosen.quick_payment_link_id = link.id), '[]') as invoices
    from quick_payment_link link
    join client on client.tenant_id = link.tenant_id and client.id = link.client_id
    join org on org.tenant_id = client.tenant_id and org.id = client.org_id
    where link.tenant_id = ${tenantId} and link.id = ${linkId}`);
  if (link === undefined) throw new Error(`Link ${linkId} not found.`);
  const attempt = await latestAttempt(session, tenantId, linkId);
  const paymentId = attempt?.paymentId ?? null;
  if (paymentId === null) return { ...link, attempt, payment: undefined };
  const payment = await session.first<LinkPayment>(sql`
    select p.payment_number as number, p.payment_date as date, p.amount, p.status, p.method, p.card_brand as "cardBrand", p.last4,
      p.payer_name as "payerName", p.payer_email as "payerEmail", p.unapplied_amount as unapplied,
      p.failure_code as "failureCode", p.failure_message as "failureMessage",
      coalesce((select json_agg(json_build_object('invoiceNumber', i.invoice_number, 'amount', a.amount::text) order by a.position)
        from payment_allocation a join invoice i on i.tenant_id = a.tenant_id and i.id = a.invoice_id
        where a.tenant_id = p.tenant_id and a.payment_id = p.id), '[]') as allocations
    from payment p where p.tenant_id = ${tenantId} and p.id = ${paymentId}`);
  return { ...link, attempt, payment };
}
