import { sql } from 'kysely';
import { DatabaseUnavailable, reasonOf, TenantMoving } from '../errors.ts';
import type { StoreLog } from '../limits.ts';
import { type Cell, homeCell, type Store } from '../store.ts';
import { finishMove } from './finish-move.ts';

/**
 * IDs of tenants start at the number of the database that creates them times this, so an ID leads to its database. Tenants that have
 * moved keep their IDs, and are listed in the directory.
 */
export const tenantsOfCell = 10_000_000;

interface KnownCell {
  readonly name: string;
  readonly url: string;
  store: Store | undefined;
  isReady: boolean;
  work: Promise<void> | undefined;
}

export interface CellsOptions {
  readonly open: (url: string) => Promise<Store>;
  readonly decrypt: (encrypted: Buffer) => string;
  readonly log: StoreLog;
}

/** How often work for a tenant follows it to another database. */
const maxMoves = 3;

/** How often the directory is read, and databases are checked, in milliseconds. */
const lookEvery = 4_000;

/**
 * Tenants that are spread over several databases. Everything about a tenant happens in its own one, and what belongs to no tenant in
 * the first one, which has the directory. If another one is unavailable, only its tenants are.
 */
export class Cells implements Store {
  readonly #home: Store;
  readonly #options: CellsOptions;
  readonly #others = new Map<number, KnownCell>();
  readonly #watchers: ((cell: Cell) => void)[] = [];
  /** The databases of tenants that have moved, by their IDs. */
  #moved: ReadonlyMap<number, number> = new Map();
  readonly #following = new Map<number, Promise<number | undefined>>();
  #timer: NodeJS.Timeout | undefined;

  private constructor(home: Store, options: CellsOptions) {
    this.#home = home;
    this.#options = options;
  }

  /** Opens all databases of the directory that are available. */
  static async open(home: Store, options: CellsOptions): Promise<Cells> {
    const cells = new Cells(home, options);
    await cells.look();
    return cells;
  }

