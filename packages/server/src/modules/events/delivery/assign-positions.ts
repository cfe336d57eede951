import { sql } from 'kysely';
import type { Logger } from 'pino';
import { DatabaseUnavailable } from '../../../platform/store/errors.ts';
import type { Store } from '../../../platform/store/store.ts';

/** How many events get their positions in one transaction. It locks nothing that a write of the tenant needs. */
const mostAtOnce = 500;

/** Gives recorded events their positions in the feed of their tenant, which makes the partitions due that they concern. */
export class PositionAssigner {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #onDue: () => void;
  /** Tenants whose events are getting their positions; `true` where more have been recorded since. */
  readonly #tenants = new Map<number, boolean>();
  readonly #running = new Set<Promise<void>>();
  #stopped = false;

  /** @param onDue is called when partitions have become due. */
  constructor(store: Store, log: Logger, onDue: () => void) {
    this.#store = store;
    this.#log = log;
    this.#onDue = onDue;
  }

  /** To be called when events of a tenant may have been recorded. */
  wake(tenantId: number): void {
    if (this.#stopped) return;
    if (this.#tenants.has(tenantId)) {
      this.#tenants.set(tenantId, true);
      return;
    }
    const running: Promise<void> = this.#assign(tenantId).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Looks for events of which no notification came: after a crash, or from another process. */
  async lookForAll(): Promise<void> {
    const { rows } = await this.#store.ownerStatements('select * from tenants_with_new_events() as tenant');
    for (const { tenant } of rows) this.wake(Number(tenant));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #assign(tenantId: number): Promise<void> {
    try {
      let again = true;
      while (again && !this.#stopped) {
        this.#tenants.set(tenantId, false);
        const result = await this.#store.write(tenantId, (transaction) =>
          transaction.first(
            sql<{ assigned: number; partitions: number }>`select * from assign_event_positions(${mostAtOnce})`,
          ),
        );
        if (result !== undefined && result.partitions > 0) this.#onDue();
        again = result?.assigned === mostAtOnce || this.#tenants.get(tenantId) === true;
      }
    } catch (error) {
      // The events stay where they are, and are found by the next look.
      const level = error instanceof DatabaseUnavailable ? 'warn' : 'error';
      this.#log[level]({ err: error }, 'Events got no positions. It is tried again within seconds.');
    } finally {
      this.#tenants.delete(tenantId);
    }
  }
}
