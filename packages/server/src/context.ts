import type { Caller, Tenant } from './auth/caller.ts';
import type { Operation } from './contract/contract.ts';
import type { Handler as ContractHandler, OperationId } from './contract/handler.ts';
import type { UnitOfWork } from './entity/unit-of-work.ts';
import type { Service } from './service.ts';
import type { Session } from './store/store.ts';

/** What every call has. */
interface Call {
  readonly service: Service;
  readonly operation: Operation;
  readonly requestId: string;
  /** The trace that the call belongs to (W3C Trace Context), if it named one. */
  readonly traceparent?: string | undefined;
  /** The IP address of the caller, as far as proxies are trusted. */
  readonly address: string;
  /** The value of the `Tenant` header, if one came. */
  readonly tenantName: string | undefined;
}

/** What a handler has where nobody is signed in yet. */
export interface PublicContext extends Call {
  readonly caller?: undefined;
}

/** What every other handler has. It reaches data of its own tenant only. */
export interface Context extends Call {
  readonly caller: Caller;
  readonly tenant: Tenant;
  /** Whether the caller has one of the roles. */
  holds(roles: readonly string[]): boolean;
  /** The version that `If-Match` asks for; undefined where the header is absent or `*`. */
  readonly ifMatch: readonly number[] | undefined;
  read<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /**
   * One transaction. What `work` changes is written to the audit log and the event outbox in it; with an `Idempotency-Key`, what `work` returns is
   * kept in it too, so `work` returns the result of the operation.
   */
  write<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>;
}

export type Handler<Id extends OperationId> = ContractHandler<Id, PublicContext, Context>;
