import { escapeSegment, isObject, type JsonObject, objectOf, remembered, withMember } from '../json.ts';
import { dice } from './numbers.ts';
import {
  type Choice,
  isForeign,
  itemSchemas,
  likelyTypes,
  memberSchemas,
  regularExpression,
  type Shape,
  settle,
  shapeOf,
} from './shape.ts';
import type { MatchedBranch, Values } from './values.ts';

/** A place in a valid value, with its schemas. */
export interface Spot extends Open {
  readonly shape: Shape;
  /** The whole value, which is valid. */
  readonly whole: unknown;
  /** The branches that the value matches. */
  readonly matched: readonly MatchedBranch[];
}

interface Open {
  readonly pointer: string;
  /** The key or index in its parent; empty at the root. */
  readonly name: string;
  /** The schemas that apply, without a chosen branch. */
  readonly schemas: readonly JsonObject[];
  readonly value: unknown;
  /** The whole value with another value in this place. */
  readonly write: (value: unknown) => unknown;
}

/**
 * The places of a value, from the whole to its parts; then, one at a time, valid values with missing properties and
 * other branches. A schema is visited at few places.
 */
export function spotsOf(values: Values, schema: JsonObject, value: unknown, seed = 0): Generator<Spot> {
  return new Walk(values, schema, seed).spots(value);
}

/** A valid value that matches one branch of a choice. */
export interface BranchValue {
  /** The pointer to the choice. */
  readonly pointer: string;
  readonly keyword: 'oneOf' | 'anyOf';
  readonly branch: number;
  readonly value: unknown;
}

/** One value for each branch of every `oneOf` and `anyOf`. */
export function branchesOf(values: Values, schema: JsonObject, seed: number): BranchValue[] {
  const base = values.sample(schema, 'request', 'most', seed);
  const found = new Map<Choice, Map<number, BranchValue>>();
  for (const spot of base === undefined ? [] : spotsOf(values, schema, base.value, seed))
    for (const { choice, branch } of spot.matched) {
      const { keyword } = choice;
      const known = found.get(choice) ?? new Map<number, BranchValue>();
      if (keyword !== 'if' && !known.has(branch))
        known.set(branch, { pointer: spot.pointer, keyword, branch, value: spot.whole });
      found.set(choice, known);
    }
  return [...found.values()].flatMap((known) => [...known.values()]);
}

const maxSpots = 2000;

class Walk {
  readonly #values: Values;
  readonly #schema: JsonObject;
  readonly #seed: number;
  /** The number of visits of each schema, by name. */
  readonly #visits = new Map<JsonObject, Map<string, number>>();
  readonly #tested = new Map<Choice, Set<number>>();

  constructor(values: Values, schema: JsonObject, seed: number) {
    this.#values = values;
    this.#schema = schema;
    this.#seed = seed;
  }

