import { sql } from 'kysely';
import type { Session } from '../../../platform/store/session.ts';
import { type BookRule, type Breach, findBroken } from './book-rule.ts';

/** An account of the ledger, the rows whose balances it explains, and when the balance `b` of a row has the wrong sign. */
type LedgerAccount = (typeof ledgerAccounts)[number];

const ledgerAccounts = [
  {
    account: 'RECEIVABLE',
    table: 'invoice',
    owner: 'invoice_id',
    balance: 'outstanding(status, amount_due)',
    isNegative: 'b.balance < 0',
  },
  {
    account: 'CREDIT',
    table: 'payment',
    owner: 'payment_id',
    balance: 'held(status, unapplied_amount)',
    // Money that a bank takes back after a refund is gone twice.
    isNegative: `b.balance < 0 and not exists (select 1 from payment p
      where p.tenant_id = b.tenant_id and p.id = b.id and p.status = 'RETURNED' and p.refunded_amount > 0)`,
  },
  {
    account: 'WIP',
    table: 'wip_entry',
    owner: 'wip_entry_id',
    balance: 'outstanding_amount',
    isNegative: `exists (select 1 from wip_entry w
      where w.tenant_id = b.tenant_id and w.id = b.id and sign(w.amount) = -sign(b.balance))`,
  },
] as const;

/** Returns the rows of a tenant whose entries of the ledger do not agree with them. The entries of an account are added up once for all rules. */
export async function findLedgerBreaches(session: Pick<Session, 'all'>, tenantId: number): Promise<Breach[]> {
  const breaches: Breach[] = [];
  for (const account of ledgerAccounts) {
    // A balance is added up day by day only where this can be: not where all that raises it comes before what reduces it to no less than zero.
    const moved = sql`moved as materialized (
      select ${sql.ref(account.owner)} as id, sum(amount) as amount, sum(amount) < 0
        or not coalesce(max(business_date) filter (where amount > 0) <= min(business_date) filter (where amount < 0), min(amount) > 0) as is_by_day
      from ledger_entry where tenant_id = ${tenantId} and account = ${account.account} group by 1)`;
    breaches.push(...(await findBroken(session, tenantId, moved, rulesOf(account))));
  }
  return breaches;
}

function rulesOf({ account, table, owner, balance, isNegative }: LedgerAccount): readonly BookRule[] {
  return [
    {
      rule: `the ${account} entries of a row of ${table} add up to its balance`,
      broken: (tenantId) => sql`
        select coalesce(r.id, e.id)::text as id, concat_ws(' ', r.balance, e.amount) as detail
        from (select id, ${sql.raw(balance)} as balance from ${sql.table(table)} where tenant_id = ${tenantId}) r
        full join moved e on e.id = r.id
        where r.id is null or coalesce(r.balance, 0) <> coalesce(e.amount, 0)`,
    },
    {
      rule: `the balance of the ${account} entries of a row has its sign as of any day`,
      broken: (tenantId) => sql`
        select b.id::text, concat_ws(' ', b.business_date, b.balance) as detail
        from (select e.tenant_id, ${sql.ref(owner)} as id, business_date,
            sum(sum(amount)) over (partition by ${sql.ref(owner)} order by business_date) as balance
          from ledger_entry e where tenant_id = ${tenantId} and account = ${account} and ${sql.ref(owner)} in (
            select id from moved where is_by_day${account === 'WIP' ? sql` union all select id from wip_entry where tenant_id = ${tenantId} and amount < 0` : sql``})
          group by 1, 2, 3) b
        where ${sql.raw(isNegative)}`,
    },
  ];
}
