import { sql } from 'kysely';
import type { AnyEntity } from '../entity/entity.ts';
import { allEntities } from '../entity/registry.ts';
import { transactAfter } from '../entity/transact.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import {
  contact,
  contactInfo,
  customRecords,
  erasedEmail,
  keyValues,
  Person,
  replacements,
  type SearchedTable,
  searchedTables,
} from '../modules/contacts/index.ts';
import { staff } from '../modules/staff/index.ts';
import { actAsMover } from '../platform/store/databases/index.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import { plannedForValues, type Transaction } from '../platform/store/session.ts';
import { storeOfTenant } from './databases/index.ts';
import type { Operator } from './operator.ts';
import { asOperator, byOperator, tenantNamed } from './tenants.ts';

export interface ErasureRequest {
  readonly tenant: string;
  readonly type: 'Contact' | 'Staff';
  /** The ID of the person, or a reference of the firm. */
  readonly ref: string;
}

export interface Erasure {
  readonly id: string;
  /** Rows by table in which something was replaced, beside those of the person. */
  readonly rows: Readonly<Record<string, number>>;
  /** Records of types that the tenant defines, which mention the person. The firm decides about them. */
  readonly customRecords: number;
  /** Files that the person uploaded. They are the client's, and are kept. */
  readonly files: number;
}

/**
 * Replaces names, addresses, telephone numbers and email addresses of a contact or a staff member: in their rows, and wherever else the
 * database repeats them, such as in events, the audit log, stored responses and texts. Amounts, IDs and references stay as they are. It can be
 * repeated.
 *
 * @throws Error with a sentence if the tenant or the person does not exist.
 */
export async function erasePerson(operator: Operator, { tenant: name, type, ref }: ErasureRequest): Promise<Erasure> {
  const { service } = operator;
  const tenant = await tenantNamed(operator, name);
  const person = await service.store.read(tenant.id, async (session) => {
    const found = await session.first<{ id: string }>(sql`
      select id from ${sql.table(type === 'Contact' ? 'contact' : 'staff')} person where tenant_id = ${tenant.id}
        and ${ref} in (id::text, system_ref, pms_ref ${type === 'Staff' ? sql`, staff_ref` : sql``})`);
    return found === undefined ? undefined : Person.find(session, tenant.id, found.id);
  });
  if (person === undefined) throw new Error(`The tenant ${name} has no ${type} with the ID or reference ${ref}.`);
  const { id } = person;
  await asOperator(service, tenant, 'person erase', (unit) =>
    unit.plan((plan) => {
      for (const { type, row } of person.rows) {
        if (type === 'Contact') plan.update(contact, row.id, replacements.Contact);
        else if (type === 'Staff') plan.update(staff, row.id, { ...replacements.Staff, email: erasedEmail(id) });
        else plan.update(contactInfo, row.id, replacements.ContactInfo);
      }
    }),
  );
  const store = await storeOfTenant(operator, tenant.name);
  return transactAfter(
    store,
    async (transaction) => {
      await actAsMover(transaction, tenant.id);
      await transaction.all(sql`set local idle_in_transaction_session_timeout = 0`);
      const { mentioning, ...found } = await eraseCopies(transaction, tenant.id, person);
      const details = { type, id, ...found };
      await recordOperatorAct(transaction, { operation: 'person erase', subject: name, details });
      await transaction.all(
        sql`select set_config('app.copies_rows', '', true), set_config('app.moves_tenant', '', true)`,
      );
      return { origin: byOperator(service, tenant, 'person erase'), found: { mentioning, erasure: { id, ...found } } };
    },
    async (unit, { mentioning, erasure }) => {
      await announce(unit, mentioning);
      return erasure;
    },
  );
}

/** IDs of the rows that mentioned the person, also in rows that belong to them. */
type Mentioning = Map<AnyEntity, Set<string>>;

/** The entity of a table, and the column with the ID of its row. */
interface RowsOf {
  readonly entity: AnyEntity;
  readonly column: string;
}

function rowsByTable(): ReadonlyMap<string, RowsOf> {
  const own = [...allEntities()].filter(({ writable, isAppendOnly }) => writable && !isAppendOnly);
  return new Map(
    own.flatMap((entity): [string, RowsOf][] => [
      [entity.table, { entity, column: 'id' }],
      ...[...entity.owned.values()].map(({ table, owner }): [string, RowsOf] => [table, { entity, column: owner }]),
    ]),
  );
}

/** How many rows get an event at once. */
const eventsAtOnce = 1_000;

/** Gives rows another version and an event, so that copies of others also lose the person. */
async function announce(unit: UnitOfWork, mentioning: Mentioning): Promise<void> {
  for (const [entity, all] of mentioning) {
    const ids = [...all];
    for (let first = 0; first < ids.length; first += eventsAtOnce)
      await unit.plan((plan) => {
        for (const id of ids.slice(first, first + eventsAtOnce)) plan.touch(entity, id);
      });
  }
}

/** How many rows of a table are searched at once. */
const rowsAtOnce = 20_000;

/** Replaces what other rows of a tenant repeat of a person. */
async function eraseCopies(
  transaction: Transaction,
  tenantId: number,
  person: Person,
): Promise<Omit<Erasure, 'id'> & { readonly mentioning: Mentioning }> {
  const owners = rowsByTable();
  const mentioning: Mentioning = new Map();
  const rows: Record<string, number> = {};
  let mentions = 0;
  for (const table of await searchedTables(transaction)) {
    let changed = 0;
    let after: string | undefined;
    do {
      const found = await person.searchRows(transaction, table, after, { limit: rowsAtOnce, isForUpdate: true });
      const erased = found.rows.flatMap((row) => {
        const columns = person.erasedColumns(table, row);
        return Object.keys(columns).length === 0 ? [] : [{ key: row.key, columns }];
      });
      if (table.name === customRecords) mentions += found.rows.length;
      else changed += erased.length;
      if (changed > 0 && erased.length > 0) {
        const owner = owners.get(table.name);
        const replaced = await transaction.all<{ id: string }>(
          replaceColumns(table, tenantId, erased, owner?.column ?? 'tenant_id'),
        );
        if (owner !== undefined) {
          const known = mentioning.get(owner.entity) ?? new Set();
          mentioning.set(owner.entity, known);
          for (const { id } of replaced) known.add(id);
        }
      }
      after = found.last;
    } while (after !== undefined);
    if (changed > 0) rows[table.name] = changed;
  }
  const files = await transaction.first<{ files: number }>(sql`
    select count(*)::integer as files from file where tenant_id = ${tenantId} and uploaded_by_id = ${person.id}`);
  return { rows, customRecords: mentions, files: files?.files ?? 0, mentioning };
}

function replaceColumns(
  table: SearchedTable,
  tenantId: number,
  rows: readonly { readonly key: string; readonly columns: object }[],
  returned: string,
) {
  const names = [...new Set(rows.flatMap(({ columns }) => Object.keys(columns)))].map((name) => sql.ref(name));
  const values = keyValues(table, sql`r.key`);
  const isRow = table.key.map((column, index) => sql`and t.${sql.ref(column)} = ${values[index]}`);
  return plannedForValues(sql`
    update ${sql.table(table.name)} t
    set (${sql.join(names)}) = (select ${sql.join(names)} from json_populate_record(t, r.columns))
    from json_to_recordset(${JSON.stringify(rows)}::json) as r (key text, columns json)
    where t.tenant_id = ${tenantId} ${sql.join(isRow, sql` `)}
    returning t.${sql.ref(returned)} as id`);
}
