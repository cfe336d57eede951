import { type RawBuilder, sql } from 'kysely';
import { fieldsOf, membersOf } from '../../../contract/fields.ts';
import { embedValue, jsonObject, mostEmbedded } from '../../../entity/embed.ts';
import { defineEntity, manyIn, one } from '../../../entity/entity.ts';
import { hasOpenStatus } from '../../reference/index.ts';
import { allocationDate } from '../ledger/ledger-entry.ts';

/** SQL of the days until a row was paid in full; null unless it was. */
function daysToPay(row: string): RawBuilder<unknown> {
  const [paid, billed] = [sql.ref(`${row}.paid_date`), sql.ref(`${row}.invoice_date`)];
  return sql`case when ${paid} is not null then greatest(${paid} - ${billed}, 0) end`;
}

/** An invoice or credit note to a client. It is created from an approved draft; invoices are imported, too. */
export const invoice = defineEntity('Invoice', {
  table: 'invoice',
  relations: {
    client: one('Client', 'clientId'),
    allocations: manyIn('payment_allocation', 'invoiceId', (row) => {
      const [tenantId, paymentId] = [sql.ref(`${row}.tenant_id`), sql.ref(`${row}.payment_id`)];
      return sql`exists (select 1 from payment p where p.tenant_id = ${tenantId} and p.id = ${paymentId} and counts(p.status))`;
    }),
  },
  embeds: {
    clientRef: embedValue('Client', 'clientId', 'clientRef', { onChange: 'label' }),
    clientName: embedValue('Client', 'clientId', 'name', { onChange: 'label' }),
  },
  owned: {
    lines: {
      table: 'invoice_line',
      owner: 'invoice_id',
      links: { wipIds: { table: 'invoice_line_wip', owner: 'line_id', column: 'wip_entry_id' } },
    },
  },
  spread: ['billingAddress'],
  computed: {
    amountDue: (row) => sql.ref(`${row}.amount_due`),
    isOverdue: (row) => sql`(${openSince(row)} > 0)`,
    daysPastDue: openSince,
    daysToPay,
    allocations,
    allocationsCount: (row) => sql`(select count(*)::integer ${allocationsOf(row)})`,
  },
});

/** SQL of the days that an open invoice is overdue; 0 if it is not. */
function openSince(row: string) {
  const [type, dueDate] = ['document_type', 'due_date'].map((column) => sql.ref(`${row}.${column}`));
  return sql`(case when ${hasOpenStatus(row)} and ${type} = 'INVOICE' then greatest(today() - ${dueDate}, 0) else 0 end)`;
}

/** SQL of the newest payments that cover an invoice. */
function allocations(row: string) {
  const list = fieldsOf('Invoice').find(({ name }) => name === 'allocations');
  if (list === undefined) throw new Error('The contract declares no allocations of an Invoice.');
  const object = jsonObject(
    membersOf(list).map((field) => [field, field.name === 'date' ? allocationDate('a') : sql.ref(`a.${field.column}`)]),
  );
  return sql`(select coalesce(json_agg(${object} order by a.allocated_at, a.payment_id), '[]') from (
    select a.* ${allocationsOf(row)}
    order by a.allocated_at desc, a.payment_id desc limit ${mostEmbedded(list)}) a)`;
}

function allocationsOf(row: string) {
  return sql`from payment_allocation a join payment p on p.tenant_id = a.tenant_id and p.id = a.payment_id
    where a.tenant_id = ${sql.ref(`${row}.tenant_id`)} and a.invoice_id = ${sql.ref(`${row}.id`)} and counts(p.status)`;
}
