/**
 * Writes what the extensions say into the descriptions of the bundle, so that every tool shows it without knowing the extensions:
 * roles, limits, idempotency, values on creation, what cannot change, and transitions.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import {
  conditionInWords,
  type RowCondition,
  type RowValues,
  type StateMachine,
  type StateTransition,
} from '../../packages/spec/src/state-machine.ts';
import { isObject, type JsonObject, nameIn, objectOf } from './contract.ts';

export const described: Oas3Decorator = () => ({
  Root: {
    leave(root) {
      const document: unknown = root;
      if (isObject(document)) describe(document);
    },
  },
});

/** Completes the descriptions of all operations and schemas of a bundle. */
export function describe(document: JsonObject): void {
  for (const item of Object.values(objectOf(document.paths))) {
    for (const operation of Object.values(objectOf(item))) {
      if (isOperation(operation)) describeOperation(document, operation);
    }
  }
  const schemas = objectOf(objectOf(document.components).schemas);
  for (const schema of Object.values(schemas)) describeStates(objectOf(schema));
  // A description next to a reference replaces that of the schema, so it repeats it.
  const texts = new Map(
    Object.entries(schemas).map(([name, schema]): [string, Schema] => [name, { ...objectOf(schema) }]),
  );
  describeSchemas(document, texts, new Set());
  describeRestrictedColumns(schemas);
}

interface Operation extends JsonObject {
  description?: unknown;
  'x-roles': readonly string[];
  'x-additional-roles'?: readonly string[];
}

function isOperation(value: unknown): value is Operation {
  return isObject(value) && Array.isArray(value['x-roles']);
}

function describeOperation(document: JsonObject, operation: Operation): void {
  // The line keeps the list apart from one that the description ends with.
  append(operation, `\n\n**Access and limits**\n\n${factsOf(document, operation).join('\n')}\n`);
}

/** The facts about an operation that its description does not have, as a list in Markdown. */
function factsOf(document: JsonObject, operation: Operation): string[] {
  const policy = String(operation['x-rate-limit']);
  const { limit, window } = objectOf(objectOf(document['x-rate-limit-policies'])[policy]);
  const bodyLimit = objectOf(document['x-body-limits'])[String(operation['x-body-limit'])];
  const tenantLimit = objectOf(document['x-tenant-limits'])[String(operation['x-tenant-limit'])];
  const per = operation['x-roles'].includes('PUBLIC') ? 'API key' : 'API user';
  return [
    `- **Roles**: ${rolesInWords(operation)}`,
    `- **Rate limit**: ${Number(limit).toLocaleString('en')} requests in ${window} seconds per ${per} (policy \`${policy}\`)`,
    `- **Idempotency**: ${idempotencyInWords(operation['x-idempotent'])}`,
    ...(bodyLimit === undefined
      ? []
      : [`- **Maximum body size**: ${(Number(bodyLimit) / 1024).toLocaleString('en')} KiB`]),
    ...(tenantLimit === undefined
      ? []
      : [`- **Maximum per tenant**: ${tenantLimit} ${inWords(String(operation['x-tenant-limit']))}`]),
    ...deprecationInWords(operation['x-deprecation']),
    ...(operation['x-extension'] === true
      ? ['- **Extension**: an addition to the product interface, supported like all of it']
      : []),
  ];
}

function rolesInWords({ 'x-roles': roles, 'x-additional-roles': additional }: Operation): string {
  if (roles.includes('PUBLIC')) return 'none; no token is required';
  if (roles.includes('ANY')) return 'none; any valid token';
  return `${either(roles)}${additional === undefined ? '' : `, and ${either(additional)}`} (see the schema \`Role\`)`;
}

function idempotencyInWords(idempotent: unknown): string {
  if (idempotent === 'key') return 'safe to repeat with the same `Idempotency-Key`';
  if (idempotent === 'systemRef')
    return 'safe to repeat if every item has a `systemRef`, or with the same `Idempotency-Key`';
  return idempotent === true ? 'safe to repeat' : 'not safe to repeat: the write can take effect twice';
}

function deprecationInWords(deprecation: unknown): string[] {
  const { since, sunset } = objectOf(deprecation);
  return since === undefined ? [] : [`- **Deprecated**: since ${since}; removed on ${sunset} or later`];
}

