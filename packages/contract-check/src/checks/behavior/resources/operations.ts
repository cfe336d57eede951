import { extensionOf, groupOf, type Operation, type Parameter, pathParameter } from '../../../document/operation.ts';
import { shapeOf } from '../../../document/shape.ts';
import { type Call, type Exchange, isSuccess } from '../../../http/call.ts';
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
import { ifSent } from '../../../run/parallel.ts';
import { View } from '../../../schema/view.ts';
import { type BehaviorCheck, type CheckContext, type Differences, differ, need, needs, text } from '../../observe.ts';
import { resourceIn } from './compare.ts';
import { declaredKind, declares } from './resource-types.ts';

/** An operation, and a call of it that succeeds. */
interface Subject {
  readonly context: CheckContext;
  readonly operation: Operation;
  readonly known: Call;
}

const isReader = ({ method }: Operation) => method === 'GET' || method === 'HEAD';

/** Whether the contract says what happens with an ID that does not exist. */
function isDecided({ operation, context: { session } }: Subject, name: string | undefined): boolean {
  const isDeclared = declares(operation, 404) || operation.responses.some(({ status }) => status === '4XX');
  const isUnchecked = declaredKind(operation, 'updates') === false || declaredKind(operation, 'deletes') === false;
  if (!isReader(operation) && (isUnchecked || !isDeclared || isPutCreation(operation, session.operations)))
    return false;
  const isReference = name !== undefined && (isOwnId(name) || kindOfReference(name) !== undefined);
  return isDeclared || (isReference && rowsOf(session.document, operation) !== undefined);
}

/** An unknown ID returns nothing, and cannot be updated or deleted. */
async function* unknown(subject: Subject, label: string): Differences {
  const { context, operation, known } = subject;
  const { session } = context;
  const name = lastParameter(operation.path);
  if (!isDecided(subject, name)) return;
  const call = need(withUnknownId(session, known, session.seedFor(`nobody ${label}`)));
  needs(await isHarmless(session, call));
  const exchange = await session.send(call);
  // Codes of a few letters are often generated twice, also for a resource that was created a moment ago.
  needs(!session.pool.isCreated(operation, name ?? '', call.path));
  const rows = rowsOf(session.document, operation);
  const shown = rows === undefined ? exchange.response.json?.value : (rowsIn(exchange, rows) ?? []);
  // An empty list is a valid response for an unknown parent.
  if (!isSuccess(exchange) || (Array.isArray(shown) && shown.length === 0)) return;
  const node = pathParameter(operation, name)?.node;
  const check = isReader(operation) ? 'read-unknown' : 'change-unknown';
  yield differ(check, operation, '', { node, exchanges: [exchange] });
}

/** A read without a parameter equals a read with its default. */
async function* omitted({ context, operation, known }: Subject, parameter: Parameter): Differences {
  const { session } = context;
  const { in: place, name, required, schema, node } = parameter;
  const value = schema.default ?? undefined;
  // The list checks cover query parameters of lists.
  const isCovered = place === 'query' && hasRows(session.document, operation);
  needs(operation.method === 'GET' || isReadingPost(operation));
  needs(place !== 'path' && !required && value !== undefined && !isCovered && extensionOf(node).default !== false);
  const { [name]: _before, ...others } = known[groupOf(parameter)];
  const send = async (values: Readonly<Record<string, unknown>>) => {
    const exchange = await session.send({ ...known, [groupOf(parameter)]: values });
    needs(isSuccess(exchange));
    return exchange;
  };
  const [without, withIt, again] = [await send(others), await send({ ...others, [name]: value }), await send(others)];
  const [absent = '', present = '', repeated] = [without, withIt, again].map(({ response }) => response.text);
  if (absent === present || absent !== repeated) return;
  const start = Math.max(0, [...absent].findIndex((letter, index) => letter !== present[index]) - 40);
  const expected = `as with ${text(value)}: ${present.slice(start, start + 120)}`;
  const facts = { expected, actual: absent.slice(start, start + 120), node, exchanges: [withIt, without] };
  yield differ('default-ignored', operation, name, facts);
}

/** Parameters that name the properties to return, instead of all or in addition. */
const projecting = /^(?:fields?|select|columns|attributes|properties)$/i;
const including = /^(?:includes?|expand|embed|populate|with)$/i;

interface Look {
  readonly exchange: Exchange;
  readonly rows: readonly JsonObject[];
  has(word: string): boolean;
}

