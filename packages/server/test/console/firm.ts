import { sql } from 'kysely';
import { createApiKey } from '../../src/operator/api-keys.ts';
import type { Tenant } from '../../src/platform/auth/caller.ts';
import { deliveringService } from '../delivery.ts';
import { payingFirm } from '../modules/pay.ts';
import { Visitor } from './visitor.ts';

export type ConsoleFirm = Awaited<ReturnType<typeof consoleFirm>>;

/** Starts a service with a sandbox whose console is visited. */
export async function consoleFirm() {
  const server = await deliveringService({ sandbox: true });
  const { service, store, address, tenant } = server;
  const books = await payingFirm(server);
  await server.start();
  const newKey = (user: string, roles: readonly string[] = ['API_ADMIN', 'PYMT_EVNT_ALL'], of: Tenant = tenant) =>
    createApiKey({ service }, { tenant: of.name, user, roles, days: 1, description: `Key of ${user}` });
  return {
    ...server,
    ...books,
    newKey,
    /** Nobody who is signed in. */
    stranger: () => new Visitor(address),
    async visitor(key?: string): Promise<Visitor> {
      const one = new Visitor(address);
      await one.signIn(key ?? (await newKey('ops')).key);
      return one;
    },
    audit: (operation: string) =>
      store.read(tenant.id, (session) =>
        session.all<{ actor: string; entityId: string; requestId: string | null }>(sql`
          select actor, entity_id as "entityId", request_id as "requestId" from audit_log
          where tenant_id = ${tenant.id} and operation = ${operation}`),
      ),
  };
}
