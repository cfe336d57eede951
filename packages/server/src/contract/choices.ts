/** What a caller chooses to read of rows: `fields` of them, and `with` the names of rows that they refer to. */
import type { Operation } from './contract.ts';
import { resolved } from './fields.ts';
import { inputsOf } from './parameters.ts';

export interface Choice {
  readonly fields?: readonly string[];
  readonly with?: readonly string[];
}

type Row = Readonly<Record<string, unknown>>;

/** A row that another one refers to. */
export interface RelatedRow {
  readonly id: string;
  readonly systemRef: string;
  readonly name: string | null;
}

/** A relation that `with` can name: the property with the ID, the type of the related row, and the property that names it. */
export interface NamedRelation {
  readonly by: string;
  readonly type: string;
  readonly label: string;
}

/** Returns what a valid request chooses; undefined if nothing. */
export function choiceOf(
  operation: Operation,
  { body, query }: { readonly body?: unknown; readonly query?: unknown },
): Choice | undefined {
  const sent: unknown = operation.method === 'GET' ? query : body;
  if (typeof sent !== 'object' || sent === null || !('fields' in sent || 'with' in sent)) return undefined;
  const { fields } = inputsOf(operation);
  // Other operations can have properties of this name. Those of a valid request have these types.
  return fields === undefined || resolved(fields)['x-contract-check']?.partial !== true ? undefined : (sent as Choice);
}

/** Returns the relations with these names. */
export function relationsOf(operation: Operation, names: readonly string[]): ReadonlyMap<string, NamedRelation> {
  const all = resolved(inputsOf(operation).with?.items ?? {})['x-related'] ?? {};
  return new Map(names.map((name) => [name, all[name] ?? { by: '', type: '', label: '' }]));
}

/** Returns the IDs that the rows of a response have in a property. */
export function idsIn(body: object, { by }: NamedRelation): readonly string[] {
  return [...new Set(rowsOf(body).flatMap((row) => (typeof row[by] === 'string' ? [row[by]] : [])))];
}

/** Returns the rows of a response with the rows that they refer to: by the name of a relation, those that were found, by ID. */
export function withRelatedRows(
  body: object,
  relations: ReadonlyMap<string, NamedRelation>,
  found: ReadonlyMap<string, ReadonlyMap<unknown, RelatedRow>>,
): object {
  return mapRows(body, (row) => {
    const related = [...relations].map(([name, { by }]) => [name, found.get(name)?.get(row[by]) ?? null]);
    return { ...row, with: Object.fromEntries(related) };
  });
}

/** A response with the chosen fields of its rows. It is valid before, not after. */
export function withFields(body: object, fields: readonly string[]): object {
  const chosen = new Set([...fields, 'id', 'with']);
  return mapRows(body, (row) => Object.fromEntries(Object.entries(row).filter(([name]) => chosen.has(name))));
}

function rowsOf(body: object): readonly Row[] {
  return 'data' in body && Array.isArray(body.data) ? body.data : [{ ...body }];
}

function mapRows(body: object, change: (row: Row) => Row): object {
  const changed = rowsOf(body).map(change);
  return 'data' in body ? { ...body, data: changed } : (changed[0] ?? body);
}
