/** What can be done, derived from the contract: transitions of state machines, changes of fields, new rows, and other operations on a row. */
import { hasRole, mayCall } from '@financial-automation/spec/roles';
import { isMet } from '@financial-automation/spec/state-machine';
import { allOperations, type Operation, operationOf, type Schema } from '../../contract/contract.ts';
import { isOf } from '../../contract/fields.ts';
import { maxUploadBytes } from '../../modules/files/index.ts';
import type { Caller } from '../../platform/auth/caller.ts';
import { type DataList, dataLists, merged, propertiesOf, schemasOf } from './catalog.ts';
import { type FormInput, inputsOf } from './forms.ts';
import type { ShownRow } from './values.ts';
import type { CallInput } from './visit.ts';
import { actionInWords, fieldAt, transitionInWords } from './words.ts';

export interface Action {
  /** In addresses: the state that a row gets, `edit`, `new`, or the ID of the operation. */
  readonly name: string;
  readonly label: string;
  readonly operation: Operation;
  readonly inputs: readonly FormInput[];
  /** The input of a file that is sent after the others. */
  readonly file?: FormInput;
  /** What is written beside what is entered. */
  readonly fixed: Readonly<Record<string, unknown>>;
  /** The property of the request that has a list, of which one item is written, and the properties of the item. */
  readonly item?: { readonly list: string; readonly names: readonly string[] };
  /** Whether the row is active afterwards, if the request says so beside its attributes. */
  readonly active?: boolean | undefined;
  /** The property of the request that has the rows; undefined if it can have only one. */
  readonly items?: string | undefined;
}

type Roles = Pick<Caller, 'roles'>;

function allows({ roles }: Roles, required: readonly string[] = []): boolean {
  return required.length === 0 || hasRole(roles, required);
}

/** An operation that writes rows of a type, and what it writes of them: nothing if it only names them. */
interface Writer {
  readonly operation: Operation;
  readonly items: string | undefined;
  readonly attributes: Schema;
  /** Whether it deactivates a row by a property of the item. */
  readonly hasActive?: boolean;
}

const writers = new Map<string, readonly Writer[]>();
/** What writes records of custom types, whose attributes the contract does not know. */
const customWriters = (['updateRecords', 'deleteRecords', 'upsertRecords'] as const).map(operationOf);
/** Operations are tried in this order: the narrowest first. */
const preference = ['update', 'delete', 'upsert'];

function writersOf({ type, properties }: DataList): readonly Writer[] {
  if (!dataLists.has(type)) {
    const attributes = { properties: Object.fromEntries(properties) };
    return customWriters.map((operation) => ({ operation, items: 'records', attributes }));
  }
  const rank = ({ operation }: Writer) => preference.findIndex((verb) => operation.id.startsWith(verb));
  const all = () => allOperations.flatMap((operation) => writerOf(operation, type) ?? []);
  const found = writers.get(type) ?? all().sort((one, other) => rank(one) - rank(other));
  writers.set(type, found);
  return found;
}

function writerOf(operation: Operation, type: string): Writer | undefined {
  const { body } = schemasOf(operation);
  const [items, list] = Object.entries(body.properties ?? {}).find(([, one]) => one.type === 'array') ?? [];
  if (list?.items === undefined || operation.path.includes('{'))
    return { operation, items: undefined, attributes: body };
  const item = variantOf(list.items, type);
  const { attributes = {}, active } = item?.properties ?? {};
  return item && { operation, items, attributes: merged(attributes), hasActive: active !== undefined };
}

function variantOf(unmerged: Schema, type: string): Schema | undefined {
  const schema = merged(unmerged);
  if (merged(schema.properties?.type ?? {}).enum?.includes(type)) return schema;
  const mapped = schema.discriminator?.mapping[type];
  if (mapped !== undefined) return variantOf({ $ref: mapped }, type);
  const found = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].map((one) => variantOf(one, type));
  return found.find((one) => one !== undefined);
}

