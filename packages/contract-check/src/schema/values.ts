import { isDeepStrictEqual } from 'node:util';
import { schemaNamed } from '../document/discriminators.ts';
import type { OpenApiDocument } from '../document/document.ts';
import {
  anything,
  type Choice,
  itemSchemas,
  likelyTypes,
  memberSchemas,
  nothing,
  type Shape,
  settle,
  shapeOf,
} from '../document/shape.ts';
import { escapeSegment, isObject, type JsonObject, jsonText, objectOf, type TypeName, typeOf } from '../json.ts';
import { dice, numberIn, picked, shuffled } from './numbers.ts';
import { anotherText, textOf } from './texts.ts';
import type { Validators } from './validators.ts';

export type Extent = 'least' | 'most' | 'some';

export interface MatchedBranch {
  readonly choice: Choice;
  readonly branch: number;
}

interface Generation {
  readonly extent: Extent;
  /** Returns an integer below 2^30. */
  readonly roll: () => number;
  budget: number;
  /** The enclosing shapes. A recursive schema gets only its required parts. */
  readonly around: Shape[];
  readonly picks: ReadonlyMap<Choice, number>;
  readonly isExample: boolean;
}

/** Deeper levels get only required parts. */
const [deepest, bottom, largest] = [6, 40, 1500] as const;
const maxObjectProperties = 20_000;

/** Whether a list of this length is too large to send: it reveals nothing more and exhausts the server's memory. */
export function isTooLarge(list: readonly unknown[], length: number): boolean {
  const size = list.length === 0 ? 20 : jsonText(list[0]).length + 1;
  return length > 20_000 || length * size > 2_000_000;
}

/** Generates values for schemas, deterministically by seed. The validator checks every value but those of `generate`. */
export class Values {
  readonly document: OpenApiDocument;
  readonly validators: Validators;

  constructor(document: OpenApiDocument, validators: Validators) {
    this.document = document;
    this.validators = validators;
  }

  /** A valid value; undefined if none was found, because the schema is unsupported or allows no value. */
  sample(schema: JsonObject, extent: Extent, seed: number, isExample = false): { readonly value: unknown } | undefined {
    // A schema may exclude the smallest or largest value; another extent is better than none.
    // What a `not` excludes is only found out: few parts have the fewest that it can be about.
    const times = (extent: Extent, count: number) => Array<Extent>(count).fill(extent);
    const extents = [...times(extent, 4), ...times('some', 8), ...times('least', 4), 'most'] as const;
    for (const [attempt, size] of extents.entries()) {
      const generation = this.#generation(size, dice(seed + 7919 * attempt));
      const value = this.#generate([schema], '', { ...generation, isExample });
      if (this.accepts(schema, value)) return { value };
    }
    const value = shapeOf(this.document, schema).examples.find((one) => this.accepts(schema, one));
    return value === undefined ? undefined : { value };
  }

  /**
   * The value with changed texts, so that unique values do not conflict. Dates move together to keep their order;
   * amounts, `enum` and `const` do not change.
   *
   * @param isFree whether a string may change. References to existing resources may not.
   * @param stride by how many days dates move at least.
   */
  fresh(
    schema: JsonObject,
    value: unknown,
    seed: number,
    isFree: (pointer: string, key: string) => boolean = () => true,
    stride = 1,
  ): unknown {
    const generation = this.#generation('some', dice(seed));
    const days = stride * (1 + (generation.roll() % (stride === 1 ? 20 : 200)));
    const change = (node: unknown, schemas: readonly JsonObject[], pointer: string, name: string): unknown => {
      const shape = this.settled(schemas, node);
      if (typeof node === 'string') {
        // A value that violates its schema is what a request is about.
        if (shape.enum !== undefined || !isFree(pointer, name) || !this.acceptedBy(schemas, node)) return node;
        const text = anotherText(node, shape, name, days, generation.roll);
        return this.acceptedBy(schemas, text) ? text : node;
      }
      const inner = (child: unknown, key: string, of: readonly JsonObject[] | undefined) =>
        change(child, of ?? [], `${pointer}/${escapeSegment(key)}`, key === '' || /^\d+$/.test(key) ? name : key);
      if (Array.isArray(node)) return node.map((item, index) => inner(item, String(index), itemSchemas(shape, index)));
      if (!isObject(node)) return node;
      const discriminatorNames = new Set(shape.discriminators.map(({ propertyName }) => propertyName));
      return objectOf(
        Object.entries(node).map(([key, child]) => [
          key,
          discriminatorNames.has(key) ? child : inner(child, key, memberSchemas(shape, key)),
        ]),
      );
    };
    const changed = change(value, [schema], '', '');
    return this.accepts(schema, changed) || !this.accepts(schema, value) ? changed : value;
  }

