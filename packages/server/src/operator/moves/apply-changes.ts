import { sql } from 'kysely';
import { UniqueViolation } from '../../platform/store/errors.ts';
import type { Transaction } from '../../platform/store/session.ts';
import type { TenantTable } from '../../platform/store/tenant-tables.ts';
import {
  deleteRowsByKey,
  insertCopiedRows,
  type RowKey,
  readCopiedRows,
  readRowsByKey,
  replaceCopiedRows,
} from '../copies/index.ts';

/** Rows that have changed, by table. */
export type ChangedRows = ReadonlyMap<string, readonly RowKey[]>;

/** How many rows are read and written with one statement. */
const rowsAtOnce = 200;

/** Two sides of a move, both of which see the tenant as of one moment. */
export interface Sides {
  readonly from: Pick<Transaction, 'all'>;
  readonly to: Transaction;
  readonly tenantId: number;
}

/** Copies all rows of some tables, into tables that have none of the tenant. */
export async function copyRows(
  { from, to, tenantId }: Sides,
  tables: readonly TenantTable[],
  progress: (table: string, rows: number) => void,
): Promise<void> {
  for (const table of tables)
    await readCopiedRows(from, table, tenantId, [], async (rows) => {
      await to.all(insertCopiedRows(table, tenantId, `[${rows.map(({ json }) => json).join(',')}]`));
      progress(table.name, rows.length);
    });
}

/**
 * Makes rows that have changed the same in the copy, whether they were inserted, updated or deleted. The copy was the same as of an
 * earlier moment, so it is consistent again afterwards; constraints that can be deferred must be.
 *
 * @throws UniqueViolation or ForeignKeyViolation if rows have exchanged unique values, which no order of single changes reproduces.
 */
export async function applyChanges(sides: Sides, tables: readonly TenantTable[], changed: ChangedRows): Promise<void> {
  const { from, to, tenantId } = sides;
  const gone: (() => Promise<void>)[] = [];
  for (const table of tables) {
    for (const keys of parts(changed.get(table.name) ?? [])) {
      const rows = await readRowsByKey(from, table, tenantId, keys);
      const missing = keys.filter((_, index) => rows[index] === null);
      const present = rows.filter((row) => row !== null);
      const remove = async () => {
        if (missing.length > 0) await to.all(deleteRowsByKey(table, tenantId, missing));
      };
      if (present.length > 0) await replaceRows(sides, table, present, remove);
      // Rows that refer to others go before these.
      gone.unshift(remove);
    }
  }
  for (const remove of gone) await remove();
}

async function replaceRows(
  { to, tenantId }: Sides,
  table: TenantTable,
  rows: readonly string[],
  removeOthers: () => Promise<void>,
): Promise<void> {
  const replace = (some: readonly string[]) =>
    to.savepoint(() => to.all(replaceCopiedRows(table, tenantId, `[${some.join(',')}]`)));
  try {
    await replace(rows);
    return;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
  }
  // A row has a value that another one had before, which was deleted or has another one now.
  await removeOthers();
  for (let left = rows; left.length > 0; ) {
    const rejected: string[] = [];
    let reason: unknown;
    for (const row of left) {
      try {
        await replace([row]);
      } catch (error) {
        if (!(error instanceof UniqueViolation)) throw error;
        reason = error;
        rejected.push(row);
      }
    }
    if (rejected.length === left.length) throw reason;
    left = rejected;
  }
}

/** Replaces all rows of tables that are small, and that processes change for all tenants. */
export async function replaceAllRows(sides: Sides, tables: readonly TenantTable[]): Promise<void> {
  for (const { name } of tables.toReversed())
    await sides.to.all(sql`delete from ${sql.table(name)} where tenant_id = ${sides.tenantId}`);
  await copyRows(sides, tables, () => undefined);
}

function* parts<Value>(values: readonly Value[]): Generator<readonly Value[]> {
  for (let at = 0; at < values.length; at += rowsAtOnce) yield values.slice(at, at + rowsAtOnce);
}
