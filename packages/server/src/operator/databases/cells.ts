import { sql } from 'kysely';
import { signingKeyPurpose } from '../../platform/auth/key-ring.ts';
import type { Vault } from '../../platform/auth/vault.ts';
import { type Config, databaseOf } from '../../platform/process/config.ts';
import { Cells, tenantsOfCell } from '../../platform/store/databases/index.ts';
import { DatabaseError, UniqueViolation } from '../../platform/store/errors.ts';
import { type Limits, type StoreLog, silentLog } from '../../platform/store/limits.ts';
import { recordOperatorAct } from '../../platform/store/operator-log.ts';
import { homeCell, openEngine, openStore, type Store, type StoreOptions } from '../../platform/store/store.ts';
import type { Operator, OperatorOf } from '../operator.ts';
import { noDatabase } from './placement.ts';

/** The purpose of the key that encrypts the addresses of databases. */
export const urlPurpose = 'cell-url';

/**
 * Opens the databases of the directory. The embedded database has no directory, and a restored one does not use that of the installation
 * from which it was copied.
 */
export async function openCells(
  config: Config,
  home: Store,
  vault: Vault,
  log: StoreLog,
  limits: Partial<Limits> = {},
): Promise<Store> {
  return (await isRestored(home)) ? home : openAllCells(config, home, vault, log, limits);
}

/** Whether the database is a copy that no operator has adopted. The first process of an installation adopts its database. */
export async function isRestored(home: Store): Promise<boolean> {
  if (home.engine === 'pglite') return false;
  const found = await home.system(async (transaction) => {
    await transaction.all(sql`insert into installation (database) values (present_database()) on conflict do nothing`);
    return transaction.first(sql`select from installation where database <> present_database()`);
  });
  return found !== undefined;
}

/** Opens all databases of the directory. */
export async function openAllCells(
  config: Config,
  home: Store,
  vault: Vault,
  log: StoreLog,
  limits: Partial<Limits> = {},
): Promise<Store> {
  if (home.engine === 'pglite') return home;
  const options = databaseOf(config);
  return Cells.open(home, {
    open: (databaseUrl) =>
      openStore({
        ...options,
        limits: { ...options.limits, ...limits },
        databaseUrl,
        standbyUrls: [],
        isClock: false,
        log,
      }),
    decrypt: (encrypted) => vault.decryptOwn(urlPurpose, encrypted),
    log,
  });
}

/**
 * Returns the other databases of the directory, whatever migrations it has.
 *
 * @throws Error with a sentence if the database was set up with another master key
 */
export async function cellsIn(options: StoreOptions, vault: Vault): Promise<{ name: string; url: string }[]> {
  const engine = await openEngine(options, silentLog);
  try {
    const { rows: found } = await engine.pool.query(`
      select to_regclass('cell') is not null as exists, to_regclass('installation') is not null as "hasInstallation",
        to_regclass('signing_key') is not null as "hasKeys"`);
    if (found[0]?.hasKeys === true) {
      const { rows: keys } = await engine.pool.query(`
        select private_jwk_encrypted as encrypted from signing_key where retired_at is null order by created_at desc, kid limit 1`);
      for (const { encrypted } of keys) vault.decryptOwn(signingKeyPurpose, encrypted);
    }
    if (found[0]?.exists !== true) return [];
    if (found[0]?.hasInstallation === true) {
      const { rows: restored } = await engine.pool.query(
        'select from installation where database <> present_database()',
      );
      if (restored.length > 0) return [];
    }
    const { rows } = await engine.pool.query('select name, url_encrypted as encrypted from cell order by number');
    return rows.map(({ name, encrypted }) => ({ name, url: vault.decryptOwn(urlPurpose, encrypted) }));
  } finally {
    await engine.close();
  }
}

export interface CellRequest {
  readonly name: string;
  readonly url: string;
}

/**
 * Adds an empty database to the directory: applies the migrations, and gives its tenants IDs of their own. Serving processes open it
 * within seconds.
 *
 * @throws Error with a sentence if it cannot be added.
 */
export async function addCell({ service }: Operator, { name, url }: CellRequest): Promise<{ number: number }> {
  const { store, vault } = service;
  if (store.engine === 'pglite')
    throw new Error('The embedded database cannot be the directory of others. Set DATABASE_URL.');
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(name) || name === homeCell)
    throw new Error(
      `The name of a database has up to 63 of a-z, 0-9, - and _, starts with a letter, and is not ${homeCell}.`,
    );
  const added = await atAddress(() =>
    openStore({ databaseUrl: checkedAddress(url), poolSize: 2, migrations: 'apply', isClock: false }),
  );
  try {
    await added.ready();
    const present = await presentDatabaseOf(added);
    for (const cell of store.cells)
      if (cell.isReady && (await presentDatabaseOf(store.cell(cell.number))) === present)
        throw new Error(`The directory has this database already: it is ${cell.name}.`);
    return await store.system(async (transaction) => {
      // One after the other, so that each gets a number of its own.
      await transaction.all(sql`lock table cell in share row exclusive mode`);
      // The number of one that was removed stays used, because tenants that have left it keep their IDs.
      const next = await transaction.first<{ number: number }>(sql`
        select coalesce(max(number), 0) + 1 as number from (
          select number from cell
          union all select (details ->> 'number')::integer from operator_log where operation = 'cell add') used`);
      const number = next?.number ?? 1;
      await added.system(async (other) => {
        const used = await other.first(sql`select from tenant union all select from cell limit 1`);
        if (used !== undefined) throw new Error('The database has tenants, or is a directory. Add an empty one.');
        await other.all(sql`select setval(pg_get_serial_sequence('tenant', 'id'), ${number * tenantsOfCell})`);
      });
      await transaction.all(sql`
        insert into cell (number, name, url_encrypted) values (${number}, ${name}, ${vault.encrypt(urlPurpose, url)})`);
      await recordOperatorAct(transaction, { operation: 'cell add', subject: name, details: { number } });
      return { number };
    });
  } catch (error) {
    if (error instanceof UniqueViolation) throw new Error(`The database ${name} is in the directory already.`);
    throw error;
  } finally {
    await added.close();
  }
}