  /** A value for schemas that apply together, without validation. */
  generate(
    schemas: readonly JsonObject[],
    extent: Extent,
    seed: number,
    name = '',
    picks: Generation['picks'] = new Map(),
  ): unknown {
    return this.#generate(schemas, name, { ...this.#generation(extent, dice(seed)), picks });
  }

  acceptedBy(schemas: readonly JsonObject[], value: unknown): boolean {
    return schemas.every((schema) => this.accepts(schema, value));
  }

  accepts(schema: JsonObject, value: unknown): boolean {
    return schema === anything || (schema !== nothing && this.validators.accepts(schema, value));
  }

  /** The list with another length, in several variants. Items are copied if they need not differ. */
  *lists(
    { uniqueItems, prefixItems, items }: Shape,
    list: readonly unknown[],
    length: number,
    name: string,
  ): Generator<unknown[]> {
    if (isTooLarge(list, length)) return;
    for (const extent of ['least', 'some'] as const) {
      const longer: unknown[] = list.slice(0, length);
      const known = new Set(longer.map((item) => jsonText(item)));
      for (let attempt = 0; longer.length < length && attempt < length + 200; attempt += 1) {
        const isCopied = !uniqueItems && longer.length > 0 && prefixItems.length === 0;
        const schemas = prefixItems[longer.length] ?? items ?? [];
        const item = isCopied ? longer.at(-1) : this.generate(schemas, extent, attempt, name);
        const size = known.size;
        if (!uniqueItems || size < known.add(jsonText(item)).size) longer.push(item);
      }
      if (longer.length === length) yield longer;
    }
  }

  /** The object with a number of properties, required ones first, if that is possible. */
  *objects(shape: Shape, object: JsonObject, size: number): Generator<JsonObject> {
    const isNeeded = (name: string) => shape.required.has(name);
    const names = Object.keys(object).sort((one, other) => Number(isNeeded(other)) - Number(isNeeded(one)));
    const members = new Map(names.slice(0, size).map((name) => [name, object[name]]));
    const add = (name: string) => {
      const schemas = memberSchemas(shape, name);
      if (members.size >= size || members.has(name) || schemas === undefined || schemas.includes(nothing)) return;
      if (!shapeOf(this.document, ...schemas).readOnly)
        members.set(name, this.generate(schemas, 'least', members.size, name));
    };
    if (size > maxObjectProperties) return;
    for (const name of shape.properties.keys()) add(name);
    const pattern = shape.closed ? shape.patternProperties[0]?.[0] : undefined;
    const most = shape.closed && pattern === undefined ? 0 : 2 * size + 20;
    for (let attempt = 0; members.size < size && attempt < most; attempt += 1)
      add(this.key(shape, pattern, dice(attempt)));
    if (members.size === size) yield objectOf(members);
  }