/** What is read here of a schema; the lint rules ensure this form. */
export interface Schema {
  $ref?: string;
  description?: string;
  type?: unknown;
  'x-read-roles'?: readonly string[];
  'x-write-roles'?: readonly string[];
  'x-imports-only'?: true;
  'x-immutable'?: Immutable;
  'x-state-machine'?: StateMachine;
  'x-value-roles'?: Readonly<Record<string, readonly string[]>>;
  'x-open-enum'?: true;
  'x-only-for'?: Readonly<Record<string, readonly string[]>>;
  'x-on-create'?: { readonly value?: unknown; readonly rule?: string };
  'x-record'?: { readonly readRoles: readonly string[] };
  'x-entry-type'?: { readonly readRoles: readonly string[] };
}

function describeStates(schema: Schema): void {
  const machine = schema['x-state-machine'];
  if (machine !== undefined) append(schema, `\n\n${describeMachine(machine)}\n`);
}

/** Completes the descriptions of all schemas within a value. The bundle can contain one object in several places. */
function describeSchemas(value: unknown, texts: ReadonlyMap<string, Schema>, seen: Set<object>): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  for (const part of Object.values(value)) describeSchemas(part, texts, seen);
  const schema: Schema = value;
  const name = nameIn(schema.$ref ?? '');
  const target = texts.get(name);
  const relatedRoles = rolesToFilter(name, texts);
  const { 'x-read-roles': readRoles, 'x-write-roles': writeRoles, 'x-on-create': onCreate } = schema;
  const { 'x-only-for': onlyFor = {}, 'x-value-roles': valueRoles = rolesToSend(value, texts) } = schema;
  const sentences = [
    ...(schema['x-open-enum'] === true ? ['Values can be added in any release.'] : []),
    ...(onCreate === undefined || isOnlyState(onCreate.value, target) ? [] : [onCreationInWords(onCreate)]),
    ...Object.entries(onlyFor).map(
      ([name, values]) => `${schema.type === 'array' ? 'Empty' : 'Null'} unless \`${name}\` is ${either(values)}.`,
    ),
    ...(relatedRoles === undefined ? [] : [`Requires the ${either(relatedRoles)} role.`]),
    ...Object.entries(valueRoles).map(([sent, roles]) => `\`${sent}\` also requires the ${either(roles)} role.`),
    ...(readRoles === undefined ? [] : [`Null without the ${either(readRoles)} role.`]),
    ...(writeRoles === undefined ? [] : [`Writing it requires the ${either(writeRoles)} role.`]),
    ...(schema['x-imports-only'] === true ? ['Only an import (`source: IMPORT`) can set it.'] : []),
    ...(schema['x-immutable'] === undefined ? [] : [immutableInWords(schema['x-immutable'])]),
  ];
  if (sentences.length === 0) return;
  const whole = (schema.description ?? target?.description ?? '').trimEnd();
  // The first sentence that is added says when it is null.
  const text = schema['x-only-for'] === undefined ? whole : whole.replace(/, or null(?=\.)/, '');
  // A sentence directly after a list or a table would belong to it.
  schema.description = `${text}${text.includes('\n\n') ? '\n\n' : ' '}${sentences.join(' ')}`.trimStart();
}

const where = /(Relation)?Where$/;

/** A condition on a value requires one of the roles that read it. */
function describeRestrictedColumns(schemas: JsonObject): void {
  for (const [name, schema] of Object.entries(schemas)) {
    const row = where.test(name) ? schemas[name.replace(where, '')] : undefined;
    const fields = objectOf(objectOf(row).properties);
    for (const [column, condition] of Object.entries(objectOf(objectOf(schema).properties))) {
      const { 'x-read-roles': roles }: Schema = objectOf(fields[column]);
      const filter = nameIn(String(objectOf(condition).$ref ?? ''));
      if (roles === undefined || !filter.endsWith('Filter')) continue;
      const { description: common }: Schema = objectOf(schemas[filter]);
      const { description = common }: Schema = objectOf(condition);
      Object.assign(objectOf(condition), { description: `${description} Requires the ${either(roles)} role.` });
    }
  }
}

const relation = /RelationWhere$/;

