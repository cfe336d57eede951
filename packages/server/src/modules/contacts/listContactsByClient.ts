import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { pageScope } from '../../query/handlers.ts';
import { pageReader } from '../../query/read.ts';
import { contact } from './contact.ts';

/** Lists the contacts of a client; contact, link and client must all be active. */
export const listContactsByClient: Handler<'listContactsByClient'> = (context, { path, query }) =>
  context.read(async (session) => {
    const client = await session.first(
      sql`select 1 from client where tenant_id = ${context.tenant.id} and id = ${path.clientId}`,
    );
    if (client === undefined) throw new Rejection('NOT_FOUND', 'Your tenant has no client with this ID.');
    const condition = sql<boolean>`e.active and exists (
      select 1 from contact_client link
      join client linked on linked.tenant_id = link.tenant_id and linked.id = link.client_id
      where link.tenant_id = e.tenant_id and link.contact_id = e.id and link.client_id = ${path.clientId}
        and link.active and linked.active)`;
    const scope = { ...pageScope(context, path.clientId), condition };
    return { status: 200, body: await pageReader(scope, contact, query).run(session) };
  });
