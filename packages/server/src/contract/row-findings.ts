import type { Finding } from './validator.ts';

/** Keywords that limit a value, but not its type or the members of its object. */
const bounds: ReadonlySet<string> = new Set([
  'pattern',
  'maximum',
  'minimum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'maxItems',
  'minItems',
  'maxLength',
  'minLength',
]);

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
    if (part !== 'response' || !bounds.has(finding.keyword)) return undefined;
    const place = names[0] === 'data' ? names.slice(0, 2) : [];
    const row = place.reduce<unknown>(memberOf, body);
    if (typeof row !== 'object' || row === null || typeof memberOf(row, 'id') !== 'string') return undefined;
    const key = place.join('/');
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

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
