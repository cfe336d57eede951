import { extensionOf, groupOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { shapeOf } from '../../../document/shape.ts';
import { responseText } from '../../../finding/finding.ts';
import { type Call, isSuccess } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isHarmless, withUnknownId } from '../../../run/ids.ts';
import {
  hasRows,
  isOwnId,
  isPutCreation,
  isReadingPost,
  kindOfReference,
  lastParameter,
  rowsIn,
  rowsOf,
} from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, need, needs, text } from '../observe.ts';
import { resourceIn } from './compare.ts';
import { declaredKind, declares } from './resource-types.ts';

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
    return isDeclared || (isReference && rowsOf(context.session.document, operation) !== undefined);
  },
  async run({ context: { session }, operation, known }, label) {
    const name = lastParameter(operation.path) ?? '';
    const call = need(withUnknownId(session, known, session.seedFor(`nobody ${label}`)));
    if (!(await isHarmless(session, call))) return undefined;
    const exchange = await session.send(call);
    // Codes of a few letters are often generated twice, also for a resource that was created a moment ago.
    if (session.pool.isCreated(operation, name, call.path)) return undefined;
    const rows = rowsOf(session.document, operation);
    const shown = rows === undefined ? exchange.response.json?.value : (rowsIn(exchange, rows) ?? []);
    // An empty list is a valid response for an unknown parent.
    if (!isSuccess(exchange) || (Array.isArray(shown) && shown.length === 0)) return [];
    const node = operation.parameters.find((one) => one.in === 'path' && one.name === name)?.node;
    const facts = { actual: responseText(exchange), node, exchanges: [exchange] };
    return [differ(isReader(operation) ? 'read-unknown' : 'change-unknown', operation, '', facts)];
  },
};

const omitted = (parameter: Parameter): OperationCheck => ({
  name: `omitted ${parameter.in} ${parameter.name}`,
  describe: 'A read without a parameter equals a read with its default.',
  applies: ({ operation }) => operation.method === 'GET' || isReadingPost(operation),
  run: (subject) => withoutParameter(subject, parameter),
});

async function withoutParameter({ context, operation, known }: Subject, parameter: Parameter): Promise<Difference[]> {
  const { session } = context;
  const { in: place, name, required, schema, node } = parameter;
  const value = schema.default ?? undefined;
  // The list checks cover query parameters of lists.
  const isCovered = place === 'query' && hasRows(session.document, operation);
  needs(place !== 'path' && !required && value !== undefined && !isCovered && extensionOf(node).default !== false);
  const { [name]: _before, ...others } = known[groupOf(parameter)];
  const send = async (values: Readonly<Record<string, unknown>>) => {
    const exchange = await session.send({ ...known, [groupOf(parameter)]: values });
    needs(isSuccess(exchange));
    return exchange;
  };
  const [without, withIt, again] = [await send(others), await send({ ...others, [name]: value }), await send(others)];
  const [omitted = '', present = '', repeated] = [without, withIt, again].map(({ response }) => response.text);
  if (omitted === present || omitted !== repeated) return [];
  const start = Math.max(0, [...omitted].findIndex((letter, index) => letter !== present[index]) - 40);
  const expected = `as with ${text(value)}: ${present.slice(start, start + 120)}`;
  const facts = { expected, actual: omitted.slice(start, start + 120), node, exchanges: [withIt, without] };
  return [differ('default-ignored', operation, name, facts)];
}

/** Parameters that name the properties to return, instead of all or in addition. */
const projecting = /^(?:fields?|select|columns|attributes|properties)$/i;
const including = /^(?:includes?|expand|embed|populate|with)$/i;

const selection = (parameter: Parameter): OperationCheck => ({
  name: `selection ${parameter.name}`,
  describe: 'A parameter that names properties decides which are returned: every one that it names.',
  applies: ({ operation }) =>
    operation.isReading &&
    parameter.in === 'query' &&
    (projecting.test(parameter.name) || including.test(parameter.name)),
  run: (subject) => selected(subject, parameter),
});

