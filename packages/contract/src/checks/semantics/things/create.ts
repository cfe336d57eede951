import type { Exchange } from '../../../http/call.ts';
import { escapeSegment, isObject, type JsonObject, put } from '../../../json.ts';
import { general } from '../../../judge/judge.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { locationIn } from './address.ts';
import type { Bench, Filling, Thing } from './bench.ts';
import { isNothing, isSame, isServerOwned, type Unlike, unlikes } from './compare.ts';
import { type Difference, type Look, text } from './probe.ts';
import { answerSchema, itemOf, memberNames, memberOf, partsOf, requestSchema, says } from './schema.ts';
import { thingIn } from './thing-in.ts';
import { saidFlag } from './vocabulary.ts';

/** What is sent comes back, in the answer and where it is read; with two values for what has few. */
export function echoed(bench: Bench): Look {
  return async (label) => {
    if (saidFlag(bench.resource.create, 'echo') === false) return undefined;
    const known = await echoOf(bench, `${label} known`, 'known');
    const varied = await echoOf(bench, `${label} varied`, 'varied');
    if (known === undefined && varied === undefined) return undefined;
    const found = [...(known ?? []), ...(varied ?? [])];
    return [...new Map(found.map((one) => [`${one.check} ${one.about}`, one])).values()];
  };
}

async function echoOf(bench: Bench, label: string, filling: Filling): Promise<Difference[] | undefined> {
  const { create, read } = bench.resource;
  const thing = await bench.make(label, filling);
  if (thing === undefined || thing.made.answer.status === 202) return undefined;
  const inAnswer = unlikesOf(bench, thing, thing.body, answerSchema(create, thing.made.answer.status))
    // An answer may be shorter than what is stored.
    .filter(({ shown }) => shown !== undefined)
    .map((unlike) => notEchoed(bench, thing, unlike, thing.made));
  if (read === undefined) {
    // That it is not in its list at all is found by itself.
    const shown = await bench.shown(thing);
    const unlike = shown === undefined ? [] : unlikesOf(bench, thing, shown.row, shown.schema);
    return [
      ...inAnswer,
      ...(shown === undefined ? [] : unlike.map((one) => notStored(bench, thing, one, shown.exchange))),
    ];
  }
  const exchange = await readSoon(bench, thing);
  if (exchange === undefined) return inAnswer;
  if (isGone(exchange)) return isReadSurely(bench, thing) ? [...inAnswer, lost(bench, thing, exchange)] : inAnswer;
  if (!isSuccess(exchange) || !isObject(exchange.answer.json?.value)) return inAnswer;
  const row = thingIn(exchange);
  const stored = unlikesOf(bench, thing, row, answerSchema(read, exchange.answer.status));
  return [
    ...inAnswer,
    ...stored.map((unlike) => notStored(bench, thing, unlike, exchange)),
    ...otherThanAnswered(bench, thing, row, exchange),
  ];
}

/** What a created thing differs in from what was sent. */
function unlikesOf(bench: Bench, { sent, call }: Thing, shown: JsonObject, schema: JsonObject | undefined): Unlike[] {
  const request = requestSchema(call.operation);
  if (request === undefined || schema === undefined) return [];
  const inner = innerSchemas(bench, schema, shown);
  return unlikes(bench.document, { value: sent, schemas: [request] }, { value: shown, schemas: inner });
}

/** The schemas of the thing, where it is wrapped in an object. */
export function innerSchemas({ document }: Bench, schema: JsonObject, shown: JsonObject): JsonObject[] {
  const names = memberNames(document, schema);
  const keys = Object.keys(shown);
  if (keys.length === 0 || keys.some((key) => names.includes(key))) return [schema];
  return names
    .flatMap((name) => memberOf(document, [schema], name))
    .flatMap((one) => [one, ...partsOf(document, one)])
    .slice(0, 4);
}

