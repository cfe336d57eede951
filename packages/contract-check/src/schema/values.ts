import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../document/document.ts';
import {
  at,
  escapeSegment,
  isObject,
  type JsonObject,
  objectOf,
  pointersTo,
  put,
  type TypeName,
  typeOf,
} from '../json.ts';
import { dice, numberIn, picked, shuffled } from './numbers.ts';
import { repaired } from './repair.ts';
import {
  anything,
  type Choice,
  isForeign,
  itemSchemas,
  likelyTypes,
  memberSchemas,
  nothing,
  type Shape,
  settle,
  shapeOf,
} from './shape.ts';
import { anotherText, textOf } from './texts.ts';
import type { Direction, Validators } from './validators.ts';

/** How many optional parts a value has. */
export type Extent = 'least' | 'most' | 'some';

export interface MatchedBranch {
  readonly choice: Choice;
  readonly branch: number;
}

interface Generation {
  readonly direction: Direction;
  readonly extent: Extent;
  /** Returns an integer below 2^30. */
  readonly roll: () => number;
  /** Remaining number of parts that may have optional content. */
  budget: number;
  /** The enclosing shapes. A recursive schema gets only its required parts. */
  readonly around: Shape[];
  /** The branches to choose. */
  readonly picks: ReadonlyMap<Choice, number>;
  /** Whether parts have the values of their examples. */
  readonly isExample: boolean;
}

/** Deeper levels get only required parts. */
const [deepest, bottom, largest] = [6, 40, 1500] as const;

/** Whether a list of this length is too large to send: it reveals nothing more and exhausts the server's memory. */
export function isTooLarge(list: readonly unknown[], length: number): boolean {
  const size = list.length === 0 ? 20 : JSON.stringify(list[0]).length + 1;
  return length > 20_000 || length * size > 2_000_000;
}

/** Generates values for schemas, deterministically by seed. The validator checks every value but those of `generate`. */
export class Values {
  readonly document: OpenApiDocument;
  readonly validators: Validators;
  readonly #heights = new WeakMap<Shape, number>();

  constructor(document: OpenApiDocument, validators: Validators) {
    this.document = document;
    this.validators = validators;
  }

  /** A valid value; undefined if none was found, because the schema is unsupported or allows no value. */
  sample(
    schema: JsonObject,
    direction: Direction,
    extent: Extent,
    seed: number,
    isExample = false,
  ): { readonly value: unknown } | undefined {
    // A schema may exclude the smallest or largest value; another extent is better than none.
    const others: Extent[] = extent === 'some' ? ['least', 'most'] : extent === 'least' ? ['some', 'most'] : ['some'];
    for (const [round, size] of [extent, ...others].entries()) {
      for (let attempt = 0; attempt < (size === 'some' ? 12 : 4); attempt += 1) {
        const generation = this.#generation(direction, size, dice(seed + 7919 * (round * 100 + attempt)));
        const value = this.#generate([schema], '', { ...generation, isExample });
        if (this.accepts(schema, value, direction)) return { value };
        const fixed = repaired(this.validators, schema, value, direction);
        if (fixed !== undefined) return fixed;
      }
    }
    const value = shapeOf(this.document, schema).examples.find((one) => this.accepts(schema, one, direction));
    return value === undefined ? undefined : { value };
  }

