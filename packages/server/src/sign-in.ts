import type { Caller, Context, PublicContext, Tenant } from './context.ts';
import { UnitOfWork } from './entity/unit-of-work.ts';
import { readBearer, readIfMatch } from './http/headers.ts';

/** The headers that tell who calls, as they came. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly ifMatch: string | undefined;
}

/**
 * Who calls, for which tenant, by the access token of the call.
 *
 * @throws Problem `UNAUTHENTICATED` or `TENANT_MISMATCH`.
 */
export async function signIn(open: PublicContext, { authorization, ifMatch }: Credentials): Promise<Context> {
  const { tokens, directory } = open.service;
  const claims = await tokens.verifyAccessToken(readBearer(authorization));
  const { tenant, caller } = await directory.callerOf(claims, open.tenantName);
  return contextOf(open, tenant, caller, readIfMatch(ifMatch));
}

/** What a handler works with: data of this tenant alone, and changes that are audited and announced as this caller's. */
export function contextOf(
  open: PublicContext,
  tenant: Tenant,
  caller: Caller,
  ifMatch: readonly number[] | undefined,
): Context {
  const { service, operation, requestId } = open;
  const origin = { tenant, caller, operation: operation.id, requestId, vault: service.vault };
  return {
    ...open,
    tenant,
    caller,
    ifMatch,
    read: (work) => service.store.read(tenant.id, work),
    write: (work) =>
      service.store.write(tenant.id, async (transaction) => {
        const unit = new UnitOfWork(transaction, origin);
        const result = await work(unit);
        await unit.announce();
        return result;
      }),
  };
}
