import { type RawBuilder, sql } from 'kysely';
import type { Session } from '../../../platform/store/session.ts';

/** An invariant of the books. */
export interface BookRule {
  readonly rule: string;
  /** Query of the rows that violate it: their `id` and a `detail`, both text. */
  readonly broken: (tenantId: number) => RawBuilder<{ id: string; detail: string }>;
}

/** A row that violates an invariant of the books. */
export interface Breach {
  /** The invariant, in words. */
  readonly rule: string;
  readonly id: string;
  readonly detail: string;
}

/**
 * Returns the rows that violate rules, by one statement.
 *
 * @param shared what the rules read: the name of a query, and the query
 */
export function findBroken(
  session: Pick<Session, 'all'>,
  tenantId: number,
  shared: RawBuilder<unknown>,
  rules: readonly BookRule[],
): Promise<Breach[]> {
  const parts = rules.map(
    ({ rule, broken }) => sql`select ${rule}::text as rule, b.id::text, b.detail from (${broken(tenantId)}) b`,
  );
  return session.all(sql<Breach>`with ${shared} ${sql.join(parts, sql` union all `)}`);
}
