import { sql } from 'kysely';
import { idsIn, type RelatedRow, relationsOf, withRelatedRows } from '../contract/choices.ts';
import type { Operation } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';
import { conditionsToSee } from '../entity/field-access.ts';
import { anyEntityNamed } from '../entity/registry.ts';
import type { Session } from '../platform/store/session.ts';
import type { Reader } from './page.ts';

/**
 * Returns the rows of a response with the names of rows that they refer to, of which one query reads all of a relation. Rows that the
 * caller may not see have none.
 *
 * @throws Rejection `FORBIDDEN` for a relation whose rows the caller may not read.
 */
export async function withRelated(
  session: Session,
  { tenantId, holds }: Reader,
  operation: Operation,
  names: readonly string[],
  body: object,
): Promise<object> {
  const relations = relationsOf(operation, names);
  const location = operation.method === 'GET' ? 'query' : 'body';
  const found = new Map<string, ReadonlyMap<unknown, RelatedRow>>();
  for (const [name, relation] of relations) {
    const entity = anyEntityNamed(relation.type);
    const roles = entity.readRoles ?? [];
    if (!holds(roles)) {
      const detail = `Names of ${name} require the ${roles.join(' or ')} role.`;
      const error = { in: location, pointer: `/with/${names.indexOf(name)}`, code: 'FORBIDDEN', detail } as const;
      throw new Rejection('FORBIDDEN', detail, { errors: [error] });
    }
    const conditions = [entity.within('e', tenantId), ...conditionsToSee(holds, entity, 'e')];
    const rows = await session.all<RelatedRow>(sql`
      select e.id, e.system_ref as "systemRef", ${entity.value('e', relation.label)} as name from ${sql.table(entity.table)} e
      where ${sql.join(conditions, sql` and `)} and e.id = any(${idsIn(body, relation)})`);
    found.set(name, new Map(rows.map((row) => [row.id, row])));
  }
  return withRelatedRows(body, relations, found);
}