function notEchoed(
  bench: Bench,
  thing: Thing,
  { pointer, sent, shown, schema }: Unlike,
  exchange: Exchange,
): Difference {
  const member = general(pointer).slice(1).replaceAll('/', '.');
  return {
    check: 'create-echo',
    operation: bench.resource.create,
    about: member,
    title: `The answer shows another ${member} than was sent`,
    expected: `${member}: ${text(sent)}`,
    actual: `${member}: ${text(shown)}`,
    node: schema,
    fix: `Answer ${member} as it was sent, or describe it as a member that the server decides on (readOnly).`,
    exchanges: [thing.made, exchange].slice(0, 1),
  };
}

function notStored(
  bench: Bench,
  thing: Thing,
  { pointer, sent, shown, schema }: Unlike,
  exchange: Exchange,
): Difference {
  const member = general(pointer).slice(1).replaceAll('/', '.');
  return {
    check: 'create-lost',
    operation: bench.resource.create,
    about: member,
    title:
      shown === undefined || shown === null
        ? `${member} is sent and not stored`
        : `${member} is stored otherwise than it was sent`,
    expected: `${member}: ${text(sent)} where it is read`,
    actual: `${member}: ${text(shown)}`,
    node: schema,
    fix: `Store ${member} as it was sent, or describe it as a member that the server decides on (readOnly).`,
    exchanges: [thing.made, exchange],
  };
}

function lost(bench: Bench, thing: Thing, exchange: Exchange): Difference {
  return {
    check: 'create-lost',
    operation: bench.resource.create,
    about: '',
    title: `What ${bench.resource.create.id} made cannot be read`,
    expected: `${bench.resource.read?.id} shows ${text(thing.id)}`,
    actual: `${exchange.answer.status} ${exchange.answer.text.slice(0, 120)}`,
    fix: 'Store what is created before the answer says that it is.',
    exchanges: [thing.made, exchange],
  };
}

/** Members in which the answer of the creation and what is read after it differ. */
function otherThanAnswered(bench: Bench, thing: Thing, row: JsonObject, exchange: Exchange): Difference[] {
  const { create, read } = bench.resource;
  if (read === undefined) return [];
  const [before, after] = [answerSchema(create, thing.made.answer.status), answerSchema(read)];
  if (before === undefined || after === undefined) return [];
  const names = memberNames(bench.document, before).filter(
    (name) => memberOf(bench.document, [after], name).length > 0,
  );
  return names
    .filter((name) => isTelling(name) && isScalar(thing.body[name]) && isScalar(row[name]) && !(name in thing.sent))
    .filter((name) => !isSame(thing.body[name], row[name], { name }))
    .map((name) => ({
      check: 'create-answer',
      operation: create,
      about: name,
      title: `${create.id} answers another ${name} than is read afterwards`,
      expected: `${name}: ${text(row[name])}, as ${read.id} has it`,
      actual: `${name}: ${text(thing.body[name])}`,
      node: memberOf(bench.document, [before], name)[0],
      fix: `Answer ${name} as it is stored.`,
      exchanges: [thing.made, exchange],
    }));
}

/** Whether a member stays as it is while nobody writes. */
export function isTelling(name: string): boolean {
  return (
    !/(?:status|state|phase|progress|count|total|url|href|link|token|secret|expires|remaining|age|last|seen|position|rank)/i.test(
      name,
    ) && !/(?:at|on)$|(?:A|_a)t$|(?:D|_d)ate$|updated|modified|version|etag|revision/i.test(name)
  );
}

export function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

export function isGone({ answer }: Exchange): boolean {
  return answer.status === 404 || answer.status === 410;
}

/** Whether more than names says that a created thing can be read. */
function isReadSurely(bench: Bench, { made }: Thing): boolean {
  const { read, isReadSure } = bench.resource;
  return isReadSure || bench.isReadable || (read !== undefined && locationIn(read, made) !== undefined);
}

/** Some servers need a moment until others see what was written. */
async function readSoon(bench: Bench, thing: Thing): Promise<Exchange | undefined> {
  const read = await bench.read(thing);
  if (read === undefined || !isGone(read)) return read;
  await new Promise((resolve) => setTimeout(resolve, 300));
  return bench.read(thing);
}