/**
 * Changes where a database of the directory is, such as after a restore. Processes use the new address from their next start on.
 *
 * @throws Error with a sentence if the directory does not have the database, or it is not at the address.
 */
export async function setCellAddress({ service }: Operator, { name, url }: CellRequest): Promise<null> {
  const { store, vault } = service;
  checkedAddress(url);
  return store.system(async (transaction) => {
    const changed = await transaction.first<{ number: number }>(sql`
      update cell set url_encrypted = ${vault.encrypt(urlPurpose, url)} where name = ${name} returning number`);
    if (changed === undefined) throw new Error(noDatabase(name));
    if ((await numberAt(url)) !== changed.number)
      throw new Error(`The database at this address is not ${name}. Set CELL_DATABASE_URL to the address of ${name}.`);
    await recordOperatorAct(transaction, { operation: 'cell set-address', subject: name, details: {} });
    return null;
  });
}

/**
 * Removes a database from the directory, such as one that was added by mistake. Nothing in it changes. Processes use it until their next
 * start.
 *
 * @throws Error with a sentence if the directory does not have the database, or a tenant is in it or moves to it.
 */
export async function removeCell({ service: { store } }: Operator, { name }: Pick<CellRequest, 'name'>): Promise<null> {
  const cell = store.cells.find((one) => one.name === name);
  // One that is unavailable can be the wrong one. What the directory says of it is checked below.
  const inIt = cell?.isReady === true && cell.number !== 0 ? await firstTenantOf(store.cell(cell.number)) : undefined;
  return store.system(async (transaction) => {
    await transaction.all(sql`lock table cell, tenant_place in share row exclusive mode`);
    const removed = await transaction.first<{ number: number }>(
      sql`delete from cell where name = ${name} returning number`,
    );
    if (removed === undefined) throw new Error(noDatabase(name));
    const placed = await transaction.first<{ name: string }>(sql`
      select name from tenant_place where renamed_to is null and ${removed.number} in (cell, moves_to) order by name`);
    const tenant = placed?.name ?? inIt;
    if (tenant !== undefined)
      throw new Error(
        `The database ${name} has the tenant ${tenant}, or a copy of it. "operator tenant list" shows where it is. Move or delete it first.`,
      );
    await recordOperatorAct(transaction, { operation: 'cell remove', subject: name, details: removed });
    return null;
  });
}

async function firstTenantOf(store: Store): Promise<string | undefined> {
  const found = await store.owner.first<{ name: string }>(sql`select name from tenant order by name limit 1`);
  return found?.name;
}

/** The number that a database got when it was added to its directory, which its IDs of tenants show; 0 for any other. */
async function numberAt(databaseUrl: string): Promise<number> {
  const engine = await atAddress(() => openEngine({ databaseUrl, poolSize: 1, isClock: false }, silentLog));
  try {
    const { rows } = await engine.pool.query(
      `select coalesce(pg_sequence_last_value(to_regclass('tenant_id_seq')), 0) / ${tenantsOfCell} as number`,
    );
    return Number(rows[0]?.number);
  } finally {
    await engine.close();
  }
}

function checkedAddress(url: string): string {
  if (/^postgres(ql)?:/.test(url) && URL.canParse(url)) return url;
  throw new Error(
    'Set CELL_DATABASE_URL to the address of the database, such as postgres://user:password@host:5432/database.',
  );
}

/** Opens what CELL_DATABASE_URL names, so that a failure does not say to correct DATABASE_URL. */
async function atAddress<Opened>(open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof DatabaseError) error.message = error.message.replaceAll('DATABASE_URL', 'CELL_DATABASE_URL');
    throw error;
  }
}

async function presentDatabaseOf(store: Store): Promise<string | undefined> {
  const found = await store.owner.first<{ database: string }>(sql`select present_database() as database`);
  return found?.database;
}

export interface CellSummary {
  readonly number: number;
  readonly name: string;
  readonly state: 'available' | 'unavailable';
  readonly tenants: number;
}

/** The databases of the directory, with the number of their tenants. */
export async function listCells({ service: { store } }: OperatorOf<'store'>): Promise<CellSummary[]> {
  const placed = await store.owner.all<{ cell: number; tenants: number }>(
    sql`select cell, count(*) as tenants from tenant_place where renamed_to is null group by cell`,
  );
  return store.cells.map(({ number, name, isReady }) => ({
    number,
    name,
    state: isReady ? 'available' : 'unavailable',
    tenants: placed.find(({ cell }) => cell === number)?.tenants ?? 0,
  }));
}
