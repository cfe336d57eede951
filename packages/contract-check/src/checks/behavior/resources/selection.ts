import type { Operation, Parameter } from '../../../document/operation.ts';
import { shapeOf } from '../../../document/shape.ts';
import { type Call, type Exchange, isSuccess } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isOwnId, lastParameter, rowsIn, rowsOf } from '../../../run/names.ts';
import { ifSent } from '../../../run/parallel.ts';
import { View } from '../../../schema/view.ts';
import { type CheckContext, type Differences, differ, needs } from '../../observe.ts';
import { resourceIn } from './compare.ts';

export interface Subject {
  readonly context: CheckContext;
  readonly operation: Operation;
  readonly known: Call;
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
export async function* selection({ context, operation, known }: Subject, parameter: Parameter): Differences {
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
    needs(words.length === 0 || session.validators.accepts(schema, value, 'request'));
    const query = words.length === 0 ? others : { ...others, [name]: value };
    const exchange = await session.send({ ...known, path, query });
    needs(isSuccess(exchange));
    const found = (rows === undefined ? [resourceIn(exchange)] : rowsIn(exchange, rows)) ?? [];
    return { exchange, rows: found, has: (word) => found.some((row) => (row[word] ?? undefined) !== undefined) };
  };
  let plain = await look([]);
  const differs = (words: readonly string[], actual: string, { exchange }: Look) =>
    differ('selection-ignored', operation, name, {
      expected: `${name}=${words.join(',')} decides`,
      actual,
      node,
      exchanges: [plain.exchange, exchange],
    });
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
  const words = optional.filter((one) => listed?.includes(one)).slice(0, 4);
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