/** The transitions from the state of a row, if the roles of the caller allow one of their operations. */
export function transitionsOn(list: DataList, row: ShownRow, caller: Roles): Action[] {
  const { status } = row;
  const machine = list.properties.get('status')?.['x-state-machine'];
  if (machine === undefined || typeof status !== 'string' || !allows(caller, list.writeRoles)) return [];
  const found = new Map<string, Action>();
  for (const transition of machine.transitions) {
    const { from, to, roles, operations, events, requires = [], conditions = [], repeatable = false } = transition;
    const named = operations ?? (events === undefined ? machine.operations : []);
    const isAllowed = ({ operation }: Writer) => named.includes(operation.id) && allows(caller, operation.roles);
    const isOpen = from.includes(status) || (repeatable && to === status);
    const canBeMet = (name: string) => {
      const condition = machine.conditions?.[name];
      return typeof condition !== 'object' || isMet(condition, row);
    };
    const writer = isOpen && allows(caller, roles) ? writersOf(list).find(isAllowed) : undefined;
    if (writer === undefined || found.has(to) || !conditions.every(canBeMet)) continue;
    const required = requires.map((path) => {
      const schema = merged(writer.attributes.properties?.[path] ?? {});
      return { path, schema, isRequired: true };
    });
    const { flags = [], inputs = [] } = Object.groupBy(required, ({ schema }) =>
      isOf(schema, 'boolean') ? 'flags' : 'inputs',
    );
    const fixed = { ...Object.fromEntries(flags.map(({ path }) => [path, true])), status: to };
    found.set(to, { ...writer, name: to, label: transitionInWords(status, to), inputs, fixed });
  }
  return [...found.values()];
}

/** What can be done with several rows of a list at once: transitions that need no fields. */
export function bulkActions(list: DataList, rows: readonly ShownRow[], caller: Roles): Action[] {
  const all = rows.flatMap((row) => transitionsOn(list, row, caller));
  const simple = all.filter(({ inputs, items }) => inputs.length === 0 && items !== undefined);
  return [...new Map(simple.map((action) => [action.name, action])).values()];
}

/** The rest of the path of an operation on one row of a type. */
function pathAfter({ type }: DataList, { path }: Operation): string | undefined {
  return path.split(`/${type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}s/{id}`)[1];
}

/** What is read about rows of a type, by the end of the path and its parameter: `GET /api/v1/clients/{id}/statement`, or `…/contacts/by_client/{clientId}`. */
export function readsOf(list: DataList) {
  return allOperations.flatMap((operation) => {
    const [, before, of] = /\/(\w+)\/by_(\w+)\/\{\w+\}$/.exec(operation.path) ?? [];
    const rest = of === list.type.toLowerCase() ? `/${before}` : (pathAfter(list, operation) ?? '');
    const [, name, parameter] = /^\/(\w+)(?:\/\{(\w+)\})?$/.exec(rest) ?? [];
    return name === undefined || operation.method !== 'GET' ? [] : [{ operation, name, parameter }];
  });
}

/** The action of an operation beside those that write fields. */
export function commandOf(operation: Operation, row?: ShownRow): Action {
  const { required = [], ...schema } = schemasOf(operation).body;
  const inputs = inputsOf(schema, row).map((input) => ({ ...input, isRequired: required.includes(input.path) }));
  return { name: operation.id, label: actionInWords(operation.id), operation, inputs, fixed: {} };
}

/** What an operation beside those that write fields does with a row of a type. */
interface RowCommand {
  readonly type: string;
  readonly action: Action;
  /** The property of the request that has the ID of the row, if the path does not. */
  readonly property?: string;
  /** Of a row that is not active, only that can be changed. */
  readonly activates?: boolean;
}

const rowCommands = Map.groupBy(
  allOperations.flatMap((operation) => [...onOneRow(operation), ...onTwoRows(operation), ...onItems(operation)]),
  ({ type }) => type,
);

/** On the row that the path names, such as `POST /api/v1/invoices/{id}/send`. */
function onOneRow(operation: Operation): RowCommand[] {
  const { id, method } = operation;
  return [...dataLists.values()].flatMap((list) => {
    const verb = pathAfter(list, operation);
    const isCommand = verb === '' ? method === 'DELETE' : method === 'POST' && /^\/\w+$/.test(verb ?? '');
    if (!isCommand && id !== `deactivate${list.type}`) return [];
    return [{ type: list.type, action: commandOf(operation), activates: verb === '/reactivate' }];
  });
}

