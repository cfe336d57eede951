import { isDeepStrictEqual } from 'node:util';
import type { Operation, Parameter } from '../document/operation.ts';
import type { Call } from '../http/call.ts';
import { isJson } from '../http/serialize.ts';
import { sizeOf } from '../json.ts';
import { withKnownIds, withoutUnknownIds } from './known-ids.ts';
import { isMaking, isOwnId, isPutCreation, kindOfReference, lastParameter } from './names.ts';
import type { Session } from './session.ts';

/** What calls of an operation may be made of: what the server has, what the contract gives as examples, what schemas allow. */
export class Candidates {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Values for what must be sent in paths, queries, headers and cookies, the likeliest first. */
  parameterSets(
    operation: Operation,
    onlyCreated: boolean,
    round: number,
  ): Pick<Call, 'path' | 'query' | 'headers' | 'cookies'>[] {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    const choices = inPath.map((parameter) => this.#valuesOf(operation, parameter, onlyCreated, round));
    if (choices.some((values) => values.length === 0)) return [];
    const longest = Math.max(1, ...choices.map((values) => values.length));
    const others = (turn: number) => ({
      query: this.#required(operation, 'query', round, turn),
      headers: this.#required(operation, 'header', round, turn),
      cookies: this.#required(operation, 'cookie', round, turn),
    });
    const isChosen = operation.parameters.some((parameter) => parameter.in === 'query' && parameter.required);
    return Array.from({ length: Math.min(Math.max(longest, isChosen ? 6 : 1), 6) }, (_, index) => ({
      ...others(index),
      path: Object.fromEntries(
        inPath.map((parameter, at) => [parameter.name, choices[at]?.[index % (choices[at]?.length ?? 1)]]),
      ),
    }));
  }

  /** What must be sent; in each turn with other values, and no two parameters with the same of a list. */
  #required(operation: Operation, place: Parameter['in'], round: number, turn: number): Record<string, unknown> {
    const isRequested = operation.responses.some(({ status }) => status === '428');
    const needed = operation.parameters.filter(
      (parameter) =>
        parameter.in === place && (parameter.required || (isRequested && /^if-match$/i.test(parameter.name))),
    );
    return Object.fromEntries(
      needed
        // What an identity sends by itself need not be made up.
        .filter(({ name }) => place !== 'header' || !this.#isGiven(name))
        .map((parameter, index) => {
          const values = this.#valuesOf(operation, parameter, false, round);
          return [parameter.name, values[turn === 0 ? 0 : (turn + index) % values.length]];
        }),
    );
  }

  #isGiven(header: string): boolean {
    return this.#session.givenHeaders.includes(header.toLowerCase());
  }