/** A parameter that names properties decides which are returned: every one that it names. */
async function* selection({ context, operation, known }: Subject, parameter: Parameter): Differences {
  const { session } = context;
  const { document } = session;
  const { name, node, schema } = parameter;
  const isProjecting = projecting.test(name);
  needs(operation.isReading && parameter.in === 'query' && (isProjecting || including.test(name)));
  const shape = shapeOf(document, schema);
  const isList = shape.types.has('array');
  const listed = (isList ? shapeOf(document, ...(shape.items ?? [])) : shape).enum?.map(String);
  const rows = rowsOf(document, operation);
  const view = rows === undefined ? View.ofResponse(document, operation) : View.of(document, rows.schema);
  /** The properties that may be left out. */
  const optional = view.names.filter((one) => !isOwnId(one) && !view.requires(one));
  let { path } = known;
  const look = async (words: readonly string[]): Promise<Look> => {
    const { [name]: _before, ...others } = known.query;
    const value = isList ? words : words.join(',');
    needs(words.length === 0 || session.validators.accepts(schema, value));
    const query = words.length === 0 ? others : { ...others, [name]: value };
    const exchange = await session.send({ ...known, path, query });
    needs(isSuccess(exchange));
    const found = (rows === undefined ? [resourceIn(exchange)] : rowsIn(exchange, rows)) ?? [];
    // JSON:API has what is included beside the resource.
    const included: unknown = Object(exchange.response.json?.value).included;
    const isBeside = Array.isArray(included) && included.length > 0;
    const has = (word: string) => found.some((row) => (row[word] ?? undefined) !== undefined);
    return { exchange, rows: found, has: (word) => has(word) || (isBeside && !view.names.includes(word)) };
  };
  let plain = await look([]);
  const differs = (words: readonly string[], actual: string, { exchange }: Look) => {
    const facts = { expected: `${name}=${words.join(',')} decides`, actual, node };
    return differ('selection-ignored', operation, name, { ...facts, exchanges: [plain.exchange, exchange] });
  };
  const without = (words: readonly string[]) => `without ${words.join(', ')}`;
  if (isProjecting) {
    const possible = (listed ?? optional).filter((one) => view.names.includes(one) && !isOwnId(one));
    const words = possible.filter(plain.has).slice(-2);
    needs(words.length === 2);
    const narrow = await look(words);
    const lost = words.filter((word) => !narrow.has(word));
    const kept = optional.filter((one) => plain.has(one) && !words.includes(one));
    if (lost.length > 0) yield differs(words, without(lost), narrow);
    else if (kept.length > 0 && kept.every(narrow.has)) yield differs(words, `with ${kept.join(', ')}`, narrow);
    return;
  }
  const isFlat = operation.responses.some(({ contents }) => contents.some(({ flat }) => flat !== undefined));
  const isRelated = (one: string) => optional.includes(one) || (isFlat && view.names.includes(`${one}Id`));
  const words = (listed ?? []).filter(isRelated).slice(0, 4);
  needs(words.length > 0);
  // Of what refers to nothing, nothing can be included.
  const last = lastParameter(operation.path) ?? '';
  const others = rows === undefined ? session.pool.forParameter(operation, last, false).likely.slice(0, 6) : [];
  for (const id of others) {
    if (words.some((word) => refersTo(plain, word))) break;
    path = { ...path, [last]: id };
    plain = (await ifSent(() => look([]))) ?? plain;
  }
  const shown: string[] = [];
  for (const word of words) {
    const wide = await look([word]);
    const isPossible = wide.rows.length > 0 && view.member(word).isList;
    if (wide.has(word)) shown.push(word);
    else if (isPossible || refersTo(wide, word)) yield differs([word], `no ${word}`, wide);
    if (wide.has(word) && plain.has(word) && schema.default === undefined)
      yield differs([word], `${word} without it, too`, wide);
  }
  if (shown.length < 2) return;
  const all = await look(shown);
  const lost = shown.filter((word) => !all.has(word));
  if (lost.length > 0) yield differs(shown, without(lost), all);
}

const refersTo = ({ rows }: Look, word: string) =>
  rows.some((row) => (row[`${word}_id`] ?? row[`${word}Id`] ?? undefined) !== undefined);

/** Checks that do not require a create operation. */
export function operationChecks({ parameters }: Operation): BehaviorCheck<Subject>[] {
  const ofParameter = (parameter: Parameter): BehaviorCheck<Subject>[] => [
    (subject) => omitted(subject, parameter),
    (subject) => selection(subject, parameter),
  ];
  return [unknown, ...parameters.flatMap(ofParameter)];
}
