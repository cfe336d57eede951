import type { Operation } from '../contract/contract.ts';
import type { ContractHandler, OperationId } from '../contract/handler.ts';
import type { Caller, Tenant } from '../platform/auth/caller.ts';
import type { Session } from '../platform/store/store.ts';
import type { Service } from './service.ts';
import type { UnitOfWork } from './unit-of-work.ts';

interface Call {
  readonly service: Service;
  readonly operation: Operation;
  readonly requestId: string;
  /** Trace that the request belongs to (W3C Trace Context), if it has one. */
  readonly traceparent?: string | undefined;
  /** IP address of the caller, taken from `X-Forwarded-For` if the proxy is trusted. */
  readonly address: string;
  /** Value of the `X-Client-Id` header, if present. */
  readonly clientId?: string | undefined;
  /** Value of the `Tenant` header, if present. */
  readonly tenantName: string | undefined;
}

/** Context of a handler without an authenticated caller. */
export interface PublicContext extends Call {
  readonly caller?: undefined;
  /** Names who calls in the log, as soon as the operation knows that, also if it then rejects the call. */
  identify(tenantName: string, user: string): void;
}

/** Context of an authenticated request, with access to data of its own tenant only. */
export interface Context extends Call {
  readonly caller: Caller;
  readonly tenant: Tenant;
  /** Whether the caller has at least one of the roles. */
  holds(roles: readonly string[]): boolean;
  /** The header `If-Match`. */
  readonly ifMatch: string | undefined;
  /** Whether the request is a dry run: `write` leaves nothing, and no other write may. */
  readonly isRehearsal: boolean;
  /** @param isCostly whether it waits until few such reads are in progress; false by default */
  read<T>(work: (session: Session) => Promise<T>, isCostly?: boolean): Promise<T>;
  /**
   * Runs one transaction. Changes by `work` are written to the audit log and the event outbox in it. With an
   * `Idempotency-Key`, the result of `work` is stored in it too, so `work` must return the response of the operation.
   */
  write<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>;
}

export type Handler<Id extends OperationId> = ContractHandler<Id, PublicContext, Context>;
