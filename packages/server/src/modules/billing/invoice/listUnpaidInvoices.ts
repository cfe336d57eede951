import { sql } from 'kysely';
import type { Handler } from '../../../entity/context.ts';
import { pageScope } from '../../../query/handlers.ts';
import { pageReader } from '../../../query/read.ts';
import { unknownClientRef } from '../../clients/index.ts';
import { hasOpenStatus } from '../../reference/index.ts';
import { invoice } from './invoice.ts';

/** Lists the invoices of a client with an amount due, the earliest due date first. */
export const listUnpaidInvoices: Handler<'listUnpaidInvoices'> = (context, { query }) => {
  const { clientRef, ...page } = query;
  return context.read(async (session) => {
    const client = await session.first<{ id: string }>(
      sql`select coalesce(merged_into_id, id) as id from client where tenant_id = ${context.tenant.id} and client_ref = ${clientRef}`,
    );
    if (client === undefined) throw unknownClientRef(clientRef, 'query');
    const condition = sql<boolean>`e.client_id = ${client.id} and ${hasOpenStatus('e')}
      and e.document_type = 'INVOICE'`;
    const scope = { ...pageScope(context, client.id), condition };
    const { run } = pageReader(scope, invoice, { ...page, orderBy: [{ dueDate: 'asc' }] });
    return { status: 200, body: await run(session) };
  });
};
