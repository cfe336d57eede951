import { hasRole } from '@financial-automation/spec/roles';
import { allOperations, type Operation, type Schema } from '../../contract/contract.ts';
import type { Caller } from '../../platform/auth/caller.ts';
import { type DataList, merged, schemasOf } from './catalog.ts';
import { typedValue } from './filter.ts';
import type { ShownRow } from './values.ts';
import { transitionInWords } from './words.ts';

/** A transition of the state machine of a type that its caller can cause now. */
export interface Action {
  readonly from: string;
  /** The state that the row gets. */
  readonly to: string;
  readonly label: string;
  readonly operation: Operation;
  /** What the conditions of the transition require to be set, with its schema. */
  readonly fields: ReadonlyMap<string, Schema>;
}

/** An operation is tried in this order: the narrowest first. */
const preference = ['update', 'delete', 'upsert'];

/** What a caller can do with a row: the transitions from its state, if the roles allow one of their operations. */
export function actionsOn(list: DataList, row: ShownRow, { roles }: Caller): Action[] {
  const machine = list.properties.get('status')?.['x-state-machine'];
  const { status } = row;
  if (machine === undefined || typeof status !== 'string') return [];
  const holds = (required: readonly string[] = []) => required.length === 0 || hasRole(roles, required);
  if (!holds(list.writeRoles)) return [];
  const found = new Map<string, Action>();
  for (const transition of machine.transitions) {
    const { from, to, events, conditions = [] } = transition;
    if (!from.includes(status) || found.has(to) || !holds(transition.roles)) continue;
    const named = transition.operations ?? (events === undefined ? machine.operations : []);
    const rank = ({ id }: Operation) => preference.findIndex((verb) => id.startsWith(verb));
    const operations = allOperations.filter((one) => named.includes(one.id) && holds(one.roles));
    const [operation] = operations.sort((one, other) => rank(one) - rank(other));
    const written = operation && attributesOf(operation, list.type);
    if (operation === undefined || written === undefined) continue;
    const texts = conditions.map((condition) => machine.conditions?.[condition] ?? '');
    const names = texts.flatMap(
      (text) => /^The `(\w+)` (?:is set|is true|is more|is lowered|equals|covers)/.exec(text)?.[1] ?? [],
    );
    const fields = names.flatMap((name): [string, Schema][] => {
      const schema = written.properties?.[name];
      return schema === undefined ? [] : [[name, merged(schema)]];
    });
    found.set(to, { from: status, to, label: transitionInWords(status, to), operation, fields: new Map(fields) });
  }
  return [...found.values()];
}

/** The name and the schema of the items of a request that writes several rows. */
function itemsOf(operation: Operation): readonly [name: string, item: Schema] | undefined {
  const { body } = schemasOf(operation);
  const [name, list] =
    Object.entries((body && merged(body).properties) ?? {}).find(([, one]) => one.type === 'array') ?? [];
  return name === undefined || list?.items === undefined || operation.id === 'updateEngagement'
    ? undefined
    : [name, list.items];
}

/** What an operation writes of a type: no properties if it only names the row; undefined if it does not write the type. */
function attributesOf(operation: Operation, type: string): Schema | undefined {
  const { body } = schemasOf(operation);
  const items = itemsOf(operation);
  if (items === undefined) return body && merged(body);
  const item = variantOf(items[1], type);
  const attributes = item?.properties?.attributes;
  return item && (attributes === undefined ? {} : merged(attributes));
}

function variantOf(unmerged: Schema, type: string): Schema | undefined {
  const schema = merged(unmerged);
  if (merged(schema.properties?.type ?? {}).enum?.includes(type)) return schema;
  const mapped = schema.discriminator?.mapping[type];
  if (mapped !== undefined) return variantOf({ $ref: mapped }, type);
  for (const one of [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]) {
    const found = variantOf(one, type);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The request of an action on one row or several: it writes the versions that the page showed, or nothing. */
export function requestOf(
  list: DataList,
  rows: readonly VersionedRow[],
  { operation, to, fields }: Pick<Action, 'operation' | 'to' | 'fields'>,
  entered: URLSearchParams,
) {
  const values = [...fields].map(([name, schema]) => [name, typedValue(schema, entered.get(name)?.trim() ?? '')]);
  return writeOf(list, rows, operation, { status: to, ...Object.fromEntries(values) });
}

/** A row with the version that the page showed. */
export interface VersionedRow extends ShownRow {
  readonly version: number;
}

/** The request that writes attributes of rows. */
export function writeOf(list: DataList, rows: readonly VersionedRow[], operation: Operation, attributes: object) {
  const items = itemsOf(operation);
  if (items === undefined) {
    const [, parameter = 'id'] = /\{(\w+)\}$/.exec(operation.path) ?? [];
    return { path: { [parameter]: String(rows[0]?.id) }, body: attributes };
  }
  const all = rows.map(({ systemRef, version }) => {
    // A new row has no version yet.
    const item = { type: list.type, systemRef, ...(version > 0 && { ifVersion: version }) };
    return operation.method === 'DELETE' ? item : { ...item, attributes };
  });
  return { body: { [items[0]]: all } };
}

/** Whether an operation writes several rows. */
export function isOfSeveral(operation: Operation): boolean {
  return itemsOf(operation) !== undefined;
}

/** What creates rows of a type, or changes them, if the caller may; undefined if nothing does. */
export function writerOf(list: DataList, verbs: readonly string[], { roles }: Pick<Caller, 'roles'>) {
  const holds = (required: readonly string[]) => required.length === 0 || hasRole(roles, required);
  if (!holds(list.writeRoles)) return undefined;
  for (const verb of verbs) {
    for (const operation of allOperations) {
      if (!operation.id.startsWith(verb) || !holds(operation.roles) || itemsOf(operation) === undefined) continue;
      const attributes = attributesOf(operation, list.type);
      if (attributes?.properties !== undefined) return { operation, attributes };
    }
  }
  return undefined;
}

/** Why an operation that writes several rows did not write some of them, by their position; empty if it wrote all. */
export function failuresIn(body: Readonly<Record<string, unknown>>): ReadonlyMap<number, string> {
  const items: { error?: { detail?: string; errors?: { detail: string }[] } | null }[] = Array.isArray(body.records)
    ? body.records
    : [];
  return new Map(
    items.flatMap(({ error }, index): [number, string][] =>
      error?.detail === undefined
        ? []
        : [
            [
              index,
              [error.detail, ...(error.errors ?? []).map(({ detail }) => detail)]
                .filter((one, at, all) => all.indexOf(one) === at)
                .join(' '),
            ],
          ],
    ),
  );
}