/** The roles of which one is required to filter by related rows, by the name of the schema of the conditions: those that read them. */
function rolesToFilter(name: string, schemas: ReadonlyMap<string, Schema>): readonly string[] | undefined {
  const type = relation.test(name) ? schemas.get(name.replace(relation, '')) : undefined;
  return (type?.['x-record'] ?? type?.['x-entry-type'])?.readRoles;
}

/** By a value of a parameter, the roles of which one is required to send it. */
function rolesToSend(value: object, texts: ReadonlyMap<string, Schema>): Readonly<Record<string, readonly string[]>> {
  if (!('in' in value && 'schema' in value)) return {};
  const schema: Schema = objectOf(value.schema);
  return (texts.get(nameIn(schema.$ref ?? '')) ?? schema)['x-value-roles'] ?? {};
}

/** Whether the list of transitions already has this state as that of a new row. */
function isOnlyState(value: unknown, target: Schema | undefined): boolean {
  const initial = target?.['x-state-machine']?.initial ?? [];
  return initial.length === 1 && initial[0] === value;
}

type Immutable = true | { readonly unless: RowValues } | { readonly once: string };

function immutableInWords(immutable: Immutable): string {
  if (immutable === true) return 'It cannot change after creation.';
  if ('once' in immutable) return `It cannot change once ${immutable.once}`;
  return `It can change only while ${conditionInWords({ is: immutable.unless })}.`;
}

function onCreationInWords({ value, rule }: { readonly value?: unknown; readonly rule?: string }): string {
  if (rule !== undefined) return `Default on creation: ${rule}`;
  if (isObject(value) && Object.values(value).every((part) => part === null)) {
    return 'Default on creation: an object in which every property is null.';
  }
  return `Default on creation: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`;
}

function append(described: { description?: unknown }, text: string): void {
  const before = typeof described.description === 'string' ? described.description.trimEnd() : '';
  described.description = `${before}${text}`.trimStart();
}

/** The initial states and the transitions as Markdown, with a column for roles and conditions only where there are any. */
export function describeMachine(machine: StateMachine): string {
  const { initial, imported, fixed, operations, transitions, conditions = {} } = machine;
  const columns: Record<string, (transition: StateTransition) => string> = {
    From: ({ from }) => coded(from).join(', '),
    To: ({ to }) => coded([to]).join(),
    By: (transition) => moversOf(transition, operations),
    Role: ({ roles = [] }) => coded(roles).join(' or '),
    Condition: ({ requires = [], conditions: names = [], repeatable }) => {
      const required = requires.length === 0 ? [] : [`Requires ${all(requires)}.`];
      const again = repeatable === undefined ? [] : ['Can be repeated.'];
      return [...required, ...names.map((name) => sentenceOf(conditions[name] ?? '')), ...again].join(' ');
    },
  };
  const shown = Object.entries(columns).filter(([, cell]) => transitions.some((transition) => cell(transition) !== ''));
  const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    `A new row is ${either(initial)}${imported === undefined ? '' : `; an imported one can also be ${either(imported)}`}.${fixed === undefined ? '' : ` Nothing else of a row that is ${either(fixed)} can change.`} Possible transitions:`,
    '',
    row(shown.map(([name]) => name)),
    `|${'---|'.repeat(shown.length)}`,
    ...transitions.map((transition) => row(shown.map(([, cell]) => cell(transition)))),
  ].join('\n');
}

function sentenceOf(condition: string | RowCondition): string {
  if (typeof condition === 'string') return condition;
  const clause = conditionInWords(condition);
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

/** What causes a transition: operations by their ids, events of the service in words. */
function moversOf(transition: StateTransition, usual: readonly string[]): string {
  const events = (transition.events ?? []).map(inWords).join(', ');
  return [...coded(operationsOf(transition, usual)), ...(events === '' ? [] : [`service: ${events}`])].join(', ');
}

/** The operations that cause a transition: its own or, where it names nothing, those of the machine. */
export function operationsOf({ operations, events }: StateTransition, usual: readonly string[]): readonly string[] {
  return operations ?? (events === undefined ? usual : []);
}

/** `draftApproved` as "draft approved". */
export function inWords(camelCase: string): string {
  return camelCase.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function either(names: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(coded(names));
}

function all(names: readonly string[]): string {
  return new Intl.ListFormat('en').format(coded(names));
}

function coded(names: readonly string[]): string[] {
  return names.map((name) => `\`${name}\``);
}