  /** Reads the directory from now on, opens databases that were added, and tries those again that were unavailable. */
  keepLooking(): void {
    this.#timer ??= setInterval(() => {
      this.look().catch((error: unknown) =>
        this.#options.log.warn(`Reading the directory of tenants failed: ${reasonOf(error)}.`),
      );
    }, lookEvery);
    this.#timer.unref();
  }

  async look(): Promise<void> {
    const { rows, moved } = await this.#home.system(async (transaction) => ({
      rows: await transaction.all<{ number: number; name: string; encrypted: Buffer }>(
        sql`select number, name, url_encrypted as encrypted from cell order by number`,
      ),
      moved: await transaction.all<{ tenant: number; cell: number; isMoving: boolean }>(
        sql`select tenant, cell, moves_to is not null as "isMoving" from tenant_place where tenant is not null`,
      ),
    }));
    this.#moved = new Map(moved.map(({ tenant, cell }) => [tenant, cell]));
    for (const { number, name, encrypted } of rows) {
      const url = this.#options.decrypt(encrypted);
      const known = this.#others.get(number);
      if (known?.url === url) continue;
      // Requests in progress keep the connections that they have.
      void known?.store?.close();
      this.#others.set(number, { name, url, store: undefined, isReady: false, work: undefined });
    }
    await Promise.all([...this.#others].map(([number, cell]) => this.#check(number, cell)));
    // If the command that moves a tenant was killed after the switch, nothing else may follow it.
    for (const { tenant, cell, isMoving } of moved) {
      if (!isMoving) continue;
      await this.follow(tenant, cell).catch((error: unknown) =>
        this.#options.log.warn(`Finishing the move of a tenant failed: ${messageOf(error)}`),
      );
    }
  }

  /**
   * Finishes the move of a tenant if it has left a database, and remembers where it is.
   *
   * @returns whether it has left
   * @throws DatabaseUnavailable if a database is unavailable
   */
  async follow(tenantId: number, from: number): Promise<boolean> {
    const cell = await this.#following.getOrInsertComputed(tenantId, () =>
      finishMove(this, from, tenantId).finally(() => this.#following.delete(tenantId)),
    );
    if (cell === undefined) return false;
    this.#moved = new Map(this.#moved).set(tenantId, cell);
    return true;
  }

  /** Runs work in the database of the tenant. If the tenant has left it, the work runs again in the other one. */
  async #inCellOf<Result>(tenantId: number, work: (store: Store) => Promise<Result>): Promise<Result> {
    for (let move = 1; ; move++) {
      const number = this.numberOf(tenantId);
      try {
        return await work(this.cell(number));
      } catch (error) {
        if (!(error instanceof TenantMoving) || move > maxMoves) throw error;
        if (this.numberOf(tenantId) === number && !(await this.follow(tenantId, number))) throw error;
      }
    }
  }

  /** The number of the database of a tenant. */
  numberOf(tenantId: number): number {
    return this.#moved.get(tenantId) ?? Math.floor(tenantId / tenantsOfCell);
  }

  #check(number: number, cell: KnownCell): Promise<void> {
    cell.work ??= this.#openOrCheck(number, cell).finally(() => {
      cell.work = undefined;
    });
    return cell.work;
  }

  /** Never rejects. */
  async #openOrCheck(number: number, cell: KnownCell): Promise<void> {
    const { log, open } = this.#options;
    try {
      if (cell.store === undefined) {
        cell.store = await open(cell.url);
        for (const watcher of this.#watchers) watcher({ ...cell, number });
      }
      await cell.store.ready();
      if (!cell.isReady) log.info(`Database ${cell.name} available.`);
      cell.isReady = true;
    } catch (error) {
      log.warn(`Database ${cell.name} and its tenants unavailable: ${messageOf(error)}`);
      cell.isReady = false;
    }
  }

  get cells(): readonly Cell[] {
    const home = { number: 0, name: homeCell, store: this.#home, isReady: true };
    return [home, ...[...this.#others].map(([number, { name, store, isReady }]) => ({ number, name, store, isReady }))];
  }

  /** Calls the function for each database that is open, and later for each that is opened. */
  watch(handle: (cell: Cell) => void): void {
    this.#watchers.push(handle);
    for (const cell of this.cells) if (cell.store !== undefined) handle(cell);
  }

  cell(number: number): Store {
    if (number === 0) return this.#home;
    const { name, store, isReady } = this.#others.get(number) ?? {};
    // Requests that wait for a database that does not respond would take the connections of those for others.
    if (store === undefined || isReady !== true)
      throw new DatabaseUnavailable(`The database ${name ?? number} is unavailable.`);
    return store;
  }

  cellOf(tenantId: number): Store {
    return this.cell(this.numberOf(tenantId));
  }

  get engine(): Store['engine'] {
    return this.#home.engine;
  }

  get standbys(): Store['standbys'] {
    return this.#home.standbys;
  }

  read: Store['read'] = (tenantId, work, from) => this.#inCellOf(tenantId, (store) => store.read(tenantId, work, from));

  write: Store['write'] = (tenantId, work) => this.#inCellOf(tenantId, (store) => store.write(tenantId, work));

  get owner(): Store['owner'] {
    return this.#home.owner;
  }

  system: Store['system'] = (work) => this.#home.system(work);

  writeNew: Store['writeNew'] = (insert, work) => this.#home.writeNew(insert, work);

  snapshot: Store['snapshot'] = (find, work) => this.#home.snapshot(find, work);

  ownerStatements: Store['ownerStatements'] = (text, values) => this.#home.ownerStatements(text, values);

  listen: Store['listen'] = (channel, onNotification) => this.#home.listen(channel, onNotification);

  notify(channel: string, payload: string): void {
    this.#home.notify(channel, payload);
  }

  ready(): Promise<void> {
    return this.#home.ready();
  }

  /** Closes the other databases. Whoever has opened the first one closes it. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(
      [...this.#others.values()].map(async (cell) => {
        await cell.work;
        await cell.store?.close();
      }),
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
