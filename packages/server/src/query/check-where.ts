import { contract } from '../contract/contract.ts';
import { escapePointer } from '../contract/pointer.ts';
import { Rejection } from '../contract/rejection.ts';
import type { Searchable } from '../entity/entity.ts';
import type { Where } from './clause.ts';

const limits = contract['x-search-limits'];
const { weights } = limits;
/**
 * The maximum number of parts of a clause with the most predicates at the greatest depth, unless some parts are empty.
 */
const maxParts = limits.depth * limits.predicates;

const patterns = new Set(['_like', '_nlike', '_ilike', '_nilike']);
const advice =
  'Replace alternatives of _eq with one _in, start patterns with text, combine conditions on the same related row in one relation, or split the search.';

/**
 * Checks a where clause before any of it runs: its depth, its predicates, the cost of its parts by the weights of the contract, and
 * that the caller may read the values and the related rows that it filters by, because conditions find out what they are.
 *
 * @returns the cost.
 * @throws Rejection `SEARCH_TOO_COMPLEX` with a pointer to the first part beyond a limit, or `FORBIDDEN` with one to the column or relation.
 */
export function checkWhere(entity: Searchable, where: Where, holds: (roles: readonly string[]) => boolean): number {
  const count = { parts: 0, predicates: 0, cost: 0 };
  countClause(entity, where, '/where', 1, false);
  return count.cost;

  function countClause(of: Searchable, clause: Where, pointer: string, depth: number, negated: boolean): void {
    count.parts += 1;
    if (depth > limits.depth) throw tooComplex(`is nested more than ${limits.depth} levels deep`, pointer);
    if (count.parts > maxParts) throw tooComplex(`has more than ${maxParts} parts`, pointer);
    for (const [key, value] of Object.entries(clause)) {
      countPart(of, key, value, `${pointer}/${escapePointer(key)}`, depth, negated);
    }
  }

  function countPart(of: Searchable, key: string, value: unknown, at: string, depth: number, negated: boolean): void {
    if (key === '_and' || key === '_or') {
      for (const [index, part] of (value as Where[]).entries())
        countClause(of, part, `${at}/${index}`, depth + 1, negated);
    } else if (key === '_not') {
      countClause(of, value as Where, at, depth + 1, !negated);
    } else if (of.relations[key] !== undefined) {
      const { to, onward } = of.relations[key];
      addCost(negated ? weights.negatedRelation : weights.relation, at);
      if (onward !== undefined) {
        countPart(to(), onward, value, at, depth, false);
        return;
      }
      checkRoles(to().readRoles, key, at);
      // Without conditions, it tests whether a related row exists, which is also a predicate.
      if (Object.keys(value as Where).length === 0) countPredicate(at);
      countClause(to(), value as Where, at, depth + 1, false);
    } else {
      checkRoles(of.fields.get(key)?.readRoles ?? [], key, at);
      for (const [operator, operand] of Object.entries(value as Where)) {
        countPredicate(at);
        addCost(costOf(operator, operand), `${at}/${operator}`);
      }
    }
  }

  function checkRoles(readRoles: readonly string[] | undefined, name: string, pointer: string): void {
    if (readRoles !== undefined && (readRoles.length === 0 || holds(readRoles))) return;
    const detail = `Conditions on ${name} require the ${readRoles?.join(' or ')} role.`;
    throw new Rejection('FORBIDDEN', detail, { errors: [{ in: 'body', pointer, code: 'FORBIDDEN', detail }] });
  }

  function countPredicate(pointer: string): void {
    count.predicates += 1;
    if (count.predicates > limits.predicates) {
      throw tooComplex(`has more than ${limits.predicates} conditions`, pointer);
    }
  }

  function addCost(cost: number, pointer: string): void {
    if (count.cost + cost > limits.cost) {
      const detail = `This part costs ${cost}, and the parts before it cost ${count.cost} of ${limits.cost}.`;
      throw problem(`The where clause costs more than ${limits.cost}. ${advice}`, pointer, detail);
    }
    count.cost += cost;
  }
}

function costOf(operator: string, operand: unknown): number {
  // Each list is compared separately; values share one look-up.
  if (Array.isArray(operand) && Array.isArray(operand[0])) return operand.length * weights.condition;
  if (Array.isArray(operand)) return weights.condition + Math.floor(operand.length / 100) * weights.hundredValues;
  if (operator === '_search') return weights.unanchoredPattern;
  if (!patterns.has(operator)) return weights.condition;
  return /^[%_]/.test(String(operand)) ? weights.unanchoredPattern : weights.pattern;
}

function tooComplex(how: string, pointer: string): Rejection {
  return problem(`The where clause ${how}. Split the search.`, pointer, `It ${how}.`);
}

function problem(summary: string, pointer: string, detail: string): Rejection {
  return new Rejection('SEARCH_TOO_COMPLEX', summary, {
    errors: [{ in: 'body', pointer, code: 'SEARCH_TOO_COMPLEX', detail }],
  });
}
