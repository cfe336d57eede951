/** What a person can do with rows: transitions of state machines, changes of fields, new rows, and other operations on one row. */
import { hasRole } from '@financial-automation/spec/roles';
import { allOperations, type Operation, type Schema } from '../../contract/contract.ts';
import type { Caller } from '../../platform/auth/caller.ts';
import { type DataList, merged, schemasOf } from './catalog.ts';
import { type FormInput, inputsOf } from './forms.ts';
import type { ShownRow } from './values.ts';
import { actionInWords, transitionInWords } from './words.ts';

export interface Action {
  /** In addresses: the state that a row gets, `edit`, `new`, or the ID of the operation. */
  readonly name: string;
  readonly label: string;
  readonly operation: Operation;
  readonly inputs: readonly FormInput[];
  /** What is written beside what is entered. */
  readonly fixed: Readonly<Record<string, unknown>>;
}

/** A row with the version that a page showed. */
export interface VersionedRow extends ShownRow {
  readonly version: number;
}

function allows({ roles }: Pick<Caller, 'roles'>, required: readonly string[] = []): boolean {
  return required.length === 0 || hasRole(roles, required);
}

/** An operation is tried in this order: the narrowest first. */
const preference = ['update', 'delete', 'upsert'];

/** The transitions from the state of a row, if the roles of the caller allow one of their operations. */
export function transitionsOn(list: DataList, row: ShownRow, caller: Caller): Action[] {
  const machine = list.properties.get('status')?.['x-state-machine'];
  const { status } = row;
  if (machine === undefined || typeof status !== 'string' || !allows(caller, list.writeRoles)) return [];
  const found = new Map<string, Action>();
  for (const { from, to, roles, operations, events, conditions = [] } of machine.transitions) {
    if (!from.includes(status) || found.has(to) || !allows(caller, roles)) continue;
    const named = operations ?? (events === undefined ? machine.operations : []);
    const rank = ({ id }: Operation) => preference.findIndex((verb) => id.startsWith(verb));
    const [operation] = allOperations
      .filter((one) => named.includes(one.id) && allows(caller, one.roles))
      .sort((one, other) => rank(one) - rank(other));
    const written = operation && attributesOf(operation, list.type);
    if (operation === undefined || written === undefined) continue;
    // What the conditions of the transition require to be set.
    const required = conditions.flatMap((condition) => {
      const text = machine.conditions?.[condition] ?? '';
      const [, name = ''] = /^The `(\w+)` (?:is set|is true|is more|is lowered|equals|covers)/.exec(text) ?? [];
      const schema = written.properties?.[name];
      return schema === undefined ? [] : [{ path: name, schema: merged(schema), isRequired: true }];
    });
    const isFlag = ({ schema }: FormInput) => [schema.type].flat().includes('boolean');
    const flags = Object.fromEntries(required.filter(isFlag).map(({ path }) => [path, true]));
    const inputs = required.filter((input) => !isFlag(input));
    const label = transitionInWords(status, to);
    found.set(to, { name: to, label, operation, inputs, fixed: { ...flags, status: to } });
  }
  return [...found.values()];
}

/** What can be done with several rows of a list at once: transitions that need no fields. */
export function bulkActions(list: DataList, rows: readonly ShownRow[], caller: Caller): Action[] {
  const all = rows.flatMap((row) => transitionsOn(list, row, caller));
  const simple = all.filter(({ inputs, operation }) => inputs.length === 0 && itemsOf(operation) !== undefined);
  return [...new Map(simple.map((action) => [action.name, action])).values()];
}

/** The end of the paths of operations on one row of a type. */
function resourceOf({ type }: DataList): string {
  return `/${type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}s/{id}`;
}

/** An operation that reads something about a row, by the end of its path. */
export interface RowRead {
  readonly operation: Operation;
  readonly name: string;
  /** The parameter that follows the name, if there is one. */
  readonly parameter: string | undefined;
}

/** What is read about rows of a type, such as `GET /api/v1/clients/{id}/statement`. */
export function readsOf(list: DataList): RowRead[] {
  return allOperations.flatMap((operation) => {
    const [, end = ''] = operation.path.split(`${resourceOf(list)}/`);
    const [, name, parameter] = /^(\w+)(?:\/\{(\w+)\})?$/.exec(end) ?? [];
    return name === undefined || operation.method !== 'GET' ? [] : [{ operation, name, parameter }];
  });
}

/** Operations on two rows of one type, such as a merge, with the property that refers to the first one. */
const onTwoRows = allOperations.flatMap((operation) => {
  if (operation.method !== 'POST' || operation.path.includes('{')) return [];
  const references = commandInputs(operation).filter((input) => input.isRequired && 'x-references' in input.schema);
  const [own, other] = references.map(({ path, schema }) => ({ path, type: schema['x-references'] }));
  return own === undefined || own.type !== other?.type || references.length > 2 ? [] : [{ operation, own }];
});

