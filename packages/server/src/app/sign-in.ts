import { hasRole } from '@financial-automation/spec/roles';
import { checkAccess } from '../admission/access.ts';
import { isRead, type Operation } from '../contract/contract.ts';
import type { Context, PublicContext } from '../entity/context.ts';
import type { Service } from '../entity/service.ts';
import { rehearse, transact } from '../entity/transact.ts';
import type { Caller, Tenant } from '../platform/auth/caller.ts';
import type { Exchange } from '../wire/exchange.ts';
import { readBearer } from '../wire/headers.ts';

/** Request headers that identify the caller. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly ifMatch: string | undefined;
  /** Whether nothing that the call writes remains. */
  readonly isRehearsal: boolean;
}

/**
 * Authenticates the caller and its tenant by the access token.
 *
 * @throws Rejection `UNAUTHENTICATED`, `TENANT_MISMATCH`, `ACCESS_RESTRICTED`, or `RATE_LIMITED` if the address has failed too often.
 */
export async function signIn(
  open: PublicContext,
  { authorization, ifMatch, isRehearsal }: Credentials,
): Promise<Context> {
  const { tokens, directory, admission } = open.service;
  const claims = await tokens.verifyAccessToken(readBearer(authorization), () =>
    admission.failureLimit.check(open.address),
  );
  const { tenant, caller } = await directory.callerOf(claims, open.tenantName);
  checkAccess(tenant, open);
  return contextOf(open, tenant, caller, ifMatch, isRehearsal);
}

/** The context of a request whose caller is not known yet. */
export function openContext(service: Service, operation: Operation, exchange: Exchange): PublicContext {
  const { id: requestId, traceparent, address } = exchange;
  const clientId = exchange.header('x-client-id');
  // An empty header names no tenant: it is as invalid as a missing one.
  const tenantName = exchange.header('tenant') || undefined;
  const identify = (tenant: string, user: string) => void Object.assign(exchange, { tenant, user });
  return { service, operation, requestId, traceparent, address, clientId, tenantName, identify };
}

/** Creates the context of a handler, bound to one tenant. Changes are audited under this caller. */
export function contextOf(
  open: PublicContext,
  tenant: Tenant,
  caller: Caller,
  ifMatch: string | undefined,
  isRehearsal = false,
): Context {
  const { service, operation, requestId, traceparent } = open;
  const origin = { tenant, caller, operation: operation.id, requestId, traceparent, vault: service.vault };
  return {
    ...open,
    tenant,
    caller,
    ifMatch,
    isRehearsal,
    holds: (roles) => hasRole(caller.roles, roles),
    // What is read before a write must be what the write finds.
    read: (work) => service.store.read(tenant.id, work, isRead(operation) ? 'standby' : 'primary'),
    write: (work) => {
      if (isRead(operation)) throw new Error(`${operation.id} is a read, so it must not write.`);
      return (isRehearsal ? rehearse : transact)(service.store, origin, work);
    },
  };
}
