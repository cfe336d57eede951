import { contract, type Operation } from './contract.ts';
import type { Finding } from './validator.ts';

/** Keywords that limit a value, but not its type or the members of its object. */
const bounds: ReadonlySet<string> = new Set([
  'maximum',
  'minimum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxItems',
  'maxLength',
]);

const decimal = /^-?\d+(\.\d+)?$/;

/** Patterns of decimals, which state the number of digits. */
const decimalPatterns: ReadonlySet<string> = new Set(patternsOfDecimals(contract));

/** A row whose values exceed bounds of the contract. */
export interface RowFindings {
  readonly entityId: string;
  /** The type, where the row states it. */
  readonly entityType: string | undefined;
  readonly findings: readonly Finding[];
}

/**
 * Returns the rows of a response, or the row that it is, with the bounds that their values exceed; undefined if it also
 * violates the contract in another way, which may show what nobody should see.
 */
export function rowsBeyondBounds(findings: readonly Finding[], body: unknown): RowFindings[] | undefined {
  const rows = new Map<string, { row: object; findings: Finding[] }>();
  for (const finding of findings) {
    const [, part, ...names] = finding.path.split('/');
    if (part !== 'response' || !isBound(finding, names.reduce<unknown>(memberOf, body))) return undefined;
    const rowPath = names[0] === 'data' ? names.slice(0, 2) : [];
    const row = rowPath.reduce<unknown>(memberOf, body);
    if (typeof row !== 'object' || row === null || typeof memberOf(row, 'id') !== 'string') return undefined;
    const key = rowPath.join('/');
    const known = rows.get(key) ?? { row, findings: [] };
    known.findings.push(finding);
    rows.set(key, known);
  }
  return [...rows.values()].map(({ row, findings: own }) => {
    const type = memberOf(row, 'type');
    return {
      entityId: String(memberOf(row, 'id')),
      entityType: typeof type === 'string' ? type : undefined,
      findings: own,
    };
  });
}

/** Whether the finding is a value beyond its bound, and not a malformed one, such as an ID. */
function isBound({ keyword, pattern }: Finding, value: unknown): boolean {
  if (pattern === undefined) return bounds.has(keyword);
  return decimalPatterns.has(pattern) && typeof value === 'string' && decimal.test(value);
}

function patternsOfDecimals(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { format, pattern }: { format?: unknown; pattern?: unknown } = node;
  const own = format === 'decimal' && typeof pattern === 'string' ? [pattern] : [];
  return [...own, ...Object.values(node).flatMap(patternsOfDecimals)];
}

/** What a feed returns as it was stored: the rows of its events. */
const rowsOfEvents = /^\/response\/data\/\d+\/data\//;

/**
 * Returns the findings about what is of today. A value that was valid when it was stored is sent, whatever the contract has changed since:
 * otherwise one event would stop the feed for ever. Members that the contract does not have are left out before.
 */
export function findingsOfToday(
  findings: readonly Finding[],
  { paging }: Pick<Operation, 'paging'>,
  isReplayed: boolean,
): readonly Finding[] {
  const stored = isReplayed ? /^\/response\// : paging === 'feed' ? rowsOfEvents : undefined;
  return findings.filter(({ path, keyword }) => unknownMember.has(keyword) || stored?.test(path) !== true);
}

const unknownMember: ReadonlySet<string> = new Set(['additionalProperties', 'unevaluatedProperties']);

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
