/** What a caller chooses to read of rows: `fields` of them, and `with` the names of rows that they refer to. */
import { sql } from 'kysely';
import type { Operation, Schema } from '../contract/contract.ts';
import { propertiesOf, resolved } from '../contract/fields.ts';
import { declarationsOf, referred } from '../contract/parameters.ts';
import { Rejection } from '../contract/rejection.ts';
import { conditionsToSee } from '../entity/field-access.ts';
import { anyEntityNamed } from '../entity/registry.ts';
import type { Session } from '../platform/store/session.ts';
import type { Reader } from './page.ts';

export interface Choice {
  readonly fields?: readonly string[];
  readonly with?: readonly string[];
}

type Row = Readonly<Record<string, unknown>>;

interface Related {
  readonly id: string;
  readonly systemRef: string;
  readonly name: string | null;
}

/** The schemas of `fields` and `with` of an operation, by name; empty if it has none. */
function choicesOf(operation: Operation): Readonly<Record<string, Schema>> {
  const [, own] = declarationsOf(operation);
  const body = own?.requestBody?.content['application/json']?.schema;
  const parameters = Object.fromEntries(
    (own?.parameters ?? []).map(referred).map(({ name, schema }) => [name, schema]),
  );
  return operation.method === 'GET' ? parameters : body === undefined ? {} : propertiesOf(body);
}

/** Returns what a valid request chooses; undefined if nothing. */
export function choiceOf(
  operation: Operation,
  { body, query }: { readonly body?: unknown; readonly query?: unknown },
): Choice | undefined {
  const sent: unknown = operation.method === 'GET' ? query : body;
  if (typeof sent !== 'object' || sent === null || !('fields' in sent || 'with' in sent)) return undefined;
  const { fields } = choicesOf(operation);
  // Other operations can have properties of this name. Those of a valid request have these types.
  return fields === undefined || resolved(fields)['x-contract-check']?.partial !== true ? undefined : (sent as Choice);
}

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
  const relations = resolved(choicesOf(operation).with?.items ?? {})['x-related'] ?? {};
  const location = operation.method === 'GET' ? 'query' : 'body';
  const found = new Map<string, { readonly by: string; readonly rows: ReadonlyMap<unknown, Related> }>();
  for (const [index, name] of names.entries()) {
    const { by = '', type = '', label = '' } = relations[name] ?? {};
    const entity = anyEntityNamed(type);
    const roles = entity.readRoles ?? [];
    if (!holds(roles)) {
      const detail = `Names of ${name} require the ${roles.join(' or ')} role.`;
      const error = { in: location, pointer: `/with/${index}`, code: 'FORBIDDEN', detail } as const;
      throw new Rejection('FORBIDDEN', detail, { errors: [error] });
    }
    const ids = new Set(rowsOf(body).flatMap((row) => (typeof row[by] === 'string' ? [row[by]] : [])));
    const conditions = [entity.within('e', tenantId), ...conditionsToSee(holds, entity, 'e')];
    const rows = await session.all<Related>(sql`
      select e.id, e.system_ref as "systemRef", ${entity.value('e', label)} as name from ${sql.table(entity.table)} e
      where ${sql.join(conditions, sql` and `)} and e.id = any(${[...ids]})`);
    found.set(name, { by, rows: new Map(rows.map((row) => [row.id, row])) });
  }
  return mapRows(body, (row) => {
    const related = [...found].map(([name, { by, rows }]) => [name, rows.get(row[by]) ?? null]);
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