  /**
   * The value with changed texts, so that unique values do not conflict. Dates move together to keep their order;
   * amounts, `enum` and `const` do not change.
   *
   * @param isFree whether a string may change. References to existing resources may not.
   */
  fresh(
    schema: JsonObject,
    value: unknown,
    seed: number,
    isFree: (pointer: string, key: string) => boolean = () => true,
  ): unknown {
    const generation = this.#generation('request', 'some', dice(seed));
    const days = 1 + (generation.roll() % 20);
    const change = (node: unknown, schemas: readonly JsonObject[], pointer: string, name: string): unknown => {
      const shape = this.settled(schemas, node);
      if (typeof node === 'string') {
        if (shape.enum !== undefined || !isFree(pointer, name)) return node;
        return anotherText(node, shape, name, days, generation.roll);
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
    if (this.accepts(schema, changed)) return changed;
    let whole = value;
    for (const pointer of pointersTo(value, (part) => typeof part === 'string')) {
      const candidate = put(whole, pointer, at(changed, pointer));
      if (at(value, pointer) !== at(changed, pointer) && this.accepts(schema, candidate)) whole = candidate;
    }
    return whole;
  }

  /** A value for schemas that apply together, without validation. */
  generate(
    schemas: readonly JsonObject[],
    extent: Extent,
    seed: number,
    name = '',
    picks: Generation['picks'] = new Map(),
  ): unknown {
    return this.#generate(schemas, name, { ...this.#generation('request', extent, dice(seed)), picks });
  }

  /** Whether a value is valid for schemas, which may be generated ones. */
  acceptedBy(schemas: readonly JsonObject[], value: unknown): boolean {
    return schemas.every((schema) => this.accepts(schema, value));
  }

  accepts(schema: JsonObject, value: unknown, direction: Direction = 'request'): boolean {
    return schema === anything || (schema !== nothing && this.validators.accepts(schema, value, direction));
  }

  /** The list with another length, in several variants. Items are copied if they need not differ. */
  *lists(
    { uniqueItems, prefixItems, items }: Shape,
    list: readonly unknown[],
    length: number,
    name = '',
    isExpected: (item: unknown) => boolean = () => true,
  ): Generator<unknown[]> {
    if (isTooLarge(list, length)) return;
    for (const extent of ['least', 'some'] as const) {
      const longer: unknown[] = list.slice(0, length);
      const known = new Set(uniqueItems ? longer.map((item) => JSON.stringify(item)) : []);
      for (let attempt = 0; longer.length < length && attempt < length + 200; attempt += 1) {
        const isCopied = !uniqueItems && longer.length > 0 && prefixItems.length === 0;
        const schemas = prefixItems[longer.length] ?? items ?? [];
        const item = isCopied ? longer.at(-1) : this.generate(schemas, extent, attempt, name);
        const text = uniqueItems ? JSON.stringify(item) : '';
        if ((uniqueItems && known.has(text)) || !isExpected(item)) continue;
        known.add(text);
        longer.push(item);
      }
      if (longer.length === length) yield longer;
    }
  }

  #generation(direction: Direction, extent: Extent, roll: () => number): Generation {
    return { direction, extent, roll, budget: largest, around: [], picks: new Map(), isExample: false };
  }

  settled(schemas: readonly JsonObject[], value: unknown, matched: MatchedBranch[] = []): Shape {
    return settle(this.document, schemas, (choice) => this.branchMatched(choice, value, matched));
  }

  branchMatched(choice: Choice, value: unknown, matched: MatchedBranch[]): readonly JsonObject[] | undefined {
    const [[condition = anything] = []] = choice.branches;
    const branch =
      choice.keyword === 'if'
        ? Number(!this.accepts(condition, value))
        : choice.branches.findIndex((schemas) => this.acceptedBy(schemas, value));
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

  #type(shape: Shape, generation: Generation): TypeName | undefined {
    const types = likelyTypes(shape);
    if (generation.around.length > deepest && types.includes('null')) return 'null';
    const isNullable = types.length > 1 && types.includes('null');
    if (isNullable && generation.extent === 'some' && generation.roll() % 4 === 0) return 'null';
    const others = isNullable ? types.filter((type) => type !== 'null') : types;
    // A schema without constraints gets a text.
    if (others.length >= 5) return 'string';
    return picked(others, generation.roll);
  }

  #pick(choice: Choice, settled: readonly JsonObject[], generation: Generation): readonly JsonObject[] | undefined {
    // Only at the top level: a recursive schema contains the same choice again.
    const requestedBranch = generation.around.length === 0 ? generation.picks.get(choice) : undefined;
    if (requestedBranch !== undefined) return choice.branches[requestedBranch];
    const shapes = choice.branches.map((branch) => ({ branch, shape: shapeOf(this.document, ...settled, ...branch) }));
    const possible = shapes.filter(({ shape }) => shape.types.size > 0 && shape.enum?.length !== 0);
    const notNull = possible.filter(({ shape }) => shape.types.size > 1 || !shape.types.has('null'));
    const isNull = generation.extent === 'some' && generation.roll() % 4 === 0;
    const preferred = isNull || notNull.length === 0 ? possible : notNull;
    if (generation.around.length < deepest && generation.budget > 0 && generation.extent !== 'least') {
      return picked(preferred, generation.roll)?.branch;
    }
    const heights = (generation.around.length < deepest ? preferred : possible).map(({ branch }) => ({
      branch,
      height: this.#height(shapeOf(this.document, ...branch), []),
    }));
    const lowest = Math.min(...heights.map(({ height }) => height));
    const low = heights.filter(({ height }) => (Number.isFinite(lowest) ? Number.isFinite(height) : true));
    const candidates = generation.around.length < deepest ? low : low.filter(({ height }) => height === lowest);
    return picked(candidates, generation.roll)?.branch;
  }

