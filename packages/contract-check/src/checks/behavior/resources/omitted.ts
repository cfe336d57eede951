import type { Operation, Parameter } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isReadingPost } from '../../../run/names.ts';
import { shapeOf } from '../../../schema/shape.ts';
import type { CheckContext } from '../../check.ts';
import { chooserOf, chosenDifferences } from '../lists/chosen-members.ts';
import { parameterVocabulary } from '../lists/vocabulary.ts';
import { type Difference, type Observation, text } from './probe.ts';
import { hasRows } from './resource-types.ts';
import { memberOf, responseSchema } from './schema.ts';

/** Checks that a read without a parameter equals a read with the parameter's default. */
export function omitted(context: CheckContext, operation: Operation): Observation {
  const known = context.baselines.of(operation)?.call;
  // The list checks cover query parameters of lists.
  const isList = hasRows(context.session.document, operation);
  const defaulted = operation.parameters.filter((one) => hasDefault(one) && !(isList && one.in === 'query'));
  return async () => {
    if (known === undefined || !(operation.method === 'GET' || isReadingPost(operation))) return undefined;
    const chosen = isList ? [] : await chosenOf(context, operation, known);
    const found: Difference[] = [...chosen];
    let isSeen = chosen.length > 0;
    for (const parameter of defaulted) {
      const without = await context.session.send(withValue(known, parameter, undefined));
      const withIt = await context.session.send(withValue(known, parameter, parameter.schema.default));
      const again = await context.session.send(withValue(known, parameter, undefined));
      if (![without, withIt, again].every(isSuccess)) continue;
      isSeen = true;
      const other = firstDifference(without, withIt, again) ?? otherText(without, withIt, again);
      if (other !== undefined) found.push(differenceOf(operation, parameter, other, [withIt, without]));
    }
    return isSeen ? found : undefined;
  };
}

/**
 * Checks parameters of a read that select properties: selected ones must be returned, and optional ones only on
 * request.
 */
async function chosenOf({ session }: CheckContext, operation: Operation, known: Call): Promise<Difference[]> {
  const schema = responseSchema(operation);
  if (schema === undefined) return [];
  const found: Difference[] = [];
  for (const parameter of operation.parameters.filter((one) => one.in === 'query' && !one.required)) {
    const shape = shapeOf(session.document, parameter.schema);
    const chooser = chooserOf(session.document, parameter.name, shape, schema);
    if (chooser === undefined) continue;
    const plain = await session.send(withValue(known, parameter, undefined));
    if (!isSuccess(plain) || !isObject(plain.response.json?.value)) continue;
    const resource = plain.response.json.value;
    const differs = (title: string, expected: string, actual: string, exchange: Exchange): Difference => ({
      check: 'members-chosen',
      operation,
      about: parameter.name,
      title,
      expected,
      actual,
      node: parameter.node,
      fix: 'Return the requested properties.',
      exchanges: exchange === plain ? [plain] : [plain, exchange],
    });
    const differences = await chosenDifferences(chooser, [resource], async (value) => {
      const exchange = await session.send(withValue(known, parameter, value));
      const shown = exchange.response.json?.value;
      return isSuccess(exchange) && isObject(shown) ? { resources: [shown], exchange } : undefined;
    });
    found.push(...differences.map((one) => differs(one.title, one.expected, one.actual, one.exchange)));
    const isOnlyOnRequest = (name: string) =>
      memberOf(session.document, [schema], name).some(({ description }) =>
        new RegExp(`\\bonly with [\`'"]?${parameter.name}=`, 'i').test(String(description ?? '')),
      );
    const unrequested = chooser.names.filter(
      (name) => chooser.kind === 'besides' && name in resource && isOnlyOnRequest(name),
    );
    if (unrequested.length > 0)
      found.push(
        differs(
          `Properties that require \`${parameter.name}\` are returned without it`,
          `no ${unrequested.join(', ')}`,
          `with ${unrequested.join(', ')}`,
          plain,
        ),
      );
  }
  return found;
}

function hasDefault({ in: place, required, schema, node }: Parameter): boolean {
  const value = schema.default;
  return (
    place !== 'path' && !required && value !== undefined && value !== null && parameterVocabulary(node).checksDefault
  );
}

const members = { path: 'path', query: 'query', header: 'headers', cookie: 'cookies' } as const;

function withValue(call: Call, { in: place, name }: Parameter, value: unknown): Call {
  const { [name]: _before, ...others } = call[members[place]];
  return { ...call, [members[place]]: value === undefined ? others : { ...others, [name]: value } };
}

interface Other {
  readonly pointer: string;
  readonly omitted: unknown;
  readonly present: unknown;
}

/** The first difference between two responses that is not also between two identical requests. */
function firstDifference(without: Exchange, withIt: Exchange, again: Exchange): Other | undefined {
  const [left, right, same] = [without, withIt, again].map((exchange) => leavesOf(exchange.response.json?.value));
  if (left === undefined || right === undefined || same === undefined) return undefined;
  const isSteady = (pointer: string) =>
    left.has(pointer) === same.has(pointer) && left.get(pointer) === same.get(pointer);
  const pointer = [...new Set([...left.keys(), ...right.keys()])].find(
    (one) => left.get(one) !== right.get(one) && isSteady(one),
  );
  return pointer === undefined ? undefined : { pointer, omitted: left.get(pointer), present: right.get(pointer) };
}

/** Compares text responses such as CSV, if they are stable. */
function otherText(without: Exchange, withIt: Exchange, again: Exchange): Other | undefined {
  const responses = [without, withIt, again].map(({ response }) => response);
  const isText = responses.every(
    ({ json, headers }) => json === undefined && /^text\//.test(headers['content-type'] ?? ''),
  );
  if (!isText || without.response.text !== again.response.text || without.response.text === withIt.response.text)
    return undefined;
  const [left, right] = [without, withIt].map(({ response }) => response.text.split('\n'));
  const line = left?.findIndex((one, index) => one !== right?.[index]) ?? 0;
  return { pointer: `line ${line + 1}`, omitted: left?.[line], present: right?.[line] };
}

/** The scalar values of a response, by pointer. */
function leavesOf(value: unknown, pointer = '', leaves = new Map<string, unknown>()): Map<string, unknown> {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) leavesOf(item, `${pointer}/${index}`, leaves);
  else if (isObject(value))
    for (const [name, item] of Object.entries(value)) leavesOf(item, `${pointer}/${name}`, leaves);
  else leaves.set(pointer, value);
  return leaves;
}

function differenceOf(operation: Operation, parameter: Parameter, other: Other, exchanges: Exchange[]): Difference {
  const { name, schema, node } = parameter;
  return {
    check: 'default-ignored',
    operation,
    about: name,
    title: `A request without \`${name}\` differs from a request with its default ${text(schema.default)}`,
    expected: `as with ${text(schema.default)}: ${other.pointer} is ${text(other.present)}`,
    actual: `${other.pointer} is ${text(other.omitted)}`,
    node,
    fix: 'Apply the declared default, or declare the default that applies.',
    exchanges,
  };
}
