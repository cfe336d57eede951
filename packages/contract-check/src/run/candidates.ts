import { type Content, type Operation, type Parameter, pathParameter } from '../document/operation.ts';
import { shapeOf } from '../document/shape.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isJson, isNumeric, isObject, jsonText, parsedJson, sizeOf } from '../json.ts';
import { itemResultsIn } from '../judge/outcome.ts';
import { inShortPeriods, inWholeNumbers } from '../schema/numbers.ts';
import { withKnownIds } from './ids.ts';
import {
  isCreating,
  isOwnId,
  isPutCreation,
  kindOfReference,
  lastParameter,
  pathNames,
  rowsIn,
  rowsOf,
} from './names.ts';
import type { Session } from './session.ts';

/** Generates possible calls of an operation from resources on the server, examples in the contract, and schemas. */
export class Candidates {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Values for the path and the required parameters, most likely first.
   *
   * @param onlyCreated whether the path must lead to something that the run created.
   */
  parameterSets(
    operation: Operation,
    onlyCreated: boolean,
    round: number,
  ): Pick<Call, 'path' | 'query' | 'headers' | 'cookies'>[] {
    const inPath = pathNames(operation.path).flatMap((name) => pathParameter(operation, name) ?? []);
    const [last] = inPath.slice(-1);
    const choices = inPath.map((parameter) => {
      const own = this.#valuesOf(operation, parameter, onlyCreated && parameter === last, round);
      return own.length > 0 ? own : this.#valuesOf(operation, parameter, false, round);
    });
    if (choices.some((values) => values.length === 0)) return [];
    const longest = Math.max(1, ...choices.map((values) => values.length));
    const isChosen = operation.parameters.some((parameter) => parameter.in === 'query' && parameter.required);
    const sets = Array.from({ length: Math.min(Math.max(longest, isChosen ? 6 : 1), 6) }, (_, index) => ({
      query: this.#required(operation, 'query', round, index),
      headers: this.#required(operation, 'header', round, index),
      cookies: this.#required(operation, 'cookie', round, index),
      path: this.#pathOf(operation, inPath, choices, index),
    }));
    const [first] = sets;
    const examples = inPath.map(({ name, examples: [example] }) => [name, example] as const);
    // The examples of a type in the path and of a key in the query can fit only each other.
    if (
      first !== undefined &&
      operation.isReading &&
      isChosen &&
      examples.every(([, example]) => example !== undefined)
    )
      sets.push({ ...first, path: Object.fromEntries(examples) });
    const isOwn = ({ path }: Pick<Call, 'path'>) =>
      inPath.some(({ name }) => this.#session.pool.isCreated(operation, name, path));
    const isNew = last !== undefined && isPutCreation(operation, this.#session.operations);
    return onlyCreated && !isNew ? sets.filter(isOwn) : sets;
  }

  /** The values of a path: a nested resource is selected with its own parents. */
  #pathOf(
    operation: Operation,
    inPath: readonly Parameter[],
    choices: readonly (readonly unknown[])[],
    index: number,
  ): Call['path'] {
    const path: Record<string, unknown> = {};
    for (const [at, { name }] of [...inPath.entries()].reverse()) {
      const values = choices[at] ?? [];
      path[name] ??= values[index % values.length];
      Object.assign(path, { ...this.#session.pool.contextOf(operation, name, path[name]), ...path });
    }
    return Object.fromEntries(inPath.map(({ name }) => [name, path[name]]));
  }

  /** Required parameters. Each turn uses other values, and no two parameters share a value. */
  #required(operation: Operation, place: Parameter['in'], round: number, turn: number): Record<string, unknown> {
    const { pool, identities } = this.#session;
    const isRequested = operation.responses.some(({ status }) => status === '428');
    // What an operation is about can be required without being declared so.
    const refers = (name: string) =>
      kindOfReference(name) !== undefined && pool.forParameter(operation, name, false).likely.length > 0;
    const needed = operation.parameters.filter(
      ({ in: where, name, required }) =>
        where === place &&
        (required || (isRequested && isCondition(name)) || (round > 0 && place === 'query' && refers(name))) &&
        // The identity sends these headers itself.
        !(place === 'header' && identities.callerHeaders.includes(name.toLowerCase())),
    );
    return Object.fromEntries(
      needed.map((parameter, index) => {
        const values = this.#valuesOf(operation, parameter, false, round);
        return [parameter.name, values[turn === 0 ? 0 : (turn + index) % values.length]];
      }),
    );
  }

  /** Values for a parameter: resources on the server, then examples, then values that the schema allows. */
  #valuesOf(operation: Operation, parameter: Parameter, onlyCreated: boolean, round: number): unknown[] {
    const { document, values, pool, validators, identities, versions } = this.#session;
    // Any version will do: another check covers stale versions.
    if (isCondition(parameter.name))
      return [validators.accepts(parameter.schema, '*') ? '*' : versions.placeholder(operation, parameter)];
    if (identities.values[parameter.name] !== undefined) return [identities.values[parameter.name]];
    const { likely, possible } = pool.forParameter(operation, parameter.name, onlyCreated);
    const accepted = likely.flatMap((value) => this.fit(parameter, value));
    const examples = parameter.examples.filter((value) => validators.accepts(parameter.schema, value));
    if (parameter.in === 'path' && accepted.length > 0) {
      // A word such as a type may mean something else in a known resource; the example belongs to this parameter.
      const isWord = !onlyCreated && !isOwnId(parameter.name) && kindOfReference(parameter.name) === undefined;
      return isWord ? [accepted[0], ...examples, ...accepted.slice(1)] : accepted;
    }
    const sameName = possible.flatMap((value) => this.fit(parameter, value));
    // An ID that does not exist cannot succeed. A path may still take a value from an enum, or a date.
    const isChosen = shapeOf(document, parameter.schema).enum !== undefined;
    const seed = this.#session.seedFor(`${operation.id} ${parameter.name} ${round}`);
    const sampled = values.sample(parameter.schema, 'most', seed);
    if (parameter.in === 'path' && onlyCreated && !isChosen) {
      const isPut =
        isPutCreation(operation, this.#session.operations) && parameter.name === lastParameter(operation.path);
      return isPut && sampled !== undefined ? [values.fresh(parameter.schema, sampled.value, seed)] : [];
    }
    const isReference = kindOfReference(parameter.name) !== undefined;
    return [
      ...(isReference ? accepted : []),
      ...shapeOf(document, parameter.schema).sources.flatMap((source) => ('default' in source ? [source.default] : [])),
      ...examples,
      ...sameName,
      ...(sampled === undefined ? [] : [sampled.value]),
      ...accepted,
    ];
  }

  /** A known value if the parameter's schema accepts it, converted between string and number if needed. */
  fit(parameter: Parameter, value: unknown): unknown[] {
    const isDigits = typeof value === 'string' && /^\d+$/.test(value);
    const number = isDigits ? (parsedJson(value.replace(/^0+(?=\d)/, ''))?.value ?? Number(value)) : undefined;
    const other = isNumeric(value) ? [String(value)] : isDigits ? [number] : [];
    const { validators } = this.#session;
    return [value, ...other].filter((one) => validators.accepts(parameter.schema, one)).slice(0, 1);
  }

  /** Bodies, most likely accepted first. */
  bodies(operation: Operation, round: number): Pick<Call, 'body' | 'mediaType'>[] {
    const { document } = this.#session;
    const contents = operation.body?.contents ?? [];
    // A form is better than JSON if it has a file.
    const isOfFiles = ({ mediaType, schema = {}, fields }: Content) =>
      mediaType.startsWith('multipart/') && [...shapeOf(document, schema).required].some((name) => fields.has(name));
    const content = contents.find(isOfFiles) ?? contents.find(({ mediaType }) => isJson(mediaType)) ?? contents[0];
    if (content === undefined) return [{ body: undefined, mediaType: undefined }];
    const { mediaType, schema } = content;
    if (schema === undefined) return [{ body: content.examples[0] ?? {}, mediaType }];
    const { values, validators } = this.#session;
    const seed = this.#session.seedFor(`${operation.id} body ${round}`);
    const isValid = (body: unknown) => validators.accepts(schema, body);
    const withIds = (options?: Parameters<typeof withKnownIds>[3]) => (body: unknown) =>
      withKnownIds(this.#session, operation, body, options);
    const samples = (['least', 'most', 'some', 'some'] as const).map((extent, index) =>
      values.sample(schema, extent, seed + index),
    );
    const exemplary = (['least', 'most'] as const).map((extent) => values.sample(schema, extent, seed, true));
    const valuesOf = (all: typeof samples) => all.flatMap((sample) => (sample === undefined ? [] : [sample.value]));
    const plain = [...content.examples.filter(isValid), ...valuesOf(samples)].slice(0, 9);
    const known = plain.map((body) => [withIds()(body), body].find(isValid) ?? body);
    // Operations that create must not touch existing resources. Small bodies come first, because every probe creates
    // one.
    const keyed = plain
      .map(withIds({ keepsKeys: true }))
      .filter(isValid)
      .toSorted((one, other) => sizeOf(one) - sizeOf(other));
    const others = [...valuesOf(exemplary), ...known].map(withIds({ byName: true })).filter(isValid);
    const few = keyed.slice(0, 4);
    const all = isCreating(operation) ? [...few, ...known, ...others] : [...known, ...few, ...others];
    const bodies = all.map((body) => [inShortPeriods(body), body].find(isValid));
    // Documents that are generated from TypeScript have no integers, but their servers can require these.
    const whole = bodies.map(inWholeNumbers).filter(isValid);
    const versioned = [...bodies.slice(0, 1), ...whole, ...bodies].map((body) =>
      this.#session.versions.placeholderIn(operation, body),
    );
    const unique = new Map(versioned.map((body) => [jsonText(body), body]));
    return [...unique.values()].map((body) => ({ body, mediaType }));
  }
}

const isCondition = (name: string) => /^if-match$/i.test(name);

/** The call without its failed items; undefined if they cannot be identified, or if none is left. */
export function withoutFailed(call: Call, exchange: Exchange): Call | undefined {
  const { body } = call;
  if (!isObject(body)) return undefined;
  const lists = Object.entries(body).filter(([, member]) => Array.isArray(member));
  const [name, items] = lists[0] ?? [];
  if (lists.length !== 1 || name === undefined || !Array.isArray(items)) return undefined;
  const failed = new Set(itemResultsIn(exchange)?.flatMap(({ index, isFailure }) => (isFailure ? [index] : [])));
  const kept: unknown[] = items.filter((_item, index) => !failed.has(index));
  return kept.length === 0 || kept.length === items.length ? undefined : { ...call, body: { ...body, [name]: kept } };
}

/** Whether a list is empty; another call may return rows. A created resource is not a list. */
export function hasNoRows({ document }: Session, exchange: Exchange): boolean {
  const { operation, response } = exchange;
  if (operation === undefined || isCreating(operation)) return false;
  return rowsIn(exchange, rowsOf(document, operation, response.status))?.length === 0;
}

/** Lists first, then operations that create, read and update; deletes come last. */
export function rank(operation: Operation): number {
  const isNamed = operation.path.includes('{');
  if (operation.isReading) return isNamed ? 2 : 0;
  if (operation.method === 'POST') return isNamed ? 3 : 1;
  return operation.method === 'DELETE' ? 5 : 4;
}
