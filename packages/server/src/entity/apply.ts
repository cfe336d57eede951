import { type RawBuilder, sql } from 'kysely';
import { type Field, membersOf } from '../contract/fields.ts';
import type { ItemRejection } from '../contract/rejection.ts';
import { CheckViolation, ForeignKeyViolation, UniqueViolation } from '../platform/store/errors.ts';
import type { Transaction } from '../platform/store/store.ts';
import { type ConstraintError, explain } from './constraints.ts';
import { membersShown, writtenMembers } from './embed.ts';
import type { AnyEntity, Embed, Owned, OwnedLink } from './model.ts';
import type { PendingRow, PendingRows, PlainRow } from './pending-rows.ts';
import type { AnyRow, AnyStoredRow } from './row.ts';
import { isChanged, isFieldChanged } from './row-changes.ts';
import { type JsonRow, jsonColumn, readRows } from './select.ts';
import { asJson, sameValue } from './values.ts';
import { inWriteOrder } from './write-order.ts';

type Columns = Readonly<Record<string, unknown>>;

/** A constraint of the database rejected one of these rows. */
export class RejectedRows extends Error {
  override readonly name = 'RejectedRows';
  readonly error: ConstraintError;
  readonly rows: readonly { readonly entity: AnyEntity; readonly pointer: string }[];

  constructor(error: ConstraintError, rows: RejectedRows['rows']) {
    super(error.message, { cause: error });
    this.error = error;
    this.rows = rows;
  }

  /** The rejection of the rejected row if it is known; otherwise of the first row. */
  get rejection(): ItemRejection {
    const [row] = this.rows;
    if (row === undefined) throw this.error;
    return explain(row.entity, this.error).under(row.pointer);
  }
}

export interface ApplyOptions {
  readonly tenantId: number;
  readonly now: string;
  /**
   * Whether the row already has a new version in this transaction: all changes of a row in a transaction count as one.
   */
  readonly hasNewVersion: (row: PendingRow) => boolean;
  /** Writes each row in a separate statement, to find the one that a constraint rejects. */
  readonly oneByOne: boolean;
}

/** The result of writing planned changes. */
export interface Applied {
  readonly changed: readonly PendingRow[];
  /** The changed rows as they are stored now, as far as they are known without another read. */
  readonly stored: ReadonlyMap<AnyEntity, readonly AnyStoredRow[]>;
}

/**
 * Writes planned changes with one statement per table. The changed rows are already locked.
 *
 * @throws RejectedRows if a constraint of the database rejects a row.
 */
export async function applyChanges(
  transaction: Transaction,
  pending: PendingRows,
  options: ApplyOptions,
): Promise<Applied> {
  const changed = [...pending.all()].filter(needsWrite);
  const byKey = Map.groupBy(changed, ({ entity }) => entity.key);
  const entities = inWriteOrder([...byKey.values()].flatMap(([first]) => (first === undefined ? [] : [first.entity])));
  const plain = [...pending.plainRows()].sort((one, other) => (keyText(one) < keyText(other) ? -1 : 1));
  const tables = new Set([...entities.map(({ table }) => table), ...plain.map(({ table }) => table)]);
  const writer = new Writer(transaction, options);
  const stored = new Map<AnyEntity, readonly AnyStoredRow[]>();
  for (const rows of Map.groupBy(plain, ({ table }) => table).values())
    await writer.delete(rows.filter((row) => row.replaces));
  for (const entity of entities) {
    const rows = byKey.get(entity.key) ?? [];
    const returning = isSettledWith(entity, tables) ? sql` returning ${jsonColumn(entity)}` : sql``;
    const updated = await writer.update(entity, rows.filter(isStored), returning);
    const inserted = await writer.insert(entity, rows.filter(isNew), returning);
    stored.set(entity, [...updated, ...inserted]);
    for (const [field, owned] of entity.owned) await writer.replaceOwned(entity, field, owned, rows);
  }
  for (const rows of Map.groupBy(plain, ({ table }) => table).values()) await writer.insertPlain(rows);
  await writer.claimReferences(changed);
  return { changed, stored };
}

interface StoredPendingRow extends PendingRow {
  readonly loaded: NonNullable<PendingRow['loaded']>;
}

function isStored(row: PendingRow): row is StoredPendingRow {
  return row.loaded !== undefined;
}

function isNew(row: PendingRow): boolean {
  return row.loaded === undefined;
}

function needsWrite({ entity, loaded, row, isTouched, privateColumns }: PendingRow): boolean {
  if (loaded === undefined || isTouched || Object.keys(privateColumns).length > 0) return true;
  return isChanged(entity, loaded.row, row);
}

