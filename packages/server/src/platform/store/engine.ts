import type { Pool } from 'pg';
import type { Binding } from './binding.ts';
import type { Limits } from './limits.ts';
import type { Listener } from './listener.ts';
import type { Aside } from './session.ts';
import type { Standbys } from './standbys/index.ts';

/** The interface of the two databases to the store. Only modules of this folder use it. */
export interface Engine {
  readonly name: 'pglite' | 'postgres';
  /** Connections as the owner of the tables; the binding drops these rights before a request uses one. */
  readonly pool: Pool;
  readonly binding: Binding;
  /** Runs a statement for a tenant in a transaction of its own, while others are open; undefined where there is one connection. */
  readonly aside?: ((tenantId: number) => Aside) | undefined;
  readonly limits: Limits;
  /** Undefined if all reads run on the same server as writes. */
  readonly standbys?: Standbys | undefined;
  /** Receives notifications of a channel. Some of them may be missed. */
  listen(channel: string, onNotification: (payload: string) => void): Promise<Listener>;
  /**
   * Checks that the database responds, without waiting for work of tenants, and that its clock is that of this process.
   *
   * @throws DatabaseUnavailable if it does not; WrongClock
   */
  check(): Promise<void>;
  /** Returns memory that large work has taken. Only an embedded database has it. */
  readonly freeMemory?: () => Promise<void>;
  close(): Promise<void>;
}