/** On the row and another one of its type, such as a merge: the first property that refers to one has the row. */
function onTwoRows(operation: Operation): RowCommand[] {
  if (operation.method !== 'POST' || operation.path.includes('{')) return [];
  const action = commandOf(operation);
  const references = action.inputs.filter((input) => input.isRequired && 'x-references' in input.schema);
  const [own, other] = references.map(({ path, schema }) => ({ path, type: schema['x-references'] }));
  if (own?.type === undefined || own.type !== other?.type || references.length > 2) return [];
  const inputs = action.inputs.filter(({ path }) => path !== own.path);
  return [{ type: own.type, action: { ...action, inputs }, property: own.path }];
}

/** On a list of items in the body, each with a row of the type, such as the assignment of staff to a job: for one item. */
function onItems(operation: Operation): RowCommand[] {
  const { id, method, path } = operation;
  // What creates a row is on the page of its list.
  if (method !== 'POST' || path.includes('{') || dataLists.has(id.replace('create', ''))) return [];
  const { properties = {} } = schemasOf(operation).body;
  const whole = Object.entries(properties).filter(([, schema]) => merged(schema).type !== 'array');
  return [...dataLists.keys()].flatMap((type) => {
    const found = Object.entries(properties).flatMap(([list, schema]) => {
      const { properties: parts = {}, required = [] } = merged(merged(schema).items ?? {});
      const own = required.find((name) => name.toLowerCase() === `${type.toLowerCase()}id` && parts[name]);
      return own === undefined ? [] : [{ list, parts, required, own }];
    });
    const [only, another] = found;
    if (only === undefined || another !== undefined) return [];
    const { list, parts, required, own } = only;
    const { [own]: _row, ...others } = parts;
    const inputs = inputsOf({ properties: { ...Object.fromEntries(whole), ...others } }).map((input) => ({
      ...input,
      isRequired: required.includes(input.path),
    }));
    return {
      type,
      action: { ...commandOf(operation), inputs, item: { list, names: Object.keys(parts) } },
      property: own,
    };
  });
}

/** Deactivates a row of a type that has no states, or activates it again. */
function activityOn(list: DataList, { active }: ShownRow, caller: Roles): Action[] {
  const hasStates = list.properties.get('status')?.['x-state-machine'] !== undefined;
  if (typeof active !== 'boolean' || hasStates || !allows(caller, list.writeRoles)) return [];
  const verb = active ? 'delete' : 'upsert';
  const isOf = ({ operation: { id, roles }, items, hasActive }: Writer) =>
    items && (hasActive || id.startsWith(verb)) && allows(caller, roles);
  const action = { name: verb, label: active ? 'Deactivate' : 'Reactivate', inputs: [], fixed: {} };
  const found = writersOf(list).filter(isOf);
  return found.map((writer) => ({ ...writer, ...action, active: writer.hasActive ? !active : undefined }));
}

/** All that the caller can do with a row as it is, but for changes of its fields. */
export function actionsOn(list: DataList, row: ShownRow, caller: Roles): Action[] {
  const commands = (rowCommands.get(list.type) ?? []).flatMap(({ action, property, activates = false }) =>
    (row.active === false) === activates && mayCall(action.operation, caller.roles)
      ? [{ ...action, fixed: property === undefined ? {} : { [property]: row.id } }]
      : [],
  );
  return [...transitionsOn(list, row, caller), ...commands, ...activityOn(list, row, caller)];
}

