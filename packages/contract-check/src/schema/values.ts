import fc, { type Arbitrary } from 'fast-check';
import type { OpenApiDocument, Place } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import {
  anything,
  type Choice,
  isForeign,
  itemSchemas,
  likelyTypes,
  memberSchemas,
  nothing,
  regularExpression,
  type Shape,
  settle,
  shapeOf,
  type TypeName,
} from './shape.ts';
import type { Direction, Validators } from './validators.ts';

/** How many optional parts a value has. */
export type Extent = 'least' | 'most' | 'some';

/** A valid value that matches one branch of a choice. */
export interface BranchValue {
  /** The pointer to the choice. */
  readonly pointer: string;
  readonly keyword: 'oneOf' | 'anyOf';
  readonly branch: number;
  readonly place: Place | undefined;
  readonly value: unknown;
}

/** A place in a valid value, with its schemas. */
export interface Spot {
  readonly pointer: string;
  /** The key or index in its parent; empty at the root. */
  readonly name: string;
  /** The schemas that apply, without a chosen branch. */
  readonly schemas: readonly JsonObject[];
  readonly shape: Shape;
  readonly value: unknown;
  /** The whole value with another value in this place. */
  readonly write: (value: unknown) => unknown;
  /** The whole value, which is valid. */
  readonly whole: unknown;
  /** The branches that the value matches. */
  readonly matched: readonly MatchedBranch[];
}

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
}

/** Deeper levels get only required parts. */
const deepest = 6;
const bottom = 40;
const largest = 1500;

/** Generates values for schemas, deterministically by seed. The validator checks every value but those of `generate`. */
export class Values {
  readonly #document: OpenApiDocument;
  readonly #validators: Validators;
  readonly #heights = new WeakMap<Shape, number>();

  constructor(document: OpenApiDocument, validators: Validators) {
    this.#document = document;
    this.#validators = validators;
  }