/** Operations on one row beside those that write its fields, such as `POST /api/v1/invoices/{id}/send`, or on it and another one of its type. */
export function commandsOn(list: DataList, row: ShownRow, caller: Caller): Action[] {
  const isCommand = ({ method, path }: Operation) => {
    const [, verb] = path.split(resourceOf(list));
    const isNamed = verb === '' ? method === 'DELETE' : method === 'POST' && /^\/\w+$/.test(verb ?? '');
    // Of a row that is not active, only that can be changed.
    return isNamed && (row.active === false) === (verb === '/reactivate');
  };
  const pairs = onTwoRows.filter(({ own }) => own.type === list.type && row.active !== false);
  const commands = allOperations.filter(isCommand).map((operation) => ({ operation, own: undefined }));
  return [...commands, ...pairs].flatMap(({ operation, own }): Action[] => {
    if (!allows(caller, operation.roles)) return [];
    const inputs = commandInputs(operation).filter(({ path }) => path !== own?.path);
    const fixed = own === undefined ? {} : { [own.path]: row.id };
    return [{ name: operation.id, label: actionInWords(operation.id), operation, inputs, fixed }];
  });
}

/** The inputs of the body of an operation. */
export function commandInputs(operation: Operation): FormInput[] {
  const { body } = schemasOf(operation);
  const { required = [], ...schema } = body === undefined ? {} : merged(body);
  return inputsOf(schema).map((input) => ({ ...input, isRequired: required.includes(input.path) }));
}

/** What changes the fields of a row, or creates one, if the caller may; undefined if nothing does. */
export function writingOf(
  list: DataList,
  row: ShownRow | undefined,
  caller: Pick<Caller, 'roles'>,
): Action | undefined {
  const [name, label, verbs] =
    row === undefined ? (['new', 'Create', ['upsert']] as const) : (['edit', 'Change', ['update', 'upsert']] as const);
  const written = writtenBy(list, verbs, caller);
  return written && { name, label, operation: written.operation, inputs: inputsOf(written.attributes, row), fixed: {} };
}

/** The first operation that writes rows of a type one by one, and what it writes of them. */
export function writtenBy({ type, writeRoles }: DataList, verbs: readonly string[], caller: Pick<Caller, 'roles'>) {
  if (!allows(caller, writeRoles)) return undefined;
  for (const verb of verbs) {
    for (const operation of allOperations) {
      if (!operation.id.startsWith(verb) || !allows(caller, operation.roles) || itemsOf(operation) === undefined)
        continue;
      const attributes = attributesOf(operation, type);
      if (attributes?.properties !== undefined) return { operation, attributes };
    }
  }
  return undefined;
}

/** The name and the schema of the items of a request that writes several rows. */
function itemsOf(operation: Operation): readonly [name: string, item: Schema] | undefined {
  const { body } = schemasOf(operation);
  const lists = Object.entries((body && merged(body).properties) ?? {}).filter(([, one]) => one.type === 'array');
  const [name, list] = lists[0] ?? [];
  return name === undefined || list?.items === undefined || operation.path.includes('{')
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

/** The request of an action on rows, in the versions that the page showed. */
export function requestOf(list: DataList, rows: readonly VersionedRow[], { operation }: Action, attributes: object) {
  const items = itemsOf(operation);
  if (items === undefined) {
    const [, parameter = 'id'] = /\{(\w+)\}/.exec(operation.path) ?? [];
    return { path: { [parameter]: String(rows[0]?.id) }, body: attributes };
  }
  const all = rows.map(({ systemRef, version }) => {
    // A new row has no version yet.
    const item = { type: list.type, systemRef, ...(version > 0 && { ifVersion: version }) };
    return operation.method === 'DELETE' ? item : { ...item, attributes };
  });
  return { body: { [items[0]]: all } };
}

interface Failure {
  readonly detail?: string;
  readonly errors?: readonly { readonly detail: string }[];
}

/** Why an operation that writes several rows did not write some of them, by their position; empty if it wrote all. */
export function failuresIn({ records }: Readonly<Record<string, unknown>>): ReadonlyMap<number, string> {
  const items: { error?: Failure | null }[] = Array.isArray(records) ? records : [];
  const sentences = items.map(({ error }) => [error?.detail, ...(error?.errors ?? []).map(({ detail }) => detail)]);
  return new Map(
    sentences.flatMap((details, index): [number, string][] =>
      details[0] === undefined ? [] : [[index, [...new Set(details)].join(' ')]],
    ),
  );
}
