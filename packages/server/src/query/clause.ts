import { escapePointer } from '../contract/pointer.ts';
import type { RelatedField, Relation, Searchable } from '../entity/entity.ts';

/** The shape of a where clause in the contract. Its columns and operators have already been validated. */
export type Where = { readonly [key: string]: unknown };

/**
 * A where clause as a tree in which only comparisons and relations are negated. A relation that is negated as a whole can
 * be an anti-join; below another negation it could only be evaluated row by row.
 */
export type Clause =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Clause[] }
  | Comparison
  | { readonly kind: 'related'; readonly relation: Relation; readonly inner: Clause; readonly negated: boolean };

export interface Comparison {
  readonly kind: 'comparison';
  readonly field: string;
  readonly operator: string;
  readonly operand: unknown;
  readonly negated: boolean;
  /** JSON Pointer to the operand. */
  readonly pointer: string;
}

/** Operators that match few rows or most of them, depending on the operand. */
const selective = new Set([
  '_gt',
  '_gte',
  '_lt',
  '_lte',
  '_in',
  '_nin',
  '_like',
  '_nlike',
  '_ilike',
  '_nilike',
  '_search',
]);

/** Whether the best plan for a where clause depends on its operands: it has a range, a list or a pattern. */
export function dependsOnOperands(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  return Object.entries(part).some(([key, value]) => selective.has(key) || dependsOnOperands(value));
}

/** Converts a where clause on rows of the entity to a tree. */
export function clauseOf(entity: Searchable, where: Where, pointer = '/where', negated = false): Clause {
  const parts = Object.entries(where).map(([key, value]) =>
    partOf(entity, key, value, `${pointer}/${escapePointer(key)}`, negated),
  );
  return combine('all', parts, negated);
}

function partOf(entity: Searchable, key: string, value: unknown, pointer: string, negated: boolean): Clause {
  if (key === '_and' || key === '_or') {
    const parts = (value as Where[]).map((part, index) => clauseOf(entity, part, `${pointer}/${index}`, negated));
    return combine(key === '_and' ? 'all' : 'any', parts, negated);
  }
  if (key === '_not') return clauseOf(entity, value as Where, pointer, !negated);
  const relation = entity.relations[key];
  if (relation !== undefined) {
    const { onward } = relation;
    const inner =
      onward === undefined
        ? clauseOf(relation.to(), value as Where, pointer)
        : partOf(relation.to(), onward, value, pointer, false);
    return { kind: 'related', relation, inner, negated };
  }
  const related = entity.relatedField(key);
  if (related !== undefined) return ofRelatedField(related, value as Where, pointer, negated);
  return comparisons(key, value as Where, pointer, negated);
}

/** A field of a related row also has no value if there is no such row. */
function ofRelatedField(
  { relation, field, absent }: RelatedField,
  operators: Where,
  pointer: string,
  negated: boolean,
): Clause {
  if (absent === false) return ofFlag(relation, field, operators, pointer, negated);
  const { _is_null: isNull, ...others } = operators;
  const related = (where: Where, isNegated: boolean): Clause => ({
    kind: 'related',
    relation,
    inner: partOf(relation.to(), field, where, pointer, false),
    negated: isNegated,
  });
  const parts = isNull === undefined ? [] : [related({ _is_null: false }, (isNull === true) !== negated)];
  if (Object.keys(others).length > 0) parts.push(related(others, negated));
  return combine('all', parts, negated);
}

/** A flag that is false without a related row, and so never null. It is true where a related row has it. */
function ofFlag(relation: Relation, field: string, operators: Where, pointer: string, negated: boolean): Clause {
  const [whenTrue, whenFalse] = [true, false].map((value) => matchesAll(value, operators) !== negated);
  if (whenTrue === whenFalse) return { kind: whenTrue === true ? 'all' : 'any', parts: [] };
  const inner = comparisons(field, { _eq: true }, pointer, false);
  return { kind: 'related', relation, inner, negated: whenFalse === true };
}

function matchesAll(value: boolean, operators: Where): boolean {
  const matches: Readonly<Record<string, (operand: unknown) => boolean>> = {
    _eq: (operand) => operand === value,
    _neq: (operand) => operand !== value,
    _in: (operand) => Array.isArray(operand) && operand.includes(value),
    _nin: (operand) => Array.isArray(operand) && !operand.includes(value),
    _is_null: (operand) => operand === false,
  };
  return Object.entries(operators).every(([operator, operand]) => matches[operator]?.(operand));
}

function comparisons(field: string, operators: Where, pointer: string, negated: boolean): Clause {
  const parts = Object.entries(operators).map(
    ([operator, operand]): Clause => ({
      kind: 'comparison',
      field,
      operator,
      operand,
      negated,
      pointer: `${pointer}/${operator}`,
    }),
  );
  return combine('all', parts, negated);
}

/** "Not all" is "any not", and "not any" is "all not": the parts are already negated. */
function combine(kind: 'all' | 'any', parts: readonly Clause[], negated: boolean): Clause {
  const combined = negated ? (kind === 'all' ? 'any' : 'all') : kind;
  const flat = parts.flatMap((part) => (part.kind === combined ? part.parts : [part]));
  const merged = mergeRelated(combined, flat);
  const [only] = merged;
  return only !== undefined && merged.length === 1 ? only : { kind: combined, parts: merged };
}

/**
 * Merges alternatives on one relation into one condition: that there is a related row that matches any of them. So the
 * related rows are only read once. The same applies to relations that must all be absent, and to all conditions on the
 * row of a relation to one.
 */
function mergeRelated(kind: 'all' | 'any', parts: readonly Clause[]): readonly Clause[] {
  const groups = new Map<Relation, { readonly present: Clause[]; readonly absent: Clause[] }>();
  const others: Clause[] = [];
  for (const part of parts) {
    if (part.kind !== 'related' || (part.relation.many && part.negated !== (kind === 'all'))) {
      others.push(part);
      continue;
    }
    const { relation, inner, negated } = part;
    const group = groups.getOrInsertComputed(relation, () => ({ present: [], absent: [] }));
    (negated ? group.absent : group.present).push(inner);
  }
  for (const [relation, { present, absent }] of groups) {
    const opposite = kind === 'all' ? 'any' : 'all';
    if (present.length > 0)
      others.push({ kind: 'related', relation, inner: combine(kind, present, false), negated: false });
    if (absent.length > 0)
      others.push({ kind: 'related', relation, inner: combine(opposite, absent, false), negated: true });
  }
  return others;
}