  *spots(value: unknown): Generator<Spot> {
    const root = { schemas: [this.#schema], pointer: '', name: '', value, write: (whole: unknown) => whole };
    const waiting: Open[] = [root];
    let count = 0;
    for (let next = waiting.shift(); next !== undefined && count < maxSpots; next = waiting.shift()) {
      const open = next;
      const matched: MatchedBranch[] = [];
      const shape = this.#values.settled(open.schemas, open.value, matched);
      count += 1;
      // The schemas of the spot itself are already noted, because many spots are found before the first is visited.
      const known = open.pointer === '' ? [] : shapeOf(this.#values.document, ...open.schemas).sources;
      this.#note(
        shape.sources.filter((one) => !known.includes(one)),
        open.name,
      );
      for (const { choice, branch } of matched) this.#markTested(choice, branch);
      yield { ...open, shape, whole: open.write(open.value), matched };
      waiting.push(...this.#parts(open, shape));
      for (const other of this.#others(open, shape, matched)) {
        count += 1;
        yield other;
        waiting.push(...this.#parts(other, other.shape));
      }
    }
  }

  #accepts(whole: unknown): boolean {
    return this.#values.accepts(this.#schema, whole);
  }

  /** The parts of a value. Absent ones are added to it. */
  *#parts({ value, write, pointer, name: own }: Open, shape: Shape): Generator<Open> {
    if (Array.isArray(value)) {
      for (const [index, schemas] of itemsOf(shape, value)) {
        const list: readonly unknown[] | undefined = this.#isRare(schemas, own, `${pointer}/${index}`)
          ? this.#extended(shape, value, index)
          : undefined;
        if (list === undefined || (list !== value && !this.#accepts(write(list)))) continue;
        this.#note(shapeOf(this.#values.document, ...schemas).sources, own);
        const inner = (item: unknown) => write(list.with(index, item));
        yield { schemas, pointer: `${pointer}/${index}`, name: own, value: list[index], write: inner };
      }
    }
    if (!isObject(value)) return;
    const absent = this.#namesOf(shape, value).filter((name) => !Object.hasOwn(value, name));
    for (const name of [...Object.keys(value), ...absent]) {
      const schemas = memberSchemas(shape, name);
      const at = `${pointer}/${escapeSegment(name)}`;
      if (schemas === undefined || !this.#isRare(schemas, name, at)) continue;
      const member = shapeOf(this.#values.document, ...schemas);
      if (isForeign(member, 'request')) continue;
      const isNull = value[name] === null && likelyTypes(member).length > 1;
      const whole = Object.hasOwn(value, name) && !isNull ? value : this.#withMember(shape, value, name, write);
      if (whole === undefined) continue;
      this.#note(member.sources, name);
      const inner = (part: unknown) => write(withMember(whole, name, part));
      yield { schemas, pointer: at, name, value: whole[name], write: inner };
    }
  }

  /** The object with a property; without the optional others if it may not have more. */
  #withMember(shape: Shape, value: JsonObject, name: string, write: Open['write']): JsonObject | undefined {
    const isFull = Object.keys(value).length >= shape.maxProperties;
    const needed = Object.entries(value).filter(([key]) => !isFull || shape.required.has(key));
    const schemas = memberSchemas(shape, name) ?? [];
    return (['least', 'some', 'some'] as const)
      .map((extent, attempt) =>
        withMember(objectOf(needed), name, this.#values.generate(schemas, extent, this.#seed + attempt, name)),
      )
      .find((whole) => this.#accepts(write(whole)));
  }

  /** The branches that the value does not match, each with a value that does. */
  *#others(open: Open, shape: Shape, matched: readonly MatchedBranch[]): Generator<Spot> {
    for (const choice of shape.choices) {
      for (const branch of choice.branches.keys()) {
        if (this.#tested.get(choice)?.has(branch) === true) continue;
        const kept = matched.filter((other) => other.choice !== choice).map((one) => [one.choice, one.branch] as const);
        const value = this.#valueForBranch(open, choice, branch, kept);
        if (value === undefined) continue;
        this.#markTested(choice, branch);
        const now: MatchedBranch[] = [{ choice, branch }];
        const settled = settle(this.#values.document, open.schemas, (one) =>
          one === choice ? choice.branches[branch] : this.#values.branchMatched(one, value, now),
        );
        yield { ...open, value, shape: settled, whole: open.write(value), matched: now };
      }
    }
  }

  #valueForBranch(open: Open, choice: Choice, branch: number, kept: readonly (readonly [Choice, number])[]): unknown {
    for (const picks of [new Map([...kept, [choice, branch]]), new Map([[choice, branch]])]) {
      for (const [attempt, extent] of (['least', 'some', 'some', 'most'] as const).entries()) {
        const seed = this.#seed + attempt;
        const value = this.#values.generate(open.schemas, extent, seed, open.name, picks);
        if (this.#values.acceptedBy(choice.branches[branch] ?? [], value) && this.#accepts(open.write(value)))
          return value;
      }
    }
    return undefined;
  }

  #markTested(choice: Choice, branch: number): void {
    this.#tested.set(choice, (this.#tested.get(choice) ?? new Set()).add(branch));
  }

  /** The list, extended to contain an index. */
  #extended(shape: Shape, list: readonly unknown[], index: number): readonly unknown[] | undefined {
    if (index < list.length || index >= shape.maxItems) return index < list.length ? list : undefined;
    const [longer] = this.#values.lists(shape, list, index + 1);
    return longer;
  }

  /** The names of declared properties, and one for each pattern without a property. */
  #namesOf(shape: Shape, value: JsonObject): string[] {
    const others = Object.keys(value).filter((name) => !shape.properties.has(name));
    const patterns = shape.patternProperties
      .map(([pattern]) => pattern)
      .filter((pattern) => !others.some((name) => regularExpression(pattern)?.test(name)));
    const roll = dice(this.#seed);
    const keyFor = (pattern?: string) => this.#values.key(shape, pattern, roll);
    const free = shape.additional.length > 0 && others.length === 0 ? [keyFor()] : [];
    return [...shape.properties.keys(), ...patterns.map(keyFor), ...free];
  }

  /**
   * Whether a schema was visited at fewer than two places, because recursion is unlimited. Near the root, where servers
   * often handle properties individually, at fewer than two places per name.
   */
  #isRare(schemas: readonly JsonObject[], name: string, pointer: string): boolean {
    if (schemas.length === 0) return false;
    const sources = shapeOf(this.#values.document, ...schemas).sources.filter(isSignificant);
    const depth = pointer.split('/').filter((segment) => !/^\d*$/.test(segment)).length;
    const count = (source: JsonObject) => {
      const names = this.#visits.get(source) ?? new Map<string, number>();
      return depth <= 2 ? (names.get(name) ?? 0) : [...names.values()].reduce((sum, one) => sum + one, 0);
    };
    return sources.length === 0 || sources.some((source) => count(source) < 2);
  }

  #note(sources: readonly JsonObject[], name: string): void {
    for (const source of sources.filter(isSignificant)) {
      const names = this.#visits.get(source) ?? new Map<string, number>();
      this.#visits.set(source, names.set(name, (names.get(name) ?? 0) + 1));
    }
  }
}

/** The first item after `prefixItems`, and the last, with their schemas. */
function itemsOf(shape: Shape, list: readonly unknown[]): [index: number, schemas: readonly JsonObject[]][] {
  const first = shape.prefixItems.length;
  const last = Math.max(list.length - 1, first + 1);
  const indexes = [...shape.prefixItems.keys(), first, ...(last < shape.maxItems ? [last] : [])];
  return indexes.flatMap((index) => {
    const schemas = index < first || shape.items !== undefined ? itemSchemas(shape, index) : undefined;
    return schemas === undefined ? [] : [[index, schemas] as [number, readonly JsonObject[]]];
  });
}

/** Keywords that only refer to others, or do not constrain values. */
const silent =
  /^(\$ref|\$schema|\$id|\$comment|\$defs|allOf|title|description|example|examples|default|readOnly|writeOnly|deprecated|externalDocs|xml|x-.*)$/;

const significant = new WeakMap<JsonObject, boolean>();

function isSignificant(source: JsonObject): boolean {
  return remembered(significant, source, () => Object.keys(source).some((keyword) => !silent.test(keyword)));
}
