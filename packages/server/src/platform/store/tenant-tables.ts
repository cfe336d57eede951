import { sql } from 'kysely';
import { plannedForValues } from './session.ts';
import type { Transaction } from './store.ts';

/** A column whose values are copied. */
export interface CopiedColumn {
  readonly name: string;
  /** Without a length: `numeric`, `uuid[]`. */
  readonly type: string;
}

/** A table with rows of tenants. */
export interface TenantTable {
  readonly name: string;
  /** Without the tenant, and without what the database assigns: generated columns and numbers of an identity. */
  readonly columns: readonly CopiedColumn[];
  /** The rest of the primary key, without the tenant. */
  readonly key: readonly string[];
  /** Whether the owner also changes its rows for all tenants at once, such as those of jobs, or the database assigns its key. */
  readonly isShared: boolean;
}

interface FoundTable extends TenantTable {
  /** Tables that its rows refer to, and that therefore must have their rows first. */
  readonly references: readonly string[];
}

/**
 * Returns all tables with a tenant, as the database describes them. Each one comes after those that its rows refer to, apart from
 * references that a transaction can defer.
 */
export async function tenantTables(transaction: Pick<Transaction, 'all'>): Promise<readonly TenantTable[]> {
  return inOrderOfReferences(await transaction.all(plannedForValues(catalog)));
}

/** The name of the last migration that the database has. */
export const newestMigration = sql<string>`(select max(name) from (
  select name from schema_migration union all select name from schema_expansion) done)`;

const catalog = sql<FoundTable>`
  select c.relname as name,
    (select coalesce(json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum), '[]')
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> 'tenant_id'
        and a.attidentity = '' and a.attgenerated = '') as columns,
    (select coalesce(json_agg(a.attname order by k.ordinal), '[]') from pg_constraint p
      cross join lateral unnest(p.conkey) with ordinality k (attnum, ordinal)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum and a.attname <> 'tenant_id'
      where p.conrelid = c.oid and p.contype = 'p') as key,
    exists (select from pg_policy where polrelid = c.oid and polname = c.relname || '_owner')
      or exists (select from pg_attribute i where i.attrelid = c.oid and i.attidentity <> '') as "isShared",
    (select coalesce(json_agg(distinct r.relname), '[]') from pg_constraint f join pg_class r on r.oid = f.confrelid
      where f.conrelid = c.oid and f.contype = 'f' and not f.condeferrable and f.confrelid <> c.oid) as references
  from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'tenant_id' and not t.attisdropped)
  order by c.relname`;

function inOrderOfReferences(found: readonly FoundTable[]): TenantTable[] {
  const ordered: TenantTable[] = [];
  const waiting = new Map(found.map((table) => [table.name, table]));
  while (waiting.size > 0) {
    const next = [...waiting.values()].find(({ references }) => !references.some((name) => waiting.has(name)));
    if (next === undefined) throw new Error(`References between ${[...waiting.keys()].join(', ')} form a circle.`);
    waiting.delete(next.name);
    const { name, columns, key, isShared } = next;
    ordered.push({ name, columns, key, isShared });
  }
  return ordered;
}

/** Columns of `tenant` that are about the database that it is in, about work of processes, and about its deletion there. */
const placeColumns: readonly string[] = ['id', 'clock_leased_by', 'clock_leased_until', 'closed_at', 'delete_after'];

/** Returns the columns of the tenant itself that are copied. */
export async function tenantColumns(transaction: Pick<Transaction, 'all'>): Promise<readonly string[]> {
  const columns = await transaction.all<{ name: string }>(sql`
    select attname as name from pg_attribute where attrelid = 'tenant'::regclass and attnum > 0 and not attisdropped
      and attname <> all (${placeColumns}) order by attnum`);
  return columns.map(({ name }) => name);
}