/** What changes the fields of a row, or creates one, if the caller may; undefined if nothing does. */
export function writingOf(list: DataList, row: ShownRow | undefined, caller: Roles): Action | undefined {
  const { fixed = [] } = list.properties.get('status')?.['x-state-machine'] ?? {};
  if (row !== undefined && fixed.includes(String(row.status))) return undefined;
  const verbs = row === undefined ? ['upsert'] : ['update', 'upsert'];
  const writer = writersOf(list).find(
    ({ operation: { id, roles }, items, attributes }) =>
      items !== undefined &&
      attributes.properties !== undefined &&
      verbs.some((verb) => id.startsWith(verb)) &&
      allows(caller, roles),
  );
  const named = row === undefined ? { name: 'new', label: 'Create' } : { name: 'edit', label: 'Change' };
  const mayWrite = ({ schema }: FormInput) => allows(caller, schema['x-write-roles']);
  // People write rows of some types by operations of their own.
  const isOwn = ({ id, roles }: Operation) =>
    id === `${row === undefined ? 'create' : 'update'}${list.type}` && allows(caller, roles);
  const own = allOperations.find(isOwn);
  if (own !== undefined) {
    const whole = commandOf(own, row);
    const command = { ...whole, ...named, inputs: whole.inputs.filter(mayWrite) };
    if (!propertiesOf(schemasOf(own).response).has('uploadUrl')) return command;
    // The content has the name with it.
    const inputs = command.inputs.filter(({ path }) => path !== 'fileName');
    return { ...command, label: 'Upload', inputs, file: contentInput };
  }
  if (writer === undefined || !allows(caller, list.writeRoles)) return undefined;
  const inputs = inputsOf(writer.attributes, row, !dataLists.has(list.type)).filter(mayWrite);
  return { ...writer, ...named, inputs, fixed: {} };
}

/** What a form sends that the API receives at the `uploadUrl` of its response. */
const contentInput: FormInput = {
  path: 'file',
  schema: { format: 'binary', description: `At most ${maxUploadBytes / 2 ** 20} MiB, and no program.` },
  isRequired: true,
};

function takesKey(operation: Operation): boolean {
  return schemasOf(operation).body.properties?.systemRef !== undefined;
}

function withItem({ item }: Action, values: Readonly<Record<string, unknown>>) {
  if (item === undefined) return values;
  const part = (isOwn: boolean) => Object.entries(values).filter(([name]) => item.names.includes(name) === isOwn);
  return { ...Object.fromEntries(part(false)), [item.list]: [Object.fromEntries(part(true))] };
}

/** The request of an action on rows, in the versions that the page showed; a new row has none yet. */
export function requestOf(type: string, rows: readonly ShownRow[], action: Action, values: object): CallInput {
  const { operation, items, fixed } = action;
  const attributes = withItem(action, { ...fixed, ...values });
  const [, parameter] = /\{(\w+)\}/.exec(operation.path) ?? [];
  if (items === undefined)
    return {
      path: parameter === undefined ? {} : { [parameter]: String(rows[0]?.[parameter] ?? rows[0]?.id) },
      // A form that is sent twice creates one row.
      body: { ...(action.name === 'new' && takesKey(operation) && { systemRef: rows[0]?.systemRef }), ...attributes },
    };
  const all = rows.map(({ systemRef, version }) => ({
    type,
    systemRef,
    ...(version !== undefined && { ifVersion: Number(version) }),
    ...(action.active !== undefined && { active: action.active }),
    ...(operation.method !== 'DELETE' && { attributes }),
  }));
  return { body: { [items]: all } };
}

/** Why an operation that writes several rows did not write some of them, by their position; empty if it wrote all. */
export function failuresIn({ records }: Readonly<Record<string, unknown>>): ReadonlyMap<number, string> {
  interface ItemFault {
    readonly detail: string;
    readonly pointer?: string | null;
  }
  interface Item {
    readonly error?: { readonly detail: string; readonly errors?: readonly ItemFault[] } | null;
  }
  const items: readonly Item[] = Array.isArray(records) ? records : [];
  const failed = items.flatMap(({ error }, index) => {
    if (!error) return [];
    const { detail: whole, errors = [] } = error;
    const named = errors.map(({ pointer, detail }) => `${fieldAt(pointer ?? '', detail)}${detail}`);
    const isNamed = errors.some(({ detail }) => detail === whole);
    return [[index, [...new Set(isNamed ? named : [whole, ...named])].join(' ')] as const];
  });
  return new Map(failed);
}