/** Whether all values that a response includes are written with the row, or were before this transaction. */
function isSettledWith({ showsBesides, embeds, sumsUp }: AnyEntity, written: ReadonlySet<string>): boolean {
  const isWritten = (table: string) => written.has(table);
  const isSettled = (embed: Embed, field: Field): boolean => {
    const { table, sumsUp: summed, ownFields } = embed.to();
    if ([table, ...summed].some(isWritten)) return false;
    return membersShown(embed, field).every(({ name, member, embed: nested }) =>
      nested === undefined ? ownFields.some((own) => own.name === name) : isSettled(nested, member),
    );
  };
  const isEverySettled = [...embeds].every(([field, embed]) => isSettled(embed, field));
  return showsBesides !== 'anything' && !sumsUp.some(isWritten) && isEverySettled;
}

class Writer {
  readonly #transaction: Transaction;
  readonly #options: ApplyOptions;

  constructor(transaction: Transaction, options: ApplyOptions) {
    this.#transaction = transaction;
    this.#options = options;
  }

  async insert(
    entity: AnyEntity,
    rows: readonly PendingRow[],
    returning: RawBuilder<unknown>,
  ): Promise<AnyStoredRow[]> {
    const inserted = rows.map((pending) => ({
      pending,
      columns: { ...columnsOf(entity, entity.ownFields, pending.row), ...pending.privateColumns },
    }));
    // In the order of their keys, so that concurrent requests with the same keys wait for each other instead of causing a
    // deadlock.
    inserted.sort((one, other) => (one.pending.row.systemRef < other.pending.row.systemRef ? -1 : 1));
    const stored: AnyStoredRow[] = [];
    // Columns without a value get their defaults.
    for (const group of Map.groupBy(inserted, ({ columns }) => Object.keys(columns).join()).values())
      stored.push(...(await this.#write(group, (columns) => this.#insertInto(entity.table, columns, returning))));
    return stored;
  }

  async update(
    entity: AnyEntity,
    rows: readonly StoredPendingRow[],
    returning: RawBuilder<unknown>,
  ): Promise<AnyStoredRow[]> {
    const fields = entity.ownFields.filter((field) => !systemFields.has(field.name));
    const stored: AnyStoredRow[] = [];
    for (const group of Map.groupBy(rows, (row) => Object.keys(row.privateColumns).join()).values()) {
      const changed = fields.filter((field) =>
        group.some(({ loaded, row }) => isFieldChanged(entity, field, loaded.row, row)),
      );
      const updated = group.map((pending) => {
        const { hasNewVersion, now } = this.#options;
        const steps = hasNewVersion(pending) ? 0 : 1;
        const version = pending.row.version + steps;
        const columns = {
          id: pending.id,
          version,
          updated_at: timeOfChange(pending.loaded.stored.updatedAt, now, steps),
        };
        return {
          pending,
          columns: { ...columns, ...columnsOf(entity, changed, pending.row), ...pending.privateColumns },
        };
      });
      stored.push(...(await this.#write(updated, (columns) => this.#updateTable(entity.table, columns, returning))));
    }
    return stored;
  }

  /** Replaces the owned rows of rows whose list has changed. */
  async replaceOwned(entity: AnyEntity, field: Field, owned: Owned, rows: readonly PendingRow[]): Promise<void> {
    const { tenantId } = this.#options;
    const { links = {} } = owned;
    const members = writtenMembers(owned, field).filter(({ name }) => links[name] === undefined);
    const changed = rows.filter(
      ({ loaded, row }) => loaded === undefined || isFieldChanged(entity, field, loaded.row, row),
    );
    const stored = changed.filter(isStored).map(({ id }) => id);
    if (stored.length > 0) {
      await this.#transaction.all(sql`
        delete from ${sql.table(owned.table)} where tenant_id = ${tenantId} and ${sql.ref(owned.owner)} = any(${stored})`);
    }
    const children = changed.flatMap((pending) =>
      objectsIn(pending.row[field.name]).map((element, position) => {
        const columns: Record<string, unknown> = { [owned.owner]: pending.id, position };
        for (const member of members) columns[member.column] = asJson(member, element[member.name]) ?? null;
        return { pending, columns };
      }),
    );
    await this.#write(children, (columns) => this.#insertInto(owned.table, columns));
    for (const [name, link] of Object.entries(links)) await this.#insertLinks(field, name, link, changed);
  }

  /** Inserts the references of owned rows. Those of replaced rows were deleted with them. */
  async #insertLinks(field: Field, name: string, link: OwnedLink, rows: readonly PendingRow[]): Promise<void> {
    const references = rows.flatMap((pending) =>
      objectsIn(pending.row[field.name]).flatMap((element) =>
        listOf(element[name]).map((reference, position) => ({
          pending,
          columns: { [link.owner]: element.id, position, [link.column]: reference },
        })),
      ),
    );
    await this.#write(references, (columns) => this.#insertInto(link.table, columns));
  }

  async delete(rows: readonly PlainRow[]): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const columns = sql.join(Object.keys(first.key).map((name) => sql.ref(name)));
    await this.#transaction.all(sql`
      delete from ${sql.table(first.table)} where tenant_id = ${this.#options.tenantId} and (${columns}) in (
        select ${columns} from ${recordset(
          first.table,
          rows.map((row) => row.key),
        )})`);
  }

  async insertPlain(rows: readonly PlainRow[]): Promise<void> {
    const inserted = rows.flatMap((pending) =>
      pending.columns === undefined ? [] : [{ pending, columns: { ...pending.key, ...pending.columns } }],
    );
    await this.#write(inserted, (columns) => this.#insertInto(rows[0]?.table ?? '', columns));
  }

  /** References of other systems are unique by type and system. Those that rows give up are free for others of the same transaction. */
  async claimReferences(rows: readonly PendingRow[]): Promise<void> {
    const changed = rows.filter(({ loaded, row }) => !sameValue(loaded?.row.sysRefs ?? [], row.sysRefs));
    const stored = changed.filter(isStored);
    if (stored.length > 0) {
      await this.#transaction.all(sql`
        delete from entity_ref where tenant_id = ${this.#options.tenantId}
          and entity_type = any(${[...new Set(stored.map(({ entity }) => entity.type))]})
          and entity_id = any(${stored.map(({ id }) => id)})`);
    }
    const claims = changed.flatMap((pending) =>
      objectsIn(pending.row.sysRefs).map(({ system, ref }) => ({
        pending,
        columns: { entity_type: pending.entity.type, system, ref, entity_id: pending.id },
      })),
    );
    await this.#write(claims, (columns) => this.#insertInto('entity_ref', columns));
  }

  #insertInto(table: string, rows: readonly Columns[], returning: RawBuilder<unknown> = sql``): RawBuilder<JsonRow> {
    const columns = sql.join(Object.keys(rows[0] ?? {}).map((name) => sql.ref(name)));
    return sql`
      insert into ${sql.table(table)} as e (tenant_id, ${columns})
      select ${this.#options.tenantId}, ${columns} from ${recordset(table, rows)}${returning}`;
  }

  #updateTable(table: string, rows: readonly Columns[], returning: RawBuilder<unknown>): RawBuilder<JsonRow> {
    const assignments = Object.keys(rows[0] ?? {})
      .filter((name) => name !== 'id')
      .map((name) => sql`${sql.ref(name)} = ${sql.ref(`r.${name}`)}`);
    return sql`
      update ${sql.table(table)} e set ${sql.join(assignments)} from ${recordset(table, rows)}
      where e.tenant_id = ${this.#options.tenantId} and e.id = r.id${returning}`;
  }

  /** Runs one statement for all rows, or one per row to find the one that a constraint rejects. */
  async #write<Source extends { readonly entity: AnyEntity; readonly pointer: string }>(
    rows: readonly { readonly pending: Source; readonly columns: Columns }[],
    statement: (columns: readonly Columns[]) => RawBuilder<JsonRow>,
  ): Promise<AnyStoredRow[]> {
    const groups = this.#options.oneByOne ? rows.map((row) => [row]) : rows.length === 0 ? [] : [rows];
    const returned: AnyStoredRow[] = [];
    for (const group of groups) {
      try {
        returned.push(...(await readRows(this.#transaction, statement(group.map((row) => row.columns)))));
      } catch (error) {
        if (!isConstraintError(error)) throw error;
        throw new RejectedRows(
          error,
          group.map((row) => row.pending),
        );
      }
    }
    return returned;
  }
}

/**
 * Returns the time of a change of a row: now, but never before the row's last change, as with a clock that ran ahead then or
 * a transaction that waited for the lock of the row.
 *
 * @param step milliseconds between the changes at least; 0 for another change in the same transaction
 */
function timeOfChange(last: string, now: string, step: number): string {
  const earliest = Date.parse(last) + step;
  return earliest > Date.parse(now) ? new Date(earliest).toISOString() : now;
}

/** Fields that the writer sets. */
const systemFields = new Set(['id', 'systemRef', 'createdAt', 'updatedAt', 'version']);

/** The rows as a table. One parameter contains all of them, so that the statement does not depend on their number. */
function recordset(table: string, rows: readonly Columns[]): RawBuilder<unknown> {
  return sql`jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb) r`;
}

/** The values of fields by column. A field without a value gets the default of its column. */
function columnsOf(entity: AnyEntity, fields: readonly Field[], row: AnyRow): Record<string, unknown> {
  const columns: Record<string, unknown> = {};
  for (const field of fields) {
    const value = asJson(field, row[field.name]);
    if (value === undefined) continue;
    if (!entity.spread.has(field)) columns[field.column] = value;
    else {
      const members = new Map(Object.entries(value ?? {}));
      for (const { name, column } of membersOf(field)) columns[column] = members.get(name) ?? null;
    }
  }
  return columns;
}

function keyText({ table, key }: PlainRow): string {
  return JSON.stringify([table, ...Object.values(key)]);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectsIn(value: unknown): readonly Columns[] {
  return Array.isArray(value) ? value : [];
}

function isConstraintError(error: unknown): error is ConstraintError {
  return [UniqueViolation, CheckViolation, ForeignKeyViolation].some((kind) => error instanceof kind);
}
