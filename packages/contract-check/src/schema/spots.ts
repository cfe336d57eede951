import { regularExpression } from '../document/patterns.ts';
import {
  type Choice,
  itemSchemas,
  likelyTypes,
  memberSchemas,
  type Shape,
  settle,
  shapeOf,
} from '../document/shape.ts';
import { escapeSegment, isObject, type JsonObject, objectOf, remembered, withMember } from '../json.ts';
import { dice } from './numbers.ts';
import { isAnnotation } from './validators.ts';
import type { MatchedBranch, Values } from './values.ts';

/** A place in a valid value, with its schemas. */
export interface Spot extends Open {
  readonly shape: Shape;
  readonly whole: unknown;
  readonly matched: readonly MatchedBranch[];
}

interface Open {
  readonly pointer: string;
  /** The key or index in its parent; empty at the root. */
  readonly name: string;
  /** The schemas that apply, without a chosen branch. */
  readonly schemas: readonly JsonObject[];
  readonly value: unknown;
  readonly write: (value: unknown) => unknown;
}

/** A valid value that matches one branch of a choice. */
interface BranchValue {
  readonly pointer: string;
  readonly keyword: Choice['keyword'];
  readonly branch: number;
  readonly value: unknown;
}

/** One value for each branch of every `oneOf` and `anyOf`. */
export function branchesOf(values: Values, schema: JsonObject, seed: number): BranchValue[] {
  const base = values.sample(schema, 'most', seed);
  const spots = base === undefined ? [] : [...spotsOf(values, schema, base.value, seed)];
  const seen = new Map<Choice, Set<number>>();
  return spots.flatMap(({ pointer, whole: value, matched }) =>
    matched
      .filter(({ choice, branch }) => {
        const known = remembered(seen, choice, () => new Set<number>());
        return choice.keyword !== 'if' && known.size < known.add(branch).size;
      })
      .map(({ choice: { keyword }, branch }) => ({ pointer, keyword, branch, value })),
  );
}

const maxSpots = 2000;

/**
 * The places of a value, from the whole to its parts; then, one at a time, valid values with missing properties and
 * other branches. A schema is visited at few places.
 */