async function selected({ context, operation, known }: Subject, parameter: Parameter): Promise<Difference[]> {
  const { session } = context;
  const { document } = session;
  const { name, schema, node } = parameter;
  const { [name]: _before, ...otherQuery } = known.query;
  const shape = shapeOf(document, schema);
  const isList = shape.types.has('array');
  const declared = (isList ? shapeOf(document, ...(shape.items ?? [])) : shape).enum?.map(String);
  const list = rowsOf(document, operation);
  const view = list === undefined ? View.ofResponse(document, operation) : View.of(document, list.schema);
  const optional = view.names.filter((one) => !isOwnId(one) && !view.requires(one));
  const possible = (declared ?? optional).filter((one) => view.names.includes(one) && !isOwnId(one));
  let { path } = known;
  const look = async (words: readonly string[]) => {
    const value = isList ? words : words.join(',');
    needs(words.length === 0 || session.validators.accepts(schema, value, 'request'));
    const exchange = await session.send({
      ...known,
      path,
      query: words.length === 0 ? otherQuery : { ...otherQuery, [name]: value },
    });
    needs(isSuccess(exchange));
    const rows = (list === undefined ? [resourceIn(exchange)] : rowsIn(exchange, list)) ?? [];
    return { exchange, has: (word: string) => rows.some((row) => (row[word] ?? undefined) !== undefined), rows };
  };
  type Look = Awaited<ReturnType<typeof look>>;
  const refersTo = (row: JsonObject, word: string) =>
    (row[`${word}_id`] ?? row[`${word}Id`] ?? undefined) !== undefined;
  let plain = await look([]);
  const last = lastParameter(operation.path) ?? '';
  const others = list === undefined ? session.pool.forParameter(operation, last, false).likely.slice(0, 6) : [];
  // What refers to nothing includes nothing.
  for (const id of others) {
    if (plain.rows.some((row) => possible.some((word) => refersTo(row, word)))) break;
    path = { ...path, [last]: id };
    plain = (await ifSeen(() => look([]))) ?? plain;
  }
  const differs = (words: readonly string[], actual: string, { exchange }: Look) => {
    const facts = {
      expected: `${name}=${words.join(',')} decides`,
      actual,
      node,
      exchanges: [plain.exchange, exchange],
    };
    return differ('selection-ignored', operation, name, facts);
  };
  if (projecting.test(name)) {
    const words = possible.filter(plain.has).slice(-2);
    needs(words.length === 2);
    const narrow = await look(words);
    const lost = words.filter((word) => !narrow.has(word));
    const kept = optional.filter((one) => plain.has(one) && !words.includes(one));
    if (lost.length > 0) return [differs(words, `without ${lost.join(', ')}`, narrow)];
    return kept.length > 0 && kept.every(narrow.has) ? [differs(words, `with ${kept.join(', ')}`, narrow)] : [];
  }
  const found: Difference[] = [];
  const shown: string[] = [];
  for (const word of possible.filter((one) => optional.includes(one)).slice(0, 4)) {
    const wide = await look([word]);
    // Nothing can be included of what does not refer to anything.
    const refers = wide.rows.some((row) => refersTo(row, word));
    if (wide.has(word)) shown.push(word);
    else if (refers || (wide.rows.length > 0 && view.member(word).isList))
      found.push(differs([word], `no ${word}`, wide));
    if (wide.has(word) && plain.has(word) && parameter.schema.default === undefined)
      found.push(differs([word], `${word} without it, too`, wide));
  }
  if (shown.length < 2) return found;
  const all = await look(shown);
  const lost = shown.filter((word) => !all.has(word));
  return lost.length > 0 ? [...found, differs(shown, `without ${lost.join(', ')}`, all)] : found;
}

/** Checks that do not require a create operation. */
export function operationChecks({ parameters }: Operation): OperationCheck[] {
  return [unknown, ...parameters.flatMap((parameter) => [omitted(parameter), selection(parameter)])];
}
