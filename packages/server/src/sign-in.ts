import { hasRole } from '@financial-automation/spec/roles';
import type { Caller, Tenant } from './auth/caller.ts';
import type { Context, PublicContext } from './context.ts';
import { transact } from './entity/transact.ts';
import { readBearer, readIfMatch } from './http/headers.ts';

/** The headers that tell who calls, as they came. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly ifMatch: string | undefined;
}

/**
 * Who calls, for which tenant, by the access token of the call.
 *
 * @throws Problem `UNAUTHENTICATED`, `TENANT_MISMATCH`, or `RATE_LIMITED` where the address has failed too often.
 */
export async function signIn(open: PublicContext, { authorization, ifMatch }: Credentials): Promise<Context> {
  const { tokens, directory, failureLimit } = open.service;
  const claims = await tokens.verifyAccessToken(readBearer(authorization), () => failureLimit.check(open.address));
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
  const { service, operation, requestId, traceparent } = open;
  const origin = { tenant, caller, operation: operation.id, requestId, traceparent, vault: service.vault };
  return {
    ...open,
    tenant,
    caller,
    ifMatch,
    holds: (roles) => hasRole(caller.roles, roles),
    read: (work) => service.store.read(tenant.id, work),
    write: (work) => transact(service.store, origin, work),
  };
}