  /** The minimum depth of a value. Infinite if the schema requires itself. */
  #height(shape: Shape, around: readonly Shape[]): number {
    const known = this.#heights.get(shape);
    if (known !== undefined) return known;
    if (around.includes(shape) || around.length > bottom) return Number.POSITIVE_INFINITY;
    const inner = [...around, shape];
    const of = (schemas: readonly JsonObject[]) => this.#height(shapeOf(this.document, ...schemas), inner);
    const branches = shape.choices.map((choice) => Math.min(...choice.branches.map(of)));
    const isSimple =
      shape.enum !== undefined ||
      (['null', 'boolean', 'number', 'string'] as const).some((one) => shape.types.has(one));
    const required = shape.types.has('object')
      ? [...shape.required].map((name) => memberSchemas(shape, name) ?? [])
      : [];
    const items = shape.types.has('array') && shape.minItems > 0 ? [shape.prefixItems[0] ?? shape.items ?? []] : [];
    const own = isSimple ? 0 : Math.max(0, ...[...required, ...items].map((schemas) => 1 + of(schemas)));
    const height = Math.max(own, ...branches);
    if (around.length === 0 || Number.isFinite(height)) this.#heights.set(shape, height);
    return height;
  }

  #isLow(shape: Shape, generation: Generation): boolean {
    if (generation.extent === 'least' || generation.around.length >= deepest || generation.budget <= 0) return true;
    const around = new Set(generation.around.flatMap(({ sources }) => sources));
    const telling = shape.sources.filter((source) => source.properties !== undefined || source.items !== undefined);
    return telling.length > 0 && telling.every((source) => around.has(source));
  }

  #list(shape: Shape, name: string, generation: Generation): unknown[] {
    const isLow = this.#isLow(shape, generation);
    const fixed = shape.prefixItems.length;
    const containedCount = shape.contains.reduce((sum, { least }) => sum + least, 0);
    const least = Math.max(shape.minItems, containedCount > 0 ? fixed + containedCount : 0);
    const extra = generation.extent === 'most' ? 2 : generation.roll() % 3;
    const isClosed = shape.items?.includes(nothing) === true;
    const targetLength = isLow ? least : Math.max(least, fixed + (isClosed ? 0 : extra));
    const most = Math.min(shape.maxItems, isClosed ? fixed : 20_000);
    const length = generation.around.length > bottom ? 0 : Math.min(targetLength, most);
    const special = shape.contains.flatMap((one) => Array<JsonObject>(Math.min(one.least, 100)).fill(one.schema));
    const list: unknown[] = [];
    generation.around.push(shape);
    for (let attempt = 0; list.length < length && attempt < length + 30; attempt += 1) {
      const contained = list.length < fixed ? undefined : special[list.length - fixed];
      const schemas = itemSchemas(shape, list.length) ?? [];
      const item = this.#generate(contained === undefined ? schemas : [...schemas, contained], name, generation);
      if (!shape.uniqueItems || !list.some((other) => isDeepStrictEqual(other, item))) list.push(item);
    }
    generation.around.pop();
    return list;
  }

  #object(shape: Shape, generation: Generation): JsonObject {
    if (generation.around.length > bottom) return {};
    const isLow = this.#isLow(shape, generation);
    const discriminatorValues = this.#discriminatorValues(shape);
    const names = this.#names(shape, isLow, generation, discriminatorValues);
    const members: [string, unknown][] = [];
    generation.around.push(shape);
    for (const name of names) {
      const schemas = memberSchemas(shape, name);
      if (discriminatorValues.has(name)) members.push([name, discriminatorValues.get(name)]);
      else if (schemas !== undefined) members.push([name, this.#generate(schemas, name, generation)]);
    }
    generation.around.pop();
    return objectOf(members);
  }

  /** The discriminator values of the matching branch. */
  #discriminatorValues(shape: Shape): Map<string, string> {
    return new Map(
      shape.discriminators.flatMap(({ propertyName, values }) => {
        const mapping = values.find(([, schema]) => shape.sources.includes(schema)) ?? values[0];
        return mapping === undefined ? [] : [[propertyName, mapping[0]] as const];
      }),
    );
  }

  #names(
    shape: Shape,
    isLow: boolean,
    generation: Generation,
    discriminatorValues: ReadonlyMap<string, string>,
  ): Set<string> {
    const { direction, extent, roll } = generation;
    const isPossible = (name: string) => {
      const schemas = memberSchemas(shape, name);
      if (schemas === undefined) return false;
      const member = shapeOf(this.document, ...schemas);
      return !isForeign(member, direction) && member.types.size > 0;
    };
    const names = new Set([...shape.required, ...discriminatorValues.keys()].filter(isPossible));
    const elsewhere = this.#elsewhere(shape);
    const optional = [...shape.properties.keys()].filter(
      (name) => !names.has(name) && !elsewhere.has(name) && isPossible(name),
    );
    const chosen = isLow ? [] : extent === 'most' ? optional : optional.filter(() => roll() % 2 === 0);
    const maxCount = Math.min(shape.maxProperties, 10_000);
    for (const name of chosen.length + names.size > maxCount ? shuffled(chosen, roll) : chosen) {
      if (names.size < maxCount) names.add(name);
    }
    const rest = shuffled(
      optional.filter((name) => !names.has(name)),
      roll,
    );
    for (const name of rest) if (names.size < shape.minProperties) names.add(name);
    const isMap =
      !shape.closed && shape.properties.size === 0 && (shape.additional.length > 0 || shape.propertyNames.length > 0);
    const free = isLow ? 0 : isMap || shape.patternProperties.length > 0 ? 2 : shape.additional.length > 0 ? 1 : 0;
    const targetSize = Math.max(shape.minProperties, Math.min(names.size + free, maxCount));
    for (let attempt = 0; names.size < targetSize && attempt < targetSize + 20; attempt += 1) {
      const pattern =
        shape.closed || shape.additional.length === 0 ? picked(shape.patternProperties, roll)?.[0] : undefined;
      if (shape.closed && pattern === undefined) break;
      names.add(this.key(shape, pattern, roll));
    }
    for (const [name, needed] of [...shape.dependentRequired, ...shape.dependentRequired]) {
      if (names.has(name)) for (const one of needed) names.add(one);
    }
    return names;
  }

  /** Properties that only other branches require. With them, the value could match two branches. */
  #elsewhere(shape: Shape): Set<string> {
    const others = shape.choices
      .filter(({ keyword }) => keyword === 'oneOf')
      .flatMap(({ branches }) => branches.filter((schemas) => !schemas.every((one) => shape.sources.includes(one))));
    return new Set(others.flatMap((schemas) => [...shapeOf(this.document, ...schemas).required]));
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