export function* spotsOf(values: Values, schema: JsonObject, value: unknown, seed = 0): Generator<Spot> {
  const walk = new Walk(values, schema, seed);
  const open: Open[] = [{ schemas: [schema], pointer: '', name: '', value, write: (whole) => whole }];
  let count = 0;
  // The list grows during the loop.
  for (const one of open)
    for (const spot of walk.spotsAt(one)) {
      count += 1;
      if (count > maxSpots) return;
      yield spot;
      open.push(...walk.partsOf(spot));
    }
}

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

  /** The place with its value, and with a value for each branch that no value has matched yet. */
  *spotsAt(open: Open): Generator<Spot> {
    const own = this.#spotOf(open);
    yield own;
    for (const choice of own.shape.choices)
      for (const branch of choice.branches.keys()) {
        if (this.#tested.get(choice)?.has(branch) === true) continue;
        const value = this.#valueForBranch(open, choice, branch, own.matched);
        if (value !== undefined) yield this.#spotOf({ ...open, value }, { choice, branch });
      }
  }

  #spotOf(open: Open, chosen?: MatchedBranch): Spot {
    const matched = chosen === undefined ? [] : [chosen];
    const shape = settle(this.#values.document, open.schemas, (choice) =>
      choice === chosen?.choice
        ? choice.branches[chosen.branch]
        : this.#values.branchMatched(choice, open.value, matched),
    );
    for (const { choice, branch } of matched) remembered(this.#tested, choice, () => new Set()).add(branch);
    return { ...open, shape, whole: open.write(open.value), matched };
  }

  #valueForBranch({ schemas, name, write }: Open, choice: Choice, branch: number, matched: readonly MatchedBranch[]) {
    const picks = new Map([...matched.map((one) => [one.choice, one.branch] as const), [choice, branch]]);
    for (const [attempt, extent] of (['least', 'some', 'some', 'most'] as const).entries()) {
      const value = this.#values.generate(schemas, extent, this.#seed + attempt, name, picks);
      if (this.#values.acceptedBy(choice.branches[branch] ?? [], value) && this.#accepts(write(value))) return value;
    }
    return undefined;
  }

  #accepts(whole: unknown): boolean {
    return this.#values.accepts(this.#schema, whole);
  }

  /** The parts of a value. Absent ones are added to it. */
  *partsOf({ value, write, pointer, name: own, shape }: Spot): Generator<Open> {
    for (const [index, schemas] of Array.isArray(value) ? itemsOf(shape, value) : []) {
      const list: readonly unknown[] = Array.isArray(value) ? value : [];
      const at = `${pointer}/${index}`;
      if (!this.#isRare(schemas, own, at)) continue;
      const [long] = index < list.length ? [list] : this.#values.lists(shape, list, index + 1, own);
      if (long === undefined || (long !== list && !this.#accepts(write(long)))) continue;
      yield { schemas, pointer: at, name: own, value: long[index], write: (item) => write(long.with(index, item)) };
    }
    if (!isObject(value)) return;
    for (const name of this.#namesOf(shape, value)) {
      const schemas = memberSchemas(shape, name);
      const at = `${pointer}/${escapeSegment(name)}`;
      if (schemas === undefined || !this.#isRare(schemas, name, at)) continue;
      const member = shapeOf(this.#values.document, ...schemas);
      if (member.readOnly) continue;
      const isNull = value[name] === null && likelyTypes(member).length > 1;
      const whole = Object.hasOwn(value, name) && !isNull ? value : this.#withMember(shape, value, name, write);
      if (whole === undefined) continue;
      yield { schemas, pointer: at, name, value: whole[name], write: (part) => write(withMember(whole, name, part)) };
    }
  }

  /** The object with a property; without the optional others if it may not have more. */
  #withMember(shape: Shape, value: JsonObject, name: string, write: Open['write']): JsonObject | undefined {
    const isFull = Object.keys(value).length >= shape.maxProperties;
    const needed = objectOf(Object.entries(value).filter(([key]) => !isFull || shape.required.has(key)));
    const schemas = memberSchemas(shape, name) ?? [];
    return (['least', 'some', 'some'] as const)
      .map((extent, attempt) => this.#values.generate(schemas, extent, this.#seed + attempt, name))
      .map((member) => withMember(needed, name, member))
      .find((whole) => this.#accepts(write(whole)));
  }

  /** The names of present and declared properties, and one for each pattern without a property. */
  #namesOf(shape: Shape, value: JsonObject): Set<string> {
    const present = Object.keys(value);
    const others = present.filter((name) => !shape.properties.has(name));
    const patterns = shape.patternProperties
      .map(([pattern]) => pattern)
      .filter((pattern) => !others.some((name) => regularExpression(pattern).test(name)));
    const roll = dice(this.#seed);
    const free = shape.additional.length > 0 && others.length === 0 ? [undefined] : [];
    const keys = [...patterns, ...free].map((pattern) => this.#values.key(shape, pattern, roll));
    return new Set([...present, ...shape.properties.keys(), ...keys]);
  }

  /**
   * Counts a visit, and returns whether a schema was visited at fewer than two places, because recursion is unlimited.
   * Near the root, where servers often handle properties individually, at fewer than two places per name.
   */
  #isRare(schemas: readonly JsonObject[], name: string, pointer: string): boolean {
    const isNear = pointer.split('/').filter((segment) => !/^\d*$/.test(segment)).length <= 2;
    const sources = shapeOf(this.#values.document, ...schemas).sources.filter((source) =>
      Object.keys(source).some((keyword) => keyword !== 'allOf' && !isAnnotation(keyword)),
    );
    const counts = sources.map((source) => {
      const names = remembered(this.#visits, source, () => new Map<string, number>());
      const own = names.get(name) ?? 0;
      names.set(name, own + 1);
      return isNear ? own : [...names.values()].reduce((sum, one) => sum + one, -1);
    });
    return schemas.length > 0 && (counts.length === 0 || Math.min(...counts) < 2);
  }
}

/** The first item after `prefixItems`, and the last, with their schemas. */
function itemsOf(shape: Shape, list: readonly unknown[]): [index: number, schemas: readonly JsonObject[]][] {
  const first = shape.prefixItems.length;
  const last = Math.max(list.length - 1, first + 1);
  const indexes = [...shape.prefixItems.keys(), first, last].filter((index) => index < shape.maxItems);
  return indexes.flatMap((index) => {
    const schemas = index < first || shape.items !== undefined ? itemSchemas(shape, index) : undefined;
    return schemas === undefined ? [] : [[index, schemas] as [number, readonly JsonObject[]]];
  });
}