  /** A valid value; undefined if none was found, because the schema is unsupported or allows no value. */
  sample(
    schema: JsonObject,
    direction: Direction,
    extent: Extent,
    seed: number,
  ): { readonly value: unknown } | undefined {
    // A schema may exclude the smallest or largest value; another extent is better than none.
    const others: Extent[] = extent === 'some' ? ['least', 'most'] : extent === 'least' ? ['some', 'most'] : ['some'];
    for (const [round, size] of [extent, ...others].entries()) {
      for (let attempt = 0; attempt < (size === 'some' ? 12 : 4); attempt += 1) {
        const generation = this.#generation(direction, size, dice(seed + 7919 * (round * 100 + attempt)));
        const value = this.#generate([schema], '', generation);
        if (this.#accepts(schema, value, direction)) return { value };
        const repaired = this.#repaired(schema, value, direction);
        if (repaired !== undefined) return repaired;
      }
    }
    const example = shapeOf(this.#document, schema).examples.find((one) => this.#accepts(schema, one, direction));
    return example === undefined ? undefined : { value: example };
  }

  /** One value for each branch of every `oneOf` and `anyOf`. */
  branches(schema: JsonObject, direction: Direction, seed: number): BranchValue[] {
    const base = this.sample(schema, direction, 'most', seed);
    if (base === undefined) return [];
    const found = new Map<Choice, Set<number>>();
    const values: BranchValue[] = [];
    for (const spot of this.spots(schema, base.value, direction, seed)) {
      for (const { choice, branch } of spot.matched) {
        const known = found.get(choice) ?? new Set();
        if (choice.keyword === 'if' || known.has(branch)) continue;
        found.set(choice, known.add(branch));
        const { source, keyword } = choice;
        const list = source[keyword];
        const place = Array.isArray(list) ? this.#document.placeOf(list, String(branch)) : undefined;
        values.push({ pointer: spot.pointer, keyword, branch, place, value: spot.whole });
      }
    }
    return values;
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
    direction: Direction = 'request',
  ): unknown {
    const generation = this.#generation(direction, 'some', dice(seed));
    const days = 1 + (generation.roll() % 20);
    const change = (node: unknown, schemas: readonly JsonObject[], pointer: string, name: string): unknown => {
      const shape = this.#settled(schemas, node, direction);
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
    if (this.#accepts(schema, changed, direction)) return changed;
    return this.#changedWhereAccepted(schema, value, changed, direction);
  }

  /**
   * The places of a value, from the whole to its parts; then, one at a time, valid values with missing properties and
   * other branches. A schema is visited at few places.
   */
  *spots(schema: JsonObject, value: unknown, direction: Direction, seed = 0, limit = 2000): Generator<Spot> {
    const visits: Visits = new Map();
    const root = { schemas: [schema], pointer: '', name: '', value, write: (whole: unknown) => whole };
    const waiting: Open[] = [root];
    const tested = new Map<Choice, Set<number>>();
    let count = 0;
    for (let next = waiting.shift(); next !== undefined && count < limit; next = waiting.shift()) {
      const open = next;
      const branches: MatchedBranch[] = [];
      const shape = this.#settled(open.schemas, open.value, direction, branches);
      count += 1;
      // The schemas of the spot itself are already noted, because many spots are found before the first is visited.
      const unsettled = shapeOf(this.#document, ...open.schemas);
      const isRoot = open.pointer === '';
      note(isRoot ? shape.sources : shape.sources.filter((one) => !unsettled.sources.includes(one)), open.name, visits);
      const whole = open.write(open.value);
      for (const { choice, branch } of branches) tested.set(choice, (tested.get(choice) ?? new Set()).add(branch));
      yield { ...open, shape, whole, matched: branches };
      waiting.push(...this.#parts(open, shape, schema, direction, seed, visits));
      for (const other of this.#others(open, shape, branches, tested, schema, direction, seed)) {
        count += 1;
        yield other.spot;
        waiting.push(...this.#parts(other.open, other.spot.shape, schema, direction, seed, visits));
      }
    }
  }

  /** A value for schemas that apply together, without validation. */
  generate(schemas: readonly JsonObject[], direction: Direction, extent: Extent, seed: number, name = ''): unknown {
    return this.#generate(schemas, name, this.#generation(direction, extent, dice(seed)));
  }

  /** Whether a value is valid for one schema, which may be a generated one. */
  accepts(schema: JsonObject, value: unknown, direction: Direction): boolean {
    return this.#matches(schema, value, direction);
  }

  shape(schema: JsonObject): Shape {
    return shapeOf(this.#document, schema);
  }

  /** A name for an undeclared property; undefined if none is allowed. */
  key(shape: Shape, seed: number): string | undefined {
    const pattern = shape.closed ? shape.patternProperties[0]?.[0] : undefined;
    return shape.closed && pattern === undefined ? undefined : this.#key(shape, pattern, dice(seed));
  }

  *#parts(
    open: Open,
    shape: Shape,
    schema: JsonObject,
    direction: Direction,
    seed: number,
    visits: Visits,
  ): Generator<Open> {
    const { value, write, pointer } = open;
    const isWorthVisiting = (schemas: readonly JsonObject[], name: string | number) =>
      schemas.length > 0 &&
      isRarelyVisited(
        shapeOf(this.#document, ...schemas),
        typeof name === 'number' ? open.name : name,
        `${pointer}/${name}`,
        visits,
      );
    if (Array.isArray(value)) {
      for (const [index, items] of this.#itemsOf(shape, value)) {
        if (!isWorthVisiting(items, index)) continue;
        const list = this.#extended(shape, value, index, direction, seed);
        if (list === undefined) continue;
        if (list !== value && !this.#accepts(schema, write(list), direction)) continue;
        note(shapeOf(this.#document, ...items).sources, open.name, visits);
        yield {
          schemas: items,
          pointer: `${pointer}/${index}`,
          name: open.name,
          value: list[index],
          write: (item) => write(list.with(index, item)),
        };
      }
    }
    if (!isObject(value)) return;
    const absent = this.#namesOf(shape, value, seed).filter((name) => !Object.hasOwn(value, name));
    for (const name of [...Object.keys(value), ...absent]) {
      const schemas = memberSchemas(shape, name);
      if (schemas === undefined || !isWorthVisiting(schemas, name)) continue;
      if (isForeign(shapeOf(this.#document, ...schemas), direction)) continue;
      const child = (whole: JsonObject): Open => ({
        schemas,
        pointer: `${pointer}/${escapeSegment(name)}`,
        name,
        value: whole[name],
        write: (member) => write(withMember(whole, name, member)),
      });
      const isNull = value[name] === null && likelyTypes(shapeOf(this.#document, ...schemas)).length > 1;
      if (Object.hasOwn(value, name) && !isNull) {
        note(shapeOf(this.#document, ...schemas).sources, name, visits);
        yield child(value);
        continue;
      }
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const member = this.generate(schemas, direction, attempt === 0 ? 'least' : 'some', seed + attempt, name);
        const whole = withMember(value, name, member);
        if (!this.#accepts(schema, write(whole), direction)) continue;
        note(shapeOf(this.#document, ...schemas).sources, name, visits);
        yield child(whole);
        break;
      }
    }
  }

  /** The branches that the value does not match, each with a value that does. */
  *#others(
    open: Open,
    shape: Shape,
    branches: readonly MatchedBranch[],
    tested: Map<Choice, Set<number>>,
    schema: JsonObject,
    direction: Direction,
    seed: number,
  ): Generator<{ open: Open; spot: Spot }> {
    for (const choice of shape.choices) {
      for (const branch of choice.branches.keys()) {
        if (tested.get(choice)?.has(branch) === true) continue;
        const kept = branches.filter((other) => other.choice !== choice).map((other) => [other.choice, other.branch]);
        const found = this.#valueForBranch(
          open,
          choice,
          branch,
          new Map(kept as [Choice, number][]),
          schema,
          direction,
          seed,
        );
        if (found === undefined) continue;
        tested.set(choice, (tested.get(choice) ?? new Set()).add(branch));
        const now: MatchedBranch[] = [{ choice, branch }];
        const settled = settle(this.#document, open.schemas, (one) =>
          one === choice ? choice.branches[branch] : this.#branchMatched(one, found, direction, now),
        );
        const other = { ...open, value: found };
        yield { open: other, spot: { ...other, shape: settled, whole: open.write(found), matched: now } };
      }
    }
  }

  #valueForBranch(
    open: Open,
    choice: Choice,
    branch: number,
    kept: ReadonlyMap<Choice, number>,
    schema: JsonObject,
    direction: Direction,
    seed: number,
  ): unknown {
    for (const picks of [new Map([...kept, [choice, branch] as const]), new Map([[choice, branch]])]) {
      for (const [attempt, extent] of (['least', 'some', 'some', 'most'] as const).entries()) {
        const generation = { ...this.#generation(direction, extent, dice(seed + attempt)), picks };
        const value = this.#generate(open.schemas, open.name, generation);
        const isMatching = (choice.branches[branch] ?? []).every((one) => this.#matches(one, value, direction));
        if (isMatching && this.#accepts(schema, open.write(value), direction)) return value;
      }
    }
    return undefined;
  }

  #itemsOf(shape: Shape, list: readonly unknown[]): [number, readonly JsonObject[]][] {
    const prefixes = shape.prefixItems.map((schemas, index): [number, readonly JsonObject[]] => [index, schemas]);
    const first = shape.prefixItems.length;
    if (shape.items === undefined || shape.items.includes(nothing)) return prefixes;
    const last = Math.max(list.length - 1, first + 1);
    return [...prefixes, [first, shape.items], ...(last < shape.maxItems ? [[last, shape.items] as const] : [])] as [
      number,
      readonly JsonObject[],
    ][];
  }

  /** The list, extended to contain an index. */
  #extended(
    shape: Shape,
    list: readonly unknown[],
    index: number,
    direction: Direction,
    seed: number,
  ): unknown[] | undefined {
    if (index >= shape.maxItems) return undefined;
    if (index < list.length) return list as unknown[];
    const longer = [...list];
    for (let attempt = 0; longer.length <= index && attempt < 50; attempt += 1) {
      const item = this.generate(itemSchemas(shape, longer.length) ?? [], direction, 'least', seed + attempt);
      if (!shape.uniqueItems || !longer.some((other) => isSame(other, item))) longer.push(item);
    }
    return longer.length > index ? longer : undefined;
  }

  /** The names of declared properties, and one for each pattern without a property. */
  #namesOf(shape: Shape, value: JsonObject, seed: number): string[] {
    const names = [...shape.properties.keys()];
    const others = Object.keys(value).filter((name) => !shape.properties.has(name));
    const roll = dice(seed);
    const patterned = shape.patternProperties
      .filter(([pattern]) => !others.some((name) => regularExpression(pattern)?.test(name)))
      .map(([pattern]) => this.#key(shape, pattern, roll));
    const free = shape.additional.length > 0 && others.length === 0 ? [this.#key(shape, undefined, roll)] : [];
    return [...names, ...patterned, ...free];
  }

  #generation(direction: Direction, extent: Extent, roll: () => number): Generation {
    return { direction, extent, roll, budget: largest, around: [], picks: new Map() };
  }

  #accepts(schema: JsonObject, value: unknown, direction: Direction): boolean {
    return this.#validators.accepts(schema, value, direction);
  }

  /** Whether a value is valid for one schema. */
  #matches(schema: JsonObject, value: unknown, direction: Direction): boolean {
    if (schema === anything) return true;
    if (schema === nothing) return false;
    return this.#accepts(schema, value, direction);
  }

  #settled(schemas: readonly JsonObject[], value: unknown, direction: Direction, matched: MatchedBranch[] = []): Shape {
    return settle(this.#document, schemas, (choice) => this.#branchMatched(choice, value, direction, matched));
  }

  #branchMatched(
    choice: Choice,
    value: unknown,
    direction: Direction,
    matched: MatchedBranch[],
  ): readonly JsonObject[] | undefined {
    if (choice.keyword === 'if') {
      const [condition = anything] = choice.branches[0] ?? [];
      const branch = this.#matches(condition, value, direction) ? 0 : 1;
      matched.push({ choice, branch });
      return choice.branches[branch];
    }
    const branch = choice.branches.findIndex((schemas) => schemas.every((one) => this.#matches(one, value, direction)));
    if (branch >= 0) matched.push({ choice, branch });
    return choice.branches[branch];
  }

  /** The value without optional properties that make it invalid. */
  #repaired(schema: JsonObject, original: unknown, direction: Direction): { readonly value: unknown } | undefined {
    let value = original;
    let tries = 60;
    let breaches = this.#validators.breaches(schema, value, direction).length;
    for (let isBetter = true; isBetter && tries > 0; ) {
      isBetter = false;
      for (const pruned of prunings(value)) {
        tries -= 1;
        if (tries < 0) break;
        const left = this.#validators.breaches(schema, pruned, direction).length;
        if (left === 0) return { value: pruned };
        if (left >= breaches) continue;
        [value, breaches, isBetter] = [pruned, left, true];
        break;
      }
    }
    return undefined;
  }

  #changedWhereAccepted(schema: JsonObject, before: unknown, after: unknown, direction: Direction): unknown {
    let whole = before;
    const walk = (left: unknown, right: unknown, path: readonly (string | number)[]): void => {
      if (typeof left === 'string') {
        const candidate = written(whole, path, right);
        if (left !== right && this.#accepts(schema, candidate, direction)) whole = candidate;
        return;
      }
      const segments = Array.isArray(left) ? [...left.keys()] : isObject(left) ? Object.keys(left) : [];
      for (const segment of segments) walk(partOf(left, segment), partOf(right, segment), [...path, segment]);
    };
    walk(before, after, []);
    return whole;
  }

  #generate(schemas: readonly JsonObject[], name: string, generation: Generation): unknown {
    const shape = settle(this.#document, schemas, (choice, settled) => this.#pick(choice, settled, generation));
    generation.budget -= 1;
    if (shape.enum !== undefined) {
      const members = shape.enum.filter((value) => hasType(value, shape.types));
      const candidates = generation.extent === 'some' ? members : members.filter((value) => value !== null);
      return picked(candidates.length > 0 ? candidates : members, generation.roll) ?? null;
    }
    const type = this.#type(shape, generation);
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return generation.roll() % 2 === 0;
      case 'integer':
      case 'number':
        return numberIn(shape, type, generation.roll);
      case 'string':
        return textOf(shape, name, generation.roll);
      case 'array':
        return this.#list(shape, name, generation);
      case 'object':
        return this.#object(shape, generation);
      default:
        return null;
    }
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
    const shapes = choice.branches.map((branch) => ({ branch, shape: shapeOf(this.#document, ...settled, ...branch) }));
    const possible = shapes.filter(({ shape }) => shape.types.size > 0 && shape.enum?.length !== 0);
    const notNull = possible.filter(({ shape }) => shape.types.size > 1 || !shape.types.has('null'));
    const isNull = generation.extent === 'some' && generation.roll() % 4 === 0;
    const preferred = isNull || notNull.length === 0 ? possible : notNull;
    if (generation.around.length < deepest && generation.budget > 0 && generation.extent !== 'least') {
      return picked(preferred, generation.roll)?.branch;
    }
    const heights = (generation.around.length < deepest ? preferred : possible).map(({ branch }) => ({
      branch,
      height: this.#height(shapeOf(this.#document, ...branch), []),
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
    const of = (schemas: readonly JsonObject[]) => this.#height(shapeOf(this.#document, ...schemas), inner);
    const branches = shape.choices.map((choice) => Math.min(...choice.branches.map(of)));
    let own = 0;
    if (
      shape.enum === undefined &&
      !['null', 'boolean', 'number', 'string'].some((type) => shape.types.has(type as TypeName))
    ) {
      const members = shape.types.has('object')
        ? [...shape.required].map((name) => memberSchemas(shape, name) ?? [])
        : [];
      const items = shape.types.has('array') && shape.minItems > 0 ? [shape.prefixItems[0] ?? shape.items ?? []] : [];
      own = Math.max(0, ...[...members, ...items].map((schemas) => 1 + of(schemas)));
    }
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
    const targetLength = isLow ? least : Math.max(least, fixed + (shape.items?.includes(nothing) === true ? 0 : extra));
    const closedAt = shape.items?.includes(nothing) === true ? fixed : Number.POSITIVE_INFINITY;
    const length = generation.around.length > bottom ? 0 : Math.min(targetLength, shape.maxItems, closedAt, 20_000);
    const special = shape.contains.flatMap(({ schema, least: times }) =>
      Array<JsonObject>(Math.min(times, 100)).fill(schema),
    );
    const list: unknown[] = [];
    generation.around.push(shape);
    for (let attempt = 0; list.length < length && attempt < length + 30; attempt += 1) {
      const contained = list.length < fixed ? undefined : special[list.length - fixed];
      const schemas = itemSchemas(shape, list.length) ?? [];
      const item = this.#generate(contained === undefined ? schemas : [...schemas, contained], name, generation);
      if (!shape.uniqueItems || !list.some((other) => isSame(other, item))) list.push(item);
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
      const member = shapeOf(this.#document, ...schemas);
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
      names.add(this.#key(shape, pattern, roll));
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
    return new Set(others.flatMap((schemas) => [...shapeOf(this.#document, ...schemas).required]));
  }

  #key(shape: Shape, pattern: string | undefined, roll: () => number): string {
    const named = pattern === undefined ? [] : [{ pattern }];
    const key = shapeOf(this.#document, { type: 'string' }, ...shape.propertyNames, ...named);
    const settled = settle(this.#document, key.sources, (choice) => choice.branches[0]);
    const member = settled.enum === undefined ? textOf(settled, 'key', roll) : picked(settled.enum, roll);
    return typeof member === 'string' ? member : 'key';
  }
}

interface Open {
  readonly schemas: readonly JsonObject[];
  readonly pointer: string;
  readonly name: string;
  readonly value: unknown;
  readonly write: (value: unknown) => unknown;
}

/** Keywords that only refer to others, or do not constrain values. */
const silent =
  /^(\$ref|\$schema|\$id|\$comment|\$defs|allOf|title|description|example|examples|default|readOnly|writeOnly|deprecated|externalDocs|xml|x-.*)$/;

const significantSources = new WeakMap<JsonObject, boolean>();

function isSignificant(source: JsonObject): boolean {
  const known = significantSources.get(source);
  if (known !== undefined) return known;
  const found = Object.keys(source).some((keyword) => !silent.test(keyword));
  significantSources.set(source, found);
  return found;
}

/** The number of visits of each schema, by name. */
type Visits = Map<JsonObject, Map<string, number>>;

/**
 * Visits a schema at two places, because recursion is unlimited. Near the root, where servers often handle properties
 * individually, at two places per name.
 */
function isRarelyVisited(shape: Shape, name: string, pointer: string, visits: Visits): boolean {
  const sources = shape.sources.filter(isSignificant);
  const depth = pointer.split('/').filter((segment) => !/^\d*$/.test(segment)).length;
  const count = (source: JsonObject) => {
    const names = visits.get(source);
    if (names === undefined) return 0;
    return depth <= 2 ? (names.get(name) ?? 0) : [...names.values()].reduce((sum, one) => sum + one, 0);
  };
  return sources.length === 0 || sources.some((source) => count(source) < 2);
}

function note(sources: readonly JsonObject[], name: string, visits: Visits): void {
  for (const source of sources) {
    if (!isSignificant(source)) continue;
    const names = visits.get(source) ?? new Map<string, number>();
    visits.set(source, names.set(name, (names.get(name) ?? 0) + 1));
  }
}

/** An object that may have a property named `__proto__`. */
export function objectOf(members: Iterable<readonly [string, unknown]>): JsonObject {
  return Object.fromEntries(members);
}

export function withMember(object: JsonObject, name: string, value: unknown): JsonObject {
  return objectOf([...Object.entries(object).filter(([key]) => key !== name), [name, value]]);
}

export function withoutMember(object: JsonObject, name: string): JsonObject {
  return objectOf(Object.entries(object).filter(([key]) => key !== name));
}

/** Whether two values are equal as JSON, regardless of the order of properties. */
export function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isSame(item, right[index]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && isSame(left[name], right[name]))
  );
}

/** A deterministic generator of integers below 2^30. */
export function dice(seed: number): () => number {
  let state = (Math.imul(seed | 0, 0x9e3779b1) ^ 0x5bd1e995) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) >>> 2;
  };
}

function picked<T>(list: readonly T[], roll: () => number): T | undefined {
  return list.length === 0 ? undefined : list[roll() % list.length];
}

export function shuffled<T>(list: readonly T[], roll: () => number): T[] {
  return list
    .map((item) => [roll(), item] as const)
    .sort(([left], [right]) => left - right)
    .map(([, item]) => item);
}

function partOf(node: unknown, segment: string | number): unknown {
  if (Array.isArray(node)) return node[Number(segment)];
  return isObject(node) ? node[segment] : undefined;
}

export function written(node: unknown, path: readonly (string | number)[], part: unknown): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return part;
  if (Array.isArray(node)) return node.with(Number(segment), written(node[Number(segment)], rest, part));
  if (!isObject(node)) return node;
  return objectOf(
    Object.entries(node).map(([key, child]) => [key, key === segment ? written(child, rest, part) : child]),
  );
}

/** The value without one of its properties, for each property; outer ones first. */
function* prunings(value: unknown): Generator<unknown> {
  if (isObject(value)) {
    for (const name of Object.keys(value)) yield withoutMember(value, name);
    for (const [name, child] of Object.entries(value)) {
      for (const pruned of prunings(child)) yield { ...value, [name]: pruned };
    }
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const pruned of prunings(item)) yield value.with(index, pruned);
  }
}

/** The JSON type of a value; `integer` for integers. */
export function typeOf(value: unknown): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean' || typeof value === 'string') return typeof value as 'boolean' | 'string';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return 'object';
}

function hasType(value: unknown, types: ReadonlySet<TypeName>): boolean {
  return types.has(typeOf(value));
}

/** The length in code points, as `minLength` and `maxLength` count it. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

export function decimalsOf(value: number): number {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  return Math.max(0, (mantissa.split('.')[1] ?? '').length - Number(exponent));
}

/** A multiple without floating-point error. */
export function multiple(step: number, times: number): number {
  const decimals = decimalsOf(step);
  if (decimals === 0) return step * times;
  if (decimals > 15) return step * times;
  return Number(`${Math.round(step * 10 ** decimals) * times}e-${decimals}`);
}

/** The step between valid numbers; undefined if there is none. */
export function stepOf(shape: Shape, isWhole: boolean): number | undefined {
  const steps = isWhole ? [1, ...shape.multiplesOf] : shape.multiplesOf;
  const [first, ...others] = steps;
  if (first === undefined) return undefined;
  const decimals = Math.max(...steps.map(decimalsOf));
  if (decimals > 9) return first;
  const scale = 10 ** decimals;
  const common = others.reduce(
    (found, step) => leastCommonMultiple(found, Math.round(step * scale)),
    Math.round(first * scale),
  );
  return Number(`${common}e-${decimals}`);
}

function leastCommonMultiple(left: number, right: number): number {
  let [larger, smaller] = [left, right];
  while (smaller !== 0) [larger, smaller] = [smaller, larger % smaller];
  return (left / larger) * right;
}

export interface NumberRange {
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly step: number | undefined;
}

/** The smallest and largest number that match the steps; undefined without a bound. */
export function rangeOf(shape: Shape, isWhole: boolean): NumberRange {
  const step = stepOf(shape, isWhole);
  const [formatLow, formatHigh] = formatRanges[shape.format ?? ''] ?? [undefined, undefined];
  const lows = [shape.minimum, shape.exclusiveMinimum, formatLow].filter((value) => value !== undefined);
  const highs = [shape.maximum, shape.exclusiveMaximum, formatHigh].filter((value) => value !== undefined);
  const low = lows.length === 0 ? undefined : Math.max(...lows);
  const high = highs.length === 0 ? undefined : Math.min(...highs);
  const away = (value: number, direction: 1 | -1, isExcluded: boolean) => {
    if (step === undefined) {
      if (!isExcluded) return value;
      const distance = low !== undefined && high !== undefined ? Math.min(0.01, (high - low) / 8) : 0.01;
      return Number((value + direction * distance).toPrecision(15));
    }
    const times = value / step;
    const near = Math.round(times);
    const isOn = Math.abs(times - near) < 1e-9 * Math.max(1, Math.abs(times));
    const at = isOn ? near : direction === 1 ? Math.ceil(times) : Math.floor(times);
    return multiple(step, isOn && isExcluded ? at + direction : at);
  };
  return {
    low: low === undefined ? undefined : away(low, 1, low === shape.exclusiveMinimum),
    high: high === undefined ? undefined : away(high, -1, high === shape.exclusiveMaximum),
    step,
  };
}

const formatRanges: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  // JavaScript cannot represent larger integers exactly.
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

function numberIn(shape: Shape, type: 'integer' | 'number', roll: () => number): number {
  const { low, high, step = 0.01 } = rangeOf(shape, type === 'integer');
  const usual = type === 'integer' ? 100 : 1000;
  const isBare = shape.minimum === undefined && shape.exclusiveMinimum === undefined;
  const from = isBare ? Math.max(low ?? 1, Math.min(1, (high ?? 1) - usual)) : (low ?? 1);
  const to = Math.min(high ?? Number.POSITIVE_INFINITY, from + usual * Math.max(1, step));
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  if (last < first || !Number.isSafeInteger(first)) return low ?? high ?? 0;
  const value = multiple(step, first + (roll() % (last - first + 1)));
  return Math.min(to, Math.max(from, value));
}

const words =
  'Amber Birch Cedar Delta Ember Fjord Grove Harbor Iris Juniper Kestrel Laurel Maple Nimbus Orchard Pine Quarry River Sable Tulip'.split(
    ' ',
  );
const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
const longestText = 100_000;

function token(roll: () => number, length: number): string {
  return Array.from({ length }, () => picked([...letters], roll)).join('');
}

function digits(roll: () => number, length: number): string {
  return Array.from({ length }, () => String(roll() % 10)).join('');
}

function hexadecimal(roll: () => number, length: number): string {
  return Array.from({ length }, () => (roll() % 16).toString(16)).join('');
}

function dayOf(roll: () => number): string {
  const [year, month, day] = [2020 + (roll() % 8), 1 + (roll() % 12), 1 + (roll() % 28)];
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

function timeOf(roll: () => number): string {
  const two = (below: number) => String(roll() % below).padStart(2, '0');
  return `${two(24)}:${two(60)}:${two(60)}Z`;
}

function uuidOf(roll: () => number): string {
  const variant = picked([...'89ab'], roll);
  return [8, 4]
    .map((length) => hexadecimal(roll, length))
    .join('-')
    .concat(`-7${hexadecimal(roll, 3)}-${variant}${hexadecimal(roll, 3)}-${hexadecimal(roll, 12)}`);
}

function base64(roll: () => number): string {
  return Buffer.from(`${picked(words, roll)} ${token(roll, 6)}`).toString('base64');
}

const formats: Readonly<Record<string, (roll: () => number) => string>> = {
  uuid: uuidOf,
  email: (roll) => `${picked(words, roll)?.toLowerCase()}.${token(roll, 5)}@example.com`,
  'idn-email': (roll) => `${picked(words, roll)?.toLowerCase()}.${token(roll, 5)}@example.com`,
  uri: (roll) => `https://example.com/${token(roll, 8)}`,
  url: (roll) => `https://example.com/${token(roll, 8)}`,
  iri: (roll) => `https://example.com/${token(roll, 8)}`,
  'uri-reference': (roll) => `/${picked(words, roll)?.toLowerCase()}/${token(roll, 6)}`,
  'iri-reference': (roll) => `/${picked(words, roll)?.toLowerCase()}/${token(roll, 6)}`,
  'uri-template': (roll) => `/${token(roll, 6)}/{id}`,
  ipv4: (roll) => `192.0.2.${1 + (roll() % 254)}`,
  ipv6: (roll) => `2001:db8::${(1 + (roll() % 65_535)).toString(16)}`,
  hostname: (roll) => `${token(roll, 6)}.example.com`,
  'idn-hostname': (roll) => `${token(roll, 6)}.example.com`,
  date: dayOf,
  'date-time': (roll) => `${dayOf(roll)}T${timeOf(roll)}`,
  time: timeOf,
  'iso-time': timeOf,
  'iso-date-time': (roll) => `${dayOf(roll)}T${timeOf(roll)}`,
  duration: (roll) => `P${1 + (roll() % 28)}DT${1 + (roll() % 23)}H`,
  byte: base64,
  base64,
  regex: (roll) => `^${token(roll, 4)}[0-9]+$`,
  'json-pointer': (roll) => `/${token(roll, 4)}/${roll() % 10}`,
  'relative-json-pointer': (roll) => `${roll() % 4}/${token(roll, 4)}`,
  'json-pointer-uri-fragment': (roll) => `#/${token(roll, 4)}`,
  decimal: (roll) => `${1 + (roll() % 900)}.${digits(roll, 2)}`,
  phone: (roll) => `+1202555${digits(roll, 4)}`,
  int32: (roll) => `${1 + (roll() % 1000)}`,
  int64: (roll) => `${1 + (roll() % 1000)}`,
  password: (roll) => `${picked(words, roll)}-${token(roll, 8)}-7!`,
};

/** Readable texts that match many patterns, most different first. */
const named: readonly ((roll: () => number) => string)[] = [
  (roll) => `${picked(words, roll)?.toLowerCase()}-${token(roll, 5)}`,
  (roll) => `${picked(words, roll)?.toLowerCase()}_${token(roll, 5)}`,
  (roll) => `${picked(words, roll)?.toLowerCase()}${token(roll, 5)}`,
  (roll) => `${picked(words, roll)?.toUpperCase()}_${token(roll, 5).toUpperCase()}`,
  (roll) => `${picked(words, roll)}${token(roll, 5)}`,
];

const readable: readonly ((roll: () => number) => string)[] = [
  (roll) => picked(['EUR', 'USD', 'GBP', 'CHF', 'JPY'], roll) ?? '',
  (roll) => picked(['DE', 'US', 'FR', 'GB', 'CH', 'NL'], roll) ?? '',
  (roll) => `${1 + (roll() % 900)}.${digits(roll, 2)}`,
  (roll) => `0.${1 + (roll() % 9)}${digits(roll, 1)}`,
  (roll) => `${2000 + (roll() % 30)}`,
  (roll) => `${1 + (roll() % 9)}`,
  (roll) => digits(roll, 2),
  (roll) => digits(roll, 5),
  (roll) => `+1202555${digits(roll, 4)}`,
  (roll) => `https://example.com/${token(roll, 8)}`,
  (roll) => `/${token(roll, 6)}`,
  (roll) => `${picked(words, roll)} ${token(roll, 5)}`,
  (roll) => picked(words, roll)?.toLowerCase() ?? '',
  (roll) => picked(words, roll)?.toUpperCase() ?? '',
  (roll) => picked(words, roll) ?? '',
  (roll) => picked(['text/plain', 'application/pdf'], roll) ?? '',
  dayOf,
  (roll) => `${dayOf(roll)}T${timeOf(roll)}`,
  uuidOf,
  (roll) => hexadecimal(roll, 32),
  (roll) => hexadecimal(roll, 64),
];

/** Whether a text satisfies the shape's keywords, except its format. */
export function fits(text: string, shape: Shape): boolean {
  const length = lengthOf(text);
  if (length < shape.minLength || length > shape.maxLength) return false;
  return shape.patterns.every((pattern) => regularExpression(pattern)?.test(text) ?? true);
}

function textOf(shape: Shape, name: string, roll: () => number): string {
  const known = shape.format === undefined ? undefined : formats[shape.format];
  for (let attempt = 0; known !== undefined && attempt < 3; attempt += 1) {
    const text = known(roll);
    if (fits(text, shape)) return text;
  }
  if (shape.patterns.length > 0) return patterned(shape, roll);
  if (shape.format !== undefined && known !== undefined) return padded(known(roll), shape);
  return freeText(shape, name, roll);
}

/** Identifiers are one word; other texts read like names. */
function freeText(shape: Shape, name: string, roll: () => number): string {
  const isWord = /(id|key|code|ref|slug|token|number)$/i.test(name);
  const word = picked(words, roll) ?? '';
  const text = isWord ? `${word.toLowerCase()}-${token(roll, 6)}` : `${word} ${picked(words, roll)} ${token(roll, 5)}`;
  if (lengthOf(text) <= shape.maxLength) return padded(text, shape);
  // The distinguishing part is at the end.
  return shape.maxLength <= 0 ? '' : token(roll, Math.min(shape.maxLength, 12));
}

function padded(text: string, shape: Shape): string {
  const least = Math.min(shape.minLength, longestText * 10);
  if (text.length >= least) return text;
  return `${text} `
    .repeat(Math.ceil(least / (text.length + 1)) + 1)
    .slice(0, least - 1)
    .concat('.');
}

const matching = new Map<string, Arbitrary<string> | undefined>();

function patterned(shape: Shape, roll: () => number): string {
  const texts = [...shuffled(named, roll), ...shuffled(readable, roll)].map((one) => one(roll));
  const found = texts.find((text) => fits(text, shape));
  if (found !== undefined) return found;
  const least = Math.max(1, shape.minLength);
  for (const pattern of shape.patterns) {
    const arbitrary = matcher(pattern);
    if (arbitrary === undefined) continue;
    const drawn = fc.sample(arbitrary, { numRuns: 20, seed: roll() });
    const matches = drawn.filter((text) => fits(text, shape));
    const plain = matches.filter((text) => /^[\x21-\x7e]+$/.test(text));
    const best = plain[0] ?? matches[0];
    if (best !== undefined) return best;
    for (const text of drawn) {
      const extended = stretch(text, least, shape) ?? stretch(text, Math.min(shape.maxLength, least + 2), shape);
      if (extended !== undefined) return extended;
    }
  }
  return texts[0] ?? '';
}

function matcher(pattern: string): Arbitrary<string> | undefined {
  if (!matching.has(pattern)) {
    const expression = regularExpression(pattern);
    try {
      matching.set(pattern, expression === undefined ? undefined : fc.stringMatching(expression));
    } catch {
      // fast-check does not support every feature of regular expressions.
      matching.set(pattern, undefined);
    }
  }
  return matching.get(pattern);
}

/**
 * Lengthens or shortens a text to a number of code points by repeating or removing a part, so that every pattern still
 * matches; undefined if that is impossible.
 */
export function stretch(text: string, length: number, shape: Shape): string | undefined {
  const expressions = shape.patterns.map(regularExpression).filter((one) => one !== undefined);
  const points = [...text];
  const isFine = (candidate: string) => expressions.every((one) => one.test(candidate));
  const missing = length - points.length;
  if (missing === 0) return isFine(text) ? text : undefined;
  if (missing > 0) {
    if (points.length === 0) return isFine('a'.repeat(length)) ? 'a'.repeat(length) : undefined;
    // Starts at the end, because most patterns have a fixed prefix.
    for (let index = Math.min(points.length, 200) - 1; index >= 0; index -= 1) {
      const point = points[index] ?? 'a';
      const longer = `${points.slice(0, index).join('')}${point.repeat(missing)}${points.slice(index).join('')}`;
      if (isFine(longer)) return longer;
    }
    return undefined;
  }
  for (let end = points.length; end + missing >= 0; end -= 1) {
    const shorter = [...points.slice(0, end + missing), ...points.slice(end)].join('');
    if (isFine(shorter)) return shorter;
  }
  return undefined;
}

const day = 86_400_000;

function anotherText(text: string, shape: Shape, name: string, days: number, roll: () => number): string {
  if (/^-?\d+(\.\d+)?$/.test(text) && (shape.format === 'decimal' || text.includes('.'))) return text;
  const instant = /^(\d{4}-\d{2}-\d{2})(T.*)?$/i.exec(text);
  if (instant !== null) {
    const moved = new Date(Date.parse(`${instant[1]}T00:00:00Z`) + days * day);
    return Number.isNaN(moved.getTime()) ? text : `${moved.toISOString().slice(0, 10)}${instant[2] ?? ''}`;
  }
  if (text === '') return text;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const next = textOf(shape, name, roll);
    if (next !== text) return next;
  }
  return text;
}
