import { Big } from 'big.js';
import { extensionOf, groupOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { evaluate } from '../../../http/links.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { agrees, calculationOf, numberOf, type Sum, sumOver } from '../../../run/arithmetic.ts';
import { isSuccess } from '../../../run/baseline.ts';
import {
  isOwnId,
  isPutCreation,
  isReadingPost,
  kindOfPath,
  kindOfReference,
  lastParameter,
  rowsSchema,
  singular,
} from '../../../run/names.ts';
import { isHarmless, withUnknownId } from '../../../run/unknown-id.ts';
import { shapeOf } from '../../../schema/shape.ts';
import { responseSchema, View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { chooserOf, chosenDifferences } from '../lists/chosen-members.ts';
import { readCollection } from '../lists/listing.ts';
import { rowsIn } from '../lists/metadata.ts';
import { type BehaviorCheck, type Difference, differ, need, needs, text, valued } from '../observe.ts';
import { isGone, resourceIn } from './compare.ts';
import { anyOf } from './effects.ts';
import { declaredKind, declares, hasRows } from './resource-types.ts';

/** A single operation with a successful call. */
export interface Subject {
  readonly context: CheckContext;
  readonly operation: Operation;
  readonly known: Call;
}

type OperationCheck = BehaviorCheck<Subject>;

const isReader = ({ method }: Operation) => method === 'GET' || method === 'HEAD';

const unknown: OperationCheck = {
  name: 'unknown',
  describe: 'An unknown ID returns nothing, and cannot be updated or deleted.',
  applies: ({ operation, context }) => {
    const name = lastParameter(operation.path);
    const isDeclared = declares(operation, 404) || operation.responses.some(({ status }) => status === '4XX');
    const isUnchecked = declaredKind(operation, 'updates') === false || declaredKind(operation, 'deletes') === false;
    if (!isReader(operation) && (isUnchecked || !isDeclared || isPutCreation(operation, context.session.operations)))
      return false;
    const isReference = name !== undefined && (isOwnId(name) || kindOfReference(name) !== undefined);
    return isDeclared || (isReference && rowsSchema(context.session.document, responseSchema(operation)) !== undefined);
  },
  async run({ context: { session }, operation, known }, label) {
    const name = lastParameter(operation.path) ?? '';
    const call = need(withUnknownId(session, known, session.seedFor(`nobody ${label}`)));
    if (!(await isHarmless(session, call))) return undefined;
    const exchange = await session.send(call);
    // Codes of a few letters are often generated twice, also for a resource that was created a moment ago.
    if (session.pool.isCreated(operation, name, call.path[name])) return undefined;
    const rows = rowsSchema(session.document, responseSchema(operation));
    // An empty list is a valid response for an unknown parent.
    if (!isSuccess(exchange) || (rows !== undefined && (rowsIn(exchange, rows.member) ?? []).length === 0)) return [];
    const node = operation.parameters.find((one) => one.in === 'path' && one.name === name)?.node;
    const facts = { actual: responseText(exchange), node, exchanges: [exchange] };
    return [differ(isReader(operation) ? 'read-unknown' : 'change-unknown', operation, '', facts)];
  },
};

function withValue(call: Call, parameter: Parameter, value: unknown): Call {
  const { [parameter.name]: _before, ...others } = call[groupOf(parameter)];
  return { ...call, [groupOf(parameter)]: value === undefined ? others : { ...others, [parameter.name]: value } };
}

const omitted: OperationCheck = {
  name: 'omitted',
  describe: 'A read without a parameter equals a read with its default.',
  applies: ({ operation }) => operation.method === 'GET' || isReadingPost(operation),
  run: (subject) => anyOf(...subject.operation.parameters.map((one) => () => withoutParameter(subject, one))),
};

async function withoutParameter({ context, operation, known }: Subject, parameter: Parameter): Promise<Difference[]> {
  const { session } = context;
  const { in: place, name, required, schema, node } = parameter;
  const value = schema.default ?? undefined;
  // The list checks cover query parameters of lists.
  const isCovered = place === 'query' && hasRows(session.document, operation);
  needs(place !== 'path' && !required && value !== undefined && !isCovered && extensionOf(node).default !== false);
  const send = async (one: unknown) => {
    const exchange = await session.send(withValue(known, parameter, one));
    needs(isSuccess(exchange));
    return exchange;
  };
  const [without, withIt, again] = [await send(undefined), await send(value), await send(undefined)];
  const other = firstDifference(without, withIt, again);
  if (other === undefined) return [];
  const expected = `as with ${text(value)}: ${other.place} is ${text(other.present)}`;
  const facts = { expected, actual: `${other.place} is ${text(other.omitted)}`, node, exchanges: [withIt, without] };
  return [differ('default-ignored', operation, name, facts)];
}

/** The first difference between two responses that is not also between two identical requests. */
function firstDifference(
  ...exchanges: readonly Exchange[]
): { place: string; omitted: unknown; present: unknown } | undefined {
  const [left, right, same] = exchanges.map(({ response: { json, headers, text: body } }) => {
    if (json !== undefined) return leavesOf(json.value);
    const lines = /^text\//.test(headers['content-type'] ?? '') ? body.split('\n') : [];
    return new Map<string, unknown>(lines.map((line, index) => [`line ${index + 1}`, line]));
  });
  if (left === undefined || right === undefined || same === undefined) return undefined;
  const isSteady = (place: string) => left.has(place) === same.has(place) && left.get(place) === same.get(place);
  const place = [...left.keys(), ...right.keys()].find((one) => left.get(one) !== right.get(one) && isSteady(one));
  return place === undefined ? undefined : { place, omitted: left.get(place), present: right.get(place) };
}

/** The scalar values of a response, by pointer. */
function leavesOf(value: unknown, pointer = '', leaves = new Map<string, unknown>()): Map<string, unknown> {
  if (typeof value !== 'object' || value === null) return leaves.set(pointer, value);
  for (const [name, item] of Object.entries(value)) leavesOf(item, `${pointer}/${name}`, leaves);
  return leaves;
}

const chosen: OperationCheck = {
  name: 'members',
  describe: 'A parameter of a read that selects properties returns them.',
  applies: ({ context, operation }) => operation.method === 'GET' && !hasRows(context.session.document, operation),
  run: (subject) => anyOf(...subject.operation.parameters.map((one) => () => chosenBy(subject, one))),
};

async function chosenBy({ context, operation, known }: Subject, parameter: Parameter): Promise<Difference[]> {
  const { session } = context;
  const { name, node, in: place, required } = parameter;
  needs(place === 'query' && !required);
  const shape = shapeOf(session.document, parameter.schema);
  const schema = need(responseSchema(operation));
  const chooser = need(chooserOf(session.document, name, shape, schema, extensionOf(node).only === true));
  const send = async (value: unknown) => {
    const exchange = await session.send(withValue(known, parameter, value));
    const shown = exchange.response.json?.value;
    return isSuccess(exchange) && isObject(shown) ? { resources: [shown], exchange } : undefined;
  };
  const differences = await chosenDifferences(chooser, need(await send(undefined)), send);
  return differences.map((facts) => differ('members-chosen', operation, name, { ...facts, node }));
}

/** A number that aggregates a nested list: the sum to calculate, or the number of rows. */
interface Tally {
  readonly name: string;
  readonly list: Operation;
  readonly sum: Sum | undefined;
}

const counts: OperationCheck = {
  name: 'counts',
  describe: 'Counts and declared sums agree with the list below the resource: `tripsCount` with `/trips`.',
  applies: ({ operation }) => operation.method === 'GET',
  run: (subject) => {
    const tallies = talliesOf(subject.context, subject.operation);
    return anyOf(...tallies.map((tally) => () => counted(subject, tally)));
  },
};

async function counted({ context, operation, known }: Subject, { name, list, sum }: Tally): Promise<Difference[]> {
  const { session, baselines } = context;
  // Prefers a parent whose rows were created and deleted: manually maintained counts fail there first.
  const creation = session.operations.find(({ method, path }) => method === 'POST' && path === list.path);
  const { path } = need((creation && baselines.of(creation)) ?? baselines.of(list)).call;
  const all = need(await readCollection(context, list, path));
  needs(all.isComplete);
  const exchange = await session.send({ ...known, path: { ...known.path, ...path } });
  const returned = resourceIn(exchange)[name];
  const expected = need(sum === undefined ? new Big(all.rows.length) : sumOver(all.rows, sum));
  needs(isSuccess(exchange) && numberOf(returned) !== undefined);
  if (agrees(returned, expected)) return [];
  const { node } = View.ofResponse(session.document, operation).member(name);
  const facts = { ...valued(name, expected.toFixed(), returned), node, exchanges: [all.exchange, exchange] };
  return [differ('count-disagrees', operation, name, facts)];
}

/** The aggregates in a response whose list exists below the same resource, without default filters. */
function talliesOf({ session: { document, operations } }: CheckContext, source: Operation): Tally[] {
  const schema = responseSchema(source);
  const resource = source.path.slice(0, source.path.lastIndexOf('}') + 1);
  if (resource === '' || rowsSchema(document, schema) !== undefined) return [];
  const beneath = operations.filter(
    ({ method, path, parameters }) =>
      method === 'GET' &&
      path.startsWith(`${resource}/`) &&
      !path.slice(resource.length + 1).includes('/') &&
      !parameters.some(leavesOut),
  );
  const view = View.of(document, schema);
  return view.names.flatMap((name) => {
    const { parts } = view.member(name);
    if (parts.some((part) => extensionOf(part).calculated === false)) return [];
    const [, before, after] = /^(?:(.+?)[-_]?(?:c|C)ount|(?:number_?[oO]f|num)[-_]?(.+))$/.exec(name) ?? [];
    const counted = parts.some(({ type }) => [type].flat().includes('integer')) ? (before ?? after) : undefined;
    const sum = parts.map(calculationOf).find((one) => one !== undefined && 'member' in one);
    const kind = counted ?? sum?.of;
    const list = beneath.find(
      (one) =>
        rowsSchema(document, responseSchema(one)) && kind !== undefined && kindOfPath(one.path) === singular(kind),
    );
    return list === undefined ? [] : [{ name, list, sum: counted === undefined ? sum : undefined }];
  });
}

/** Whether a list excludes rows by default: it has a boolean parameter, or a filter with a default. */
function leavesOut({ in: place, name, schema }: Parameter): boolean {
  const isPaging = /page|limit|size|offset|cursor|sort|order|direction|fields|include|expand/i.test(name);
  const isFlag = [schema.type].flat().includes('boolean');
  return place === 'query' && (isFlag || (!isPaging && schema.default !== undefined));
}

const headed: OperationCheck = {
  name: 'head',
  describe: 'HEAD returns the status and headers of GET.',
  applies: ({ operation }) => operation.method === 'HEAD',
  async run({ context: { session, baselines }, operation, known }) {
    const get = need(session.operations.find(({ method, path }) => method === 'GET' && path === operation.path));
    const ofGet = need(baselines.of(get)).call;
    const full = await session.send({ ...ofGet, path: { ...ofGet.path, ...known.path } });
    const bare = await session.send(known);
    const plain = (value = '') => value.toLowerCase().replaceAll(/\s/g, '').replace(/^w\//, '');
    const stated = (name: string, { response }: Exchange) =>
      name === 'status' ? String(response.status) : response.headers[name];
    const isOther = (name: string) => {
      const [one, other] = [stated(name, full), stated(name, bare)];
      return one !== undefined && other !== undefined && plain(one) !== plain(other);
    };
    const names = isOther('status') ? ['status'] : ['content-type', 'etag', 'last-modified'].filter(isOther);
    return names.map((name) => {
      const facts = valued(name, stated(name, full), stated(name, bare));
      return differ('head-differs', operation, name, { ...facts, exchanges: [full, bare] });
    });
  },
};

const linked: OperationCheck = {
  name: 'links',
  describe: 'Declared links to read operations work.',
  applies: ({ operation }) => operation.responses.some(({ links }) => Object.keys(links).length > 0),
  async run({ context: { session, baselines }, operation }, label) {
    const from = need(await baselines.again(operation, label));
    const { status } = from.exchange.response;
    const response = need(operation.responses.find((one) => one.status === String(status)));
    const found: Difference[] = [];
    for (const [name, link] of Object.entries(response.links)) {
      const target = session.operations.find(({ id }) => id === link.operationId);
      const known = target && baselines.of(target)?.call;
      const values = isObject(link.parameters) ? valuesOf(link.parameters, from.exchange, from.call.path) : undefined;
      if (target === undefined || known === undefined || values === undefined || !isReader(target)) continue;
      const placed = (place: string) =>
        Object.fromEntries(
          Object.entries(values).filter(([key]) =>
            target.parameters.some((one) => one.in === place && one.name === key),
          ),
        );
      const path = { ...known.path, ...placed('path') };
      const there = await session.send({ ...known, path, query: { ...known.query, ...placed('query') } });
      if (!isGone(there) && there.response.status !== 400) continue;
      const facts = { expected: `${target.id} succeeds with the values of the response`, actual: responseText(there) };
      found.push(differ('link', operation, name, { ...facts, node: link, exchanges: [from.exchange, there] }));
    }
    return found;
  },
};

/** The values of a link; undefined if the response lacks one of them. */
function valuesOf(parameters: JsonObject, exchange: Exchange, path: Call['path']): JsonObject | undefined {
  const values = Object.entries(parameters).map(([name, expression]): [string, unknown] => [
    name.replace(/^(?:path|query|header)\./, ''),
    evaluate(expression, exchange, path) ?? undefined,
  ]);
  return values.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(values);
}

/** Checks that do not require a create operation. */
export const operationChecks: readonly OperationCheck[] = [unknown, omitted, chosen, counts, headed, linked];
