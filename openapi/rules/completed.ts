/**
 * Adds to each operation what `openapi/operation-defaults.yaml` says that it has, so that a path file contains only what is its own.
 * It runs before the rules and before the bundle is created: both see whole operations. What a path file repeats is an error, because a
 * change of the table would not reach it.
 */
import { dirname, relative, resolve } from 'node:path';
import type { NodeType, Oas3Preprocessor } from '@redocly/openapi-core';
import { conditions } from './conditions.ts';
import {
  isObject,
  isReference,
  type JsonObject,
  type Operation,
  objectOf,
  operationsOf,
  Place,
  type Report,
  reporter,
} from './contract.ts';
import { findings } from './extensions.ts';

const extension = 'x-operation-defaults';

/** The objects of the table, so that Redocly follows the references in them. */
export function withOperationDefaults(types: Record<string, NodeType>): Record<string, NodeType> {
  const { Root = { properties: {} } } = types;
  return {
    ...types,
    Root: { ...Root, properties: { ...Root.properties, [extension]: 'OperationDefaults' } },
    OperationDefaults: { properties: { cases: 'OperationDefaultCases', statuses: 'Responses' } },
    OperationDefaultCases: { properties: {}, additionalProperties: 'OperationDefault' },
    OperationDefault: {
      properties: {
        pathParameters: 'ParameterList',
        parameters: 'ParameterList',
        requestBody: 'RequestBody',
        success: 'Response',
        responses: 'Responses',
      },
    },
  };
}

export const completed: Oas3Preprocessor = () => ({
  Root: {
    enter(root, context) {
      const document: unknown = root;
      if (!isObject(document) || document[extension] === undefined) return;
      const place = new Place(root, context.location, context.resolve);
      const report = reporter(context);
      const table = place.get(extension);
      const wrong = findings({ [extension]: table?.value }, 'Root');
      for (const [, sentence] of wrong) report(table ?? place, sentence);
      // Readers of whole operations do not need the table.
      delete document[extension];
      if (table !== undefined && wrong.length === 0) complete(operationsOf(place), table, report);
    },
  },
});

function complete(operations: Operation[], table: Place, report: Report): void {
  const cases = table.map('cases').map(([name, added]) => ({ name, added, applies: conditions[name] }));
  for (const { name, added, applies } of cases) {
    if (applies === undefined) report(added, `Define the condition ${name} in openapi/rules/conditions.ts.`);
  }
  // The conditions are about operations as they are written, so all are evaluated before the first change.
  const found = operations.map((operation) => ({
    operation,
    defaults: cases.filter(({ applies }) => applies?.(operation)),
  }));
  const done = new Set<string>();
  for (const { operation, defaults } of found) {
    completePath(operation, defaults, done, report);
    completeOperation(operation, defaults, report);
  }
  // One response can serve many operations.
  for (const holder of [...cases.map(({ added }) => added), ...operations.map(({ place }) => place)]) {
    for (const [status, usual] of table.map('statuses')) {
      const response = holder.get('responses', status);
      if (response === undefined || done.has(response.home.absolutePointer)) continue;
      done.add(response.home.absolutePointer);
      if (response.home.absolutePointer !== usual.home.absolutePointer) completeResponse(response, usual, report);
    }
  }
}

/** What the table adds under a condition. */
interface Case {
  name: string;
  added: Place;
}

/** Operations of one path have the same parameters of the path, so the first one adds them. */
function completePath({ item }: Operation, defaults: Case[], done: Set<string>, report: Report): void {
  if (done.has(item.home.absolutePointer) || !isObject(item.value)) return;
  done.add(item.home.absolutePointer);
  const added = addedParameters(item, defaults, 'pathParameters', report);
  const { parameters: own = [], ...others } = item.value;
  replace(item.value, { parameters: [own, added].flat(), ...others });
}