  /** Values for a parameter: what the server has, then examples, then what the schema allows. */
  #valuesOf(operation: Operation, parameter: Parameter, onlyCreated: boolean, round: number): unknown[] {
    const { values, pool, validators, given } = this.#session;
    // Any version will do: what is stale is a check of its own.
    const isCondition = /^if-match$/i.test(parameter.name);
    if (isCondition && validators.accepts(parameter.schema, '*', 'request')) return ['*'];
    if (isCondition) return this.#tagToBe(operation, parameter);
    if (given[parameter.name] !== undefined) return [given[parameter.name]];
    const { likely, possible } = pool.forParameter(operation, parameter.name, onlyCreated);
    const fitting = likely.flatMap((value) => this.fit(parameter, value));
    const examples = parameter.examples.filter((value) => validators.accepts(parameter.schema, value, 'request'));
    if (parameter.in === 'path' && fitting.length > 0) {
      // A word such as a type may stand for something else in what the server has; the example is one of this very parameter.
      const isWord = !onlyCreated && !isOwnId(parameter.name) && kindOfReference(parameter.name) === undefined;
      return isWord ? [fitting[0], ...examples, ...fitting.slice(1)] : fitting;
    }
    const sameName = possible.flatMap((value) => this.fit(parameter, value));
    // An id that does not exist is no call that could succeed; but a path may take a word from a list, or a date.
    const isChosen = isClosedList(this.#session, parameter);
    const seed = this.#session.seedFor(`${operation.id} ${parameter.name} ${round}`);
    const sampled = values.sample(parameter.schema, 'request', 'most', seed);
    if (parameter.in === 'path' && onlyCreated && !isChosen) {
      const isPut =
        isPutCreation(operation, this.#session.operations) && parameter.name === lastParameter(operation.path);
      return isPut && sampled !== undefined ? [values.fresh(parameter.schema, sampled.value, seed)] : [];
    }
    const isReference = kindOfReference(parameter.name) !== undefined;
    const ids = this.#isId(parameter) ? pool.ids().flatMap((value) => this.fit(parameter, value)) : [];
    return [
      ...(isReference ? fitting : []),
      ...examples,
      ...sameName,
      ...(sampled === undefined ? [] : [sampled.value]),
      ...fitting,
      ...ids,
    ];
  }

  /** A text in place of the tag that the resource will have. */
  #tagToBe(operation: Operation, { schema, name }: Parameter): unknown[] {
    const { values, tagsToBe } = this.#session;
    const tag = values.sample(schema, 'request', 'some', this.#session.seedFor(`${operation.id} ${name}`))?.value;
    if (typeof tag === 'string') tagsToBe.add(tag);
    return [tag];
  }

  /** Whether the values of a parameter look like ids, whatever its name: then those of known resources may be meant. */
  #isId({ in: place, schema }: Parameter): boolean {
    return place === 'query' && this.#session.document.object(schema).format === 'uuid';
  }

  /** A known value where the parameter's schema takes it, as a text or a number as need be. */
  fit(parameter: Parameter, value: unknown): unknown[] {
    const forms = [
      value,
      typeof value === 'number'
        ? String(value)
        : typeof value === 'string' && /^\d+$/.test(value)
          ? Number(value)
          : undefined,
    ];
    const fitting = forms.find(
      (form) => form !== undefined && this.#session.validators.accepts(parameter.schema, form, 'request'),
    );
    return fitting === undefined ? [] : [fitting];
  }

  /** Bodies, the likeliest to be taken first. */
  bodies(operation: Operation, round: number): Pick<Call, 'body' | 'mediaType'>[] {
    const contents = operation.body?.contents ?? [];
    const content = contents.find(({ mediaType }) => isJson(mediaType)) ?? contents[0];
    if (content === undefined) return [{ body: undefined, mediaType: undefined }];
    const { mediaType, schema } = content;
    if (schema === undefined) return [{ body: content.examples[0] ?? {}, mediaType }];
    const { values, validators } = this.#session;
    const seed = this.#session.seedFor(`${operation.id} body ${round}`);
    const samples = (['least', 'most', 'some', 'some'] as const).map((extent, index) =>
      values.sample(schema, 'request', extent, seed + index),
    );
    const created = samples.filter((sample) => sample !== undefined).map(({ value }) => value);
    const examples = content.examples.filter((value) => validators.accepts(schema, value, 'request'));
    const isValid = (body: unknown) => validators.accepts(schema, body, 'request');
    const given = [...examples, ...created].slice(0, 9);
    const known = given.map((value) => {
      const body = withKnownIds(this.#session, operation, value);
      return isValid(body) ? body : value;
    });
    const isOther = (body: unknown, index: number) => !isDeepStrictEqual(body, known[index]) && isValid(body);
    const keyed = given.map((value) => withKnownIds(this.#session, operation, value, true)).filter(isOther);
    const modest = known.map((body) => withoutUnknownIds(this.#session, operation, body)).filter(isOther);
    // What makes is to make something new, and leave alone what is there; and little of it, because every probe creates one.
    const little = keyed.toSorted((one, other) => sizeOf(one) - sizeOf(other));
    const bodies = isMaking(operation) ? [...little.slice(0, 4), ...known] : [...known, ...keyed.slice(0, 4)];
    return [...bodies, ...modest.slice(0, 3)].map((body) => ({ body, mediaType }));
  }
}

function isClosedList(session: Session, parameter: Parameter): boolean {
  const schema = session.document.object(parameter.schema);
  return Array.isArray(schema.enum) || 'const' in schema;
}
