import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { newId } from './store/new-id.ts';
import type { Store } from './store/store.ts';
import type { TenantBound } from './tenant-bound.ts';

/** How often a process tells that it serves, and while tenants are busy in it, in milliseconds. */
const [restingInterval, busyInterval] = [5_000, 1_000];
/** A process that was not seen for so long has ended, in seconds. */
const lostAfter = 15;

/** Tells the other processes of the database which tenants are busy here, and learns where else they are. */
export class Heartbeat {
  readonly #store: Store;
  readonly #busyTenants: () => readonly string[];
  readonly #bound: TenantBound;
  readonly #process = newId();
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** @param busyTenants those with several requests at a time since the last call */
  constructor(store: Store, busyTenants: () => readonly string[], bound: TenantBound) {
    this.#store = store;
    this.#busyTenants = busyTenants;
    this.#bound = bound;
  }

  /** Beats until it is stopped. The first beat comes before any request. */
  async start(): Promise<void> {
    await this.beat().catch(() => undefined);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
    await this.#store.owner
      .all(sql`delete from process_heartbeat where process = ${this.#process}`)
      .catch(() => undefined);
  }

  /** @throws DatabaseUnavailable; then what was known before holds */
  async beat(busy: readonly string[] = this.#busyTenants()): Promise<void> {
    const seen = await this.#store.owner.first<Seen>(this.#exchange([...busy]));
    if (seen !== undefined) this.#bound.learn({ others: seen.others, busy: new Map(Object.entries(seen.busy)) });
  }

  async #run(): Promise<void> {
    let beatAt = performance.now();
    let wasBusy = false;
    while (!this.#ended.signal.aborted) {
      await pause(busyInterval, undefined, { signal: this.#ended.signal, ref: false }).catch(() => undefined);
      if (this.#ended.signal.aborted) return;
      const busy = this.#busyTenants();
      const isBusy = busy.length > 0;
      // Once more after the last busy second, so that the others take what is free.
      if (isBusy || wasBusy || performance.now() - beatAt >= restingInterval) {
        beatAt = performance.now();
        // Without the database there are no requests to limit either.
        await this.beat(busy).catch(() => undefined);
      }
      wasBusy = isBusy;
    }
  }

  #exchange(busy: string[]) {
    const others = sql`process <> ${this.#process} and seen_at > now() - make_interval(secs => ${lostAfter})`;
    return sql<Seen>`
      with lost as (
        delete from process_heartbeat where seen_at < now() - interval '1 hour'
      ), own as (
        insert into process_heartbeat (process, busy_tenants, seen_at) values (${this.#process}, ${busy}, now())
        on conflict (process) do update set busy_tenants = excluded.busy_tenants, seen_at = excluded.seen_at
      )
      select (select count(*)::integer from process_heartbeat where ${others}) as others,
        (select coalesce(json_object_agg(tenant, json_build_object('others', others, 'before', before)), '{}') from (
          select mine.tenant, count(theirs.process)::integer as others,
            count(theirs.process) filter (where theirs.process < ${this.#process})::integer as before
          from unnest(${busy}::text[]) mine (tenant)
          left join (select process, unnest(busy_tenants) as tenant from process_heartbeat where ${others}) theirs
            on theirs.tenant = mine.tenant
          group by mine.tenant) counted) as busy`;
  }
}

interface Seen {
  readonly others: number;
  readonly busy: Readonly<Record<string, { readonly others: number; readonly before: number }>>;
}
