import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../contract/fields.ts';
import type { Relation, Searchable } from '../entity/entity.ts';
import type { Clause, Comparison } from './clause.ts';

type Condition = RawBuilder<boolean>;

const always = sql<boolean>`true`;
const never = sql<boolean>`false`;

/** SQL of one comparison on the row with the alias. */
export type Compare = (entity: Searchable, row: string, comparison: Comparison) => Condition;

/**
 * The SQL condition of a clause on the row with the alias `row`, without a sub-select that is evaluated row by row.
 *
 * PostgreSQL only converts `exists` and `in` to joins in a top-level conjunction of a `where`. To keep relations there,
 * alternatives with a relation become a union of the IDs that each alternative matches.
 */
export function semiJoins(
  entity: Searchable,
  row: string,
  tenantId: number,
  clause: Clause,
  compare: Compare,
): Condition {
  let aliases = 0;
  return conditionOf(entity, row, clause);

  function conditionOf(of: Searchable, alias: string, part: Clause): Condition {
    switch (part.kind) {
      case 'comparison':
        return compare(of, alias, part);
      case 'related':
        return related(alias, part);
      case 'all':
        return part.parts.length === 0 ? always : joined(of, alias, part.parts, sql` and `);
      case 'any':
        if (part.parts.length === 0) return never;
        return part.parts.some(hasRelated) ? union(of, alias, part.parts) : joined(of, alias, part.parts, sql` or `);
    }
  }

  function joined(of: Searchable, alias: string, parts: readonly Clause[], by: RawBuilder<unknown>): Condition {
    return sql`(${sql.join(
      parts.map((part) => conditionOf(of, alias, part)),
      by,
    )})`;
  }

  function related(alias: string, { relation, inner, negated }: Clause & { kind: 'related' }): Condition {
    const other = nextAlias();
    const link = relation.many
      ? sql`${sql.ref(`${other}.${columnOf(relation.by)}`)} = ${sql.ref(`${alias}.id`)}`
      : sql`${sql.ref(`${other}.id`)} = ${sql.ref(`${alias}.${columnOf(relation.by)}`)}`;
    const exists = sql<boolean>`exists (${relatedRows(sql`1`, relation, other, inner)} and ${link})`;
    return negated ? sql`not ${exists}` : exists;
  }

  /** All alternatives without a relation form one branch, so that their indexes are combined. */
  function union(of: Searchable, alias: string, parts: readonly Clause[]): Condition {
    const plain = parts.filter((part) => !hasRelated(part));
    const branches = parts.filter(hasRelated);
    if (plain.length > 0) branches.unshift({ kind: 'any', parts: plain });
    const selects = branches.map((branch) => {
      const row = nextAlias();
      // Related rows that refer to this one contain its ID.
      return branch.kind === 'related' && branch.relation.many && !branch.negated
        ? relatedRows(sql.ref(`${row}.${columnOf(branch.relation.by)}`), branch.relation, row, branch.inner)
        : rows(sql.ref(`${row}.id`), of, row, branch);
    });
    return sql`${sql.ref(`${alias}.id`)} in (${sql.join(selects, sql` union all `)})`;
  }

  function relatedRows(
    selected: RawBuilder<unknown>,
    { to, activeOnly }: Relation,
    alias: string,
    where: Clause,
  ): RawBuilder<unknown> {
    const all = rows(selected, to(), alias, where);
    return activeOnly ? sql`${all} and ${sql.ref(`${alias}.active`)}` : all;
  }

  function rows(selected: RawBuilder<unknown>, of: Searchable, alias: string, where: Clause): RawBuilder<unknown> {
    return sql`select ${selected} from ${sql.table(of.table)} ${sql.id(alias)}
      where ${of.within(alias, tenantId)} and ${conditionOf(of, alias, where)}`;
  }

  function nextAlias(): string {
    aliases += 1;
    return `r${aliases}`;
  }
}

function hasRelated(clause: Clause): boolean {
  if (clause.kind === 'related') return true;
  return clause.kind !== 'comparison' && clause.parts.some(hasRelated);
}