  #generation(extent: Extent, roll: () => number): Generation {
    return { extent, roll, budget: largest, around: [], picks: new Map(), isExample: false };
  }

  settled(schemas: readonly JsonObject[], value: unknown, matched: MatchedBranch[] = []): Shape {
    return settle(this.document, schemas, (choice) => this.branchMatched(choice, value, matched));
  }

  branchMatched(choice: Choice, value: unknown, matched: MatchedBranch[]): readonly JsonObject[] | undefined {
    const [[condition = anything] = []] = choice.branches;
    const child = choice.keyword === 'discriminator' ? schemaNamed(this.document, choice.source, value) : undefined;
    const branch =
      choice.keyword === 'if'
        ? Number(!this.accepts(condition, value))
        : choice.branches.findIndex(
            (schemas) => schemas[0] === child || (child === undefined && this.acceptedBy(schemas, value)),
          );
    if (branch >= 0) matched.push({ choice, branch });
    return choice.branches[branch];
  }

  #generate(schemas: readonly JsonObject[], name: string, generation: Generation): unknown {
    const shape = settle(this.document, schemas, (choice, settled) => this.#pick(choice, settled, generation));
    generation.budget -= 1;
    const [example] = generation.isExample ? shape.examples.filter((one) => shape.types.has(typeOf(one))) : [];
    if (example !== undefined) return example;
    if (shape.enum !== undefined) {
      const members = shape.enum.filter((value) => shape.types.has(typeOf(value)));
      const candidates = generation.extent === 'some' ? members : members.filter((value) => value !== null);
      return picked(candidates.length > 0 ? candidates : members, generation.roll) ?? null;
    }
    const type = this.#type(shape, generation);
    if (type === 'boolean') return generation.roll() % 2 === 0;
    if (type === 'integer' || type === 'number') return numberIn(shape, type, generation.roll);
    if (type === 'string') return textOf(shape, name, generation.roll);
    if (type === 'array') return this.#list(shape, name, generation);
    return type === 'object' ? this.#object(shape, generation) : null;
  }

  #type(shape: Shape, { around, extent, roll }: Generation): TypeName | undefined {
    const types = likelyTypes(shape);
    const isNull = around.length > deepest || (types.length > 1 && extent === 'some' && roll() % 4 === 0);
    if (isNull && types.includes('null')) return 'null';
    const others = types.filter((type) => type !== 'null');
    // A schema without constraints gets a text.
    if (others.length >= 5) return 'string';
    return others.length > 0 ? picked(others, roll) : types[0];
  }

  #pick(choice: Choice, settled: readonly JsonObject[], generation: Generation): readonly JsonObject[] | undefined {
    const { around, extent, budget, roll, picks } = generation;
    // Only at the top level: a recursive schema contains the same choice again.
    const requested = around.length === 0 ? picks.get(choice) : undefined;
    if (requested !== undefined) return choice.branches[requested];
    const shapes = choice.branches.map((branch) => ({ branch, shape: shapeOf(this.document, ...settled, ...branch) }));
    const possible = shapes.filter(({ shape }) => shape.types.size > 0 && shape.enum?.length !== 0);
    const notNull = possible.filter(({ shape }) => shape.types.size > 1 || !shape.types.has('null'));
    const isDeep = around.length >= deepest;
    const isNull = isDeep || (extent === 'some' && roll() % 4 === 0);
    const preferred = isNull || notNull.length === 0 ? possible : notNull;
    if (!isDeep && budget > 0 && extent !== 'least') return picked(preferred, roll)?.branch;
    const ending = preferred.filter(({ branch }) => !isRecursive(shapeOf(this.document, ...branch), around));
    return picked(ending.length > 0 ? ending : preferred, roll)?.branch;
  }

  #list(shape: Shape, name: string, generation: Generation): unknown[] {
    const fixed = shape.prefixItems.length;
    const isClosed = shape.items?.includes(nothing) === true;
    const extra = isClosed ? 0 : generation.extent === 'most' ? 2 : generation.roll() % 3;
    const preferred = isMinimal(shape, generation) ? shape.minItems : Math.max(shape.minItems, fixed + extra);
    const length =
      generation.around.length > bottom ? 0 : Math.min(preferred, shape.maxItems, isClosed ? fixed : 20_000);
    const list: unknown[] = [];
    generation.around.push(shape);
    for (let attempt = 0; list.length < length && attempt < length + 30; attempt += 1) {
      const item = this.#generate(itemSchemas(shape, list.length) ?? [], name, generation);
      if (!shape.uniqueItems || !list.some((other) => isDeepStrictEqual(other, item))) list.push(item);
    }
    generation.around.pop();
    return list;
  }

  #object(shape: Shape, generation: Generation): JsonObject {
    if (generation.around.length > bottom) return {};
    const constants = discriminatorValues(shape);
    const names = this.#names(shape, [...constants.keys()], generation);
    generation.around.push(shape);
    const members = [...names].flatMap((name) => {
      const schemas = memberSchemas(shape, name);
      if (!constants.has(name) && schemas === undefined) return [];
      return [[name, constants.get(name) ?? this.#generate(schemas ?? [], name, generation)] as const];
    });
    generation.around.pop();
    return objectOf(members);
  }

  #names(shape: Shape, constants: readonly string[], generation: Generation): Set<string> {
    const { extent, roll } = generation;
    const isPossible = (name: string) => {
      const schemas = memberSchemas(shape, name);
      const member = schemas && shapeOf(this.document, ...schemas);
      return member !== undefined && !member.readOnly && member.types.size > 0;
    };
    const names = new Set([...shape.required, ...constants].filter(isPossible));
    const elsewhere = this.#elsewhere(shape);
    const optional = [...shape.properties.keys()].filter(
      (name) => !names.has(name) && !elsewhere.has(name) && isPossible(name),
    );
    const isLow = isMinimal(shape, generation);
    const chosen = isLow ? [] : extent === 'most' ? optional : optional.filter(() => roll() % 2 === 0);
    const most = Math.min(shape.maxProperties, 10_000);
    const size = Math.max(shape.minProperties, Math.min(names.size + chosen.length, most));
    const inOrder = names.size + chosen.length > most ? shuffled(chosen, roll) : chosen;
    for (const name of [...inOrder, ...shuffled(optional, roll)]) if (names.size < size) names.add(name);
    const { closed, patternProperties: patterns, additional } = shape;
    const isMap = !closed && shape.properties.size === 0 && additional.length + shape.propertyNames.length > 0;
    const free = isLow ? 0 : isMap || patterns.length > 0 ? 2 : additional.length > 0 ? 1 : 0;
    const whole = Math.max(shape.minProperties, Math.min(names.size + free, most));
    for (let attempt = 0; names.size < whole && attempt < whole + 20; attempt += 1) {
      const pattern = closed || additional.length === 0 ? picked(patterns, roll)?.[0] : undefined;
      if (!closed || pattern !== undefined) names.add(this.key(shape, pattern, roll));
    }
    // Each round can make another property necessary.
    for (const [name, needed] of [...shape.dependentRequired, ...shape.dependentRequired])
      if (names.has(name)) for (const one of needed) names.add(one);
    return names;
  }

  /** Properties that only other branches require, or that are not allowed together with others. */
  #elsewhere(shape: Shape): Set<unknown> {
    const others = shape.choices
      .filter(({ keyword }) => keyword === 'oneOf')
      .flatMap(({ branches }) => branches.filter((schemas) => !schemas.every((one) => shape.sources.includes(one))));
    const excluded = shape.sources.flatMap(({ not }) =>
      isObject(not) && Array.isArray(not.required) ? not.required.slice(-1) : [],
    );
    return new Set([...others.flatMap((schemas) => [...shapeOf(this.document, ...schemas).required]), ...excluded]);
  }

  /** A name for an undeclared property that matches a pattern. */
  key(shape: Shape, pattern: string | undefined, roll: () => number): string {
    const named = pattern === undefined ? [] : [{ pattern }];
    const key = shapeOf(this.document, { type: 'string' }, ...shape.propertyNames, ...named);
    const settled = settle(this.document, key.sources, (choice) => choice.branches[0]);
    const member = settled.enum === undefined ? textOf(settled, 'key', roll) : picked(settled.enum, roll);
    return typeof member === 'string' ? member : 'key';
  }
}

function isMinimal(shape: Shape, { extent, around, budget }: Generation): boolean {
  return extent === 'least' || around.length >= deepest || budget <= 0 || isRecursive(shape, around);
}

/** Whether an enclosing value has the same properties or items. */
function isRecursive({ sources }: Shape, around: readonly Shape[]): boolean {
  const telling = sources.filter((source) => source.properties !== undefined || source.items !== undefined);
  return telling.length > 0 && telling.every((one) => around.some((outer) => outer.sources.includes(one)));
}

function discriminatorValues({ discriminators, sources }: Shape): Map<string, string> {
  return new Map(
    discriminators.flatMap(({ propertyName, values }) => {
      const found = values.find(([, schema]) => sources.includes(schema)) ?? values[0];
      return found === undefined ? [] : [[propertyName, found[0]] as const];
    }),
  );
}
