import { type RawBuilder, sql } from 'kysely';
import { Rejection } from '../contract/rejection.ts';
import type { Lookup } from './loaded-rows.ts';
import type { Plan } from './plan.ts';

/** Rows of a table that are not at their end: in one of some states, or in none of those that end them. */
export interface UnfinishedRows {
  /** What the rows are, in the words of a caller. */
  readonly what: string;
  readonly table: string;
  /** The column that refers to the row, or SQL of whether the row of the alias `t` refers to the ID `k.id`. */
  readonly refers: string | RawBuilder<unknown>;
  readonly states?: readonly string[];
  readonly ended?: readonly string[];
}

/** Time and expenses that can still be approved. */
export const unapprovedEntries = (column: string): readonly UnfinishedRows[] =>
  ['time_entry', 'expense_entry'].map((table) => ({
    what: table === 'time_entry' ? 'time entries that are not approved' : 'expenses that are not approved',
    table,
    refers: column,
    ended: ['APPROVED'],
  }));

/** Drafts that can still be posted, also an import that is approved for a later day. */
export const unpostedDrafts = { what: 'draft invoices', table: 'draft_invoice', ended: ['POSTED', 'DELETED'] } as const;

/** Finds, by the ID of a row, what refers to it and can still post: whoever deletes the row would have it billed nevertheless. */
export function unfinishedRows(type: string, kinds: readonly UnfinishedRows[]): Lookup<readonly string[]> {
  return {
    name: `unfinished rows of ${type}`,
    async load(transaction, tenantId, ids) {
      const found = await transaction.all<{ id: string; kinds: number[] }>(sql`
        select k.id, array_remove(array[${sql.join(kinds.map((kind, index) => indexOf(kind, index, tenantId)))}], null) as kinds
        from unnest(${ids}::uuid[]) as k (id)`);
      return new Map(found.map((row) => [row.id, row.kinds.map((index) => kinds[index]?.what ?? '')]));
    },
  };
}

/** SQL of the index of a kind in its list if there is such a row, else null. */
function indexOf(
  { table, refers, states = [], ended }: UnfinishedRows,
  index: number,
  tenantId: number,
): RawBuilder<unknown> {
  const condition = typeof refers === 'string' ? sql`t.${sql.ref(refers)} = k.id` : refers;
  return sql`case when exists (select from ${sql.table(table)} t
    where t.tenant_id = ${tenantId} and t.active and ${condition} and (t.status = any(${states}::text[]) or t.status <> all(${ended ?? null}::text[])))
    then ${sql.lit(index)}::integer end`;
}

/** @throws Rejection `INVALID_STATE` if something that refers to the row can still post */
export function checkNothingUnfinished(plan: Plan, lookup: Lookup<readonly string[]>, id: string, what: string): void {
  const kinds = plan.lookup(lookup, id) ?? [];
  if (kinds.length === 0) return;
  throw new Rejection(
    'INVALID_STATE',
    `The ${what} has ${new Intl.ListFormat('en').format(kinds)}. Finish or delete them first.`,
  );
}