function completeOperation({ place, success }: Operation, defaults: Case[], report: Report): void {
  if (!isObject(place.value)) return;
  const added = addedParameters(place, defaults, 'parameters', report);
  const { parameters: own = [], requestBody, responses, ...others } = place.value;
  const parameters = [added, own].flat();
  const usual = Object.assign({}, ...defaults.map(({ added }) => rebased(added.get('responses'), place)));
  for (const [status, response] of place.map('responses')) {
    if (isSame(response.raw, usual[status]))
      report(response, `Remove ${status}: operation-defaults.yaml adds this response.`);
  }
  const body = Object.assign({}, ...defaults.map(({ added }) => rebased(added.get('requestBody'), place)));
  if (isObject(requestBody)) {
    for (const key of Object.keys(body).filter((name) => isSame(requestBody[name], body[name])))
      report(place, `Remove \`${key}\` from the request body: operation-defaults.yaml adds it.`);
  }
  const extensions = Object.assign({}, ...defaults.map(({ added }) => added.get('extensions')?.value));
  for (const key of Object.keys(extensions).filter((name) => isSame(others[name], extensions[name])))
    report(place, `Remove \`${key}\`: operation-defaults.yaml adds it.`);
  replace(place.value, {
    ...extensions,
    ...others,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(isObject(requestBody) ? { requestBody: { ...body, ...requestBody } } : {}),
    responses: { ...usual, ...objectOf(responses) },
  });
  if (success !== undefined) addToSuccess(success, defaults, report);
}

/** Headers that every response has come first, then its own, then those of its kind; so does its content. */
function addToSuccess(success: Place, defaults: Case[], report: Report): void {
  if (!isObject(success.value)) return;
  const headersOf = (isAlways: boolean): JsonObject =>
    Object.assign(
      {},
      ...defaults
        .filter(({ name }) => (name === 'always') === isAlways)
        .map(({ added }) => rebased(added.get('success', 'headers'), success)),
    );
  const [first, last] = [headersOf(true), headersOf(false)];
  const { description, headers, content, ...others } = success.value;
  const own = objectOf(headers);
  for (const name of Object.keys(own).filter((header) => header in first || header in last))
    report(success, `Remove the header ${name}: operation-defaults.yaml adds it.`);
  const files = defaults.map(({ added }) => objectOf(rebased(added.get('success', 'content'), success)));
  replace(success.value, {
    description,
    headers: { ...first, ...own, ...last },
    ...(isObject(content) && { content: Object.assign({}, content, ...files) }),
    ...others,
  });
}

function addedParameters(place: Place, defaults: Case[], key: string, report: Report): unknown[] {
  const parameters = defaults.flatMap(({ added }) => {
    const list = rebased(added.get(key), place);
    return Array.isArray(list) ? list : [];
  });
  for (const parameter of place.list('parameters')) {
    if (parameters.some((added) => isSame(added, parameter.raw)))
      report(parameter, `Remove the parameter ${parameter.text('name')}: operation-defaults.yaml adds it.`);
  }
  return parameters;
}

/** What a response does not have, it has from the usual one of its status. */
function completeResponse(response: Place, usual: Place, report: Report): void {
  const own = response.value;
  if (!isObject(own)) return;
  const { description, headers, content } = objectOf(rebased(usual, response));
  const complain = (what: string) => report(response.home, `Remove the ${what}: operation-defaults.yaml adds it.`);
  if (isSame(own.description, description)) complain('description');
  if (isSame(own.headers, headers)) complain('headers');
  const ownContent = Object.entries(objectOf(own.content)).map(([media, mine]) => {
    const { schema } = objectOf(objectOf(content)[media]);
    if (isSame(objectOf(mine).schema, schema)) complain('schema');
    return [media, { schema, ...objectOf(mine) }];
  });
  replace(own, { description, headers, ...own, content: Object.fromEntries(ownContent) });
}

function replace(object: JsonObject, value: JsonObject): void {
  for (const key of Object.keys(object)) delete object[key];
  Object.assign(object, value);
}

function isSame(one: unknown, other: unknown): boolean {
  return one !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

/** A copy for another file: references are relative to the file that contains them. */
function rebased(from: Place | undefined, to: Place): unknown {
  if (from === undefined) return undefined;
  const [source, target] = [from.home, to.home].map(({ source }) => dirname(source.absoluteRef));
  const copy = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(copy);
    if (!isObject(node)) return node;
    if (isReference(node)) return { ...node, $ref: relative(target ?? '', resolve(source ?? '', node.$ref)) };
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, copy(value)]));
  };
  return copy(from.value);
}