/** What is left out and has a default comes back as the default, in the thing and in what is in it. */
export function defaulted(bench: Bench): Look {
  return async (label) => {
    const schema = requestSchema(bench.resource.create);
    if (schema === undefined) return undefined;
    const least = await defaultsIn(bench, schema, await bench.make(label, 'least'));
    const known = await defaultsIn(bench, schema, await bench.make(`${label} known`));
    if (least === undefined && known === undefined) return undefined;
    return [...new Map([...(least ?? []), ...(known ?? [])].map((one) => [one.about, one])).values()];
  };
}

async function defaultsIn(
  bench: Bench,
  schema: JsonObject,
  thing: Thing | undefined,
): Promise<Difference[] | undefined> {
  if (thing === undefined) return undefined;
  const { create } = bench.resource;
  const shown = await bench.shown(thing);
  const row = shown?.row ?? thing.body;
  const answer = shown?.schema ?? answerSchema(shown === undefined ? create : (bench.resource.read ?? create));
  const told = answer === undefined ? [] : innerSchemas(bench, answer, row);
  const sides = { sent: thing.sent, asked: [schema], shown: row, told, pointer: '' };
  return leftOut(bench, sides)
    .filter(({ pointer, source }) =>
      // A branch that does not have it has no default of it.
      bench.session.validators.accepts(schema, put(thing.sent, pointer, source.default), 'request'),
    )
    .map(({ pointer, source, actual }) => {
      const name = general(pointer).slice(1).replaceAll('/', '.');
      return {
        check: 'create-default',
        operation: create,
        about: name,
        title: `${name} is left out and does not become its default`,
        expected: `${name}: ${text(source.default)}`,
        actual: `${name}: ${text(actual)}`,
        node: source,
        fix: `Store ${text(source.default)} where ${name} is left out, or declare another default.`,
        exchanges: [thing.made, shown?.exchange],
      };
    });
}

/** An object that was sent and what is shown of it, each with its schemas. */
interface Sides {
  readonly sent: JsonObject;
  readonly asked: readonly JsonObject[];
  readonly shown: JsonObject;
  readonly told: readonly JsonObject[];
  readonly pointer: string;
}

/** Members with a default that were left out, and are shown with another value. */
function leftOut(
  bench: Bench,
  { sent, asked, shown, told, pointer }: Sides,
): { readonly pointer: string; readonly source: JsonObject; readonly actual: unknown }[] {
  const { document } = bench;
  const names = asked.flatMap((one) => memberNames(document, one));
  return [...new Set(names)].flatMap((name) => {
    const [ofSent, ofShown] = [memberOf(document, asked, name), memberOf(document, told, name)];
    const at = `${pointer}/${escapeSegment(name)}`;
    const [given, got] = [sent[name], shown[name]];
    if (name in sent) {
      if (isObject(given) && isObject(got))
        return leftOut(bench, { sent: given, asked: ofSent, shown: got, told: ofShown, pointer: at });
      const [first, other] = [given, got].map((list) => (Array.isArray(list) ? (list[0] as unknown) : undefined));
      if (!isObject(first) || !isObject(other)) return [];
      const [items, rows] = [itemOf(document, ofSent), itemOf(document, ofShown)];
      return leftOut(bench, { sent: first, asked: items, shown: other, told: rows, pointer: `${at}/0` });
    }
    const source = ofSent.flatMap((one) => partsOf(document, one)).find((part) => 'default' in part);
    if (source === undefined || ofShown.length === 0 || isServerOwned(name)) return [];
    const fallback = source.default;
    const isTelling = !isObject(fallback) && !Array.isArray(fallback) && !isObject(got) && !Array.isArray(got);
    const isWithheld = says(document, [...ofSent, ...ofShown], 'writeOnly');
    const isNone = got === undefined && (isNothing(fallback) || fallback === false || fallback === 0);
    return !isTelling || isWithheld || isNone || isSame(fallback, got, { name, isWord: true })
      ? []
      : [{ pointer: at, source, actual: got }];
  });
}
