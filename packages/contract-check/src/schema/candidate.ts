import { isDeepStrictEqual } from 'node:util';
import type { Place } from '../document/document.ts';
import { at, type JsonObject, objectOf, unescapeSegment } from '../json.ts';
import { dice } from './numbers.ts';
import { isForeign, memberSchemas, nothing, type Shape, shapeOf } from './shape.ts';
import { type Spot, spotsOf } from './spots.ts';
import { stretch } from './texts.ts';
import type { Extent, Values } from './values.ts';

/** A property name that no contract declares. */
export const unknownName = 'notInTheContract';

/** A value that is about one constraint, according to the validator. */
export interface Break {
  readonly keyword: string;
  /** Distinguishes values of the same keyword, such as a type or a property name. */
  readonly detail: string;
  /** JSON Pointer to the part that it is about, or that is missing. */
  readonly pointer: string;
  /** The place of the keyword in the source files. */
  readonly place: Place | undefined;
  readonly value: unknown;
  /** One clause: "name has 201 characters, which violates maxLength 200". */
  readonly note: string;
}

/** Values that violate a constraint, that are at its boundary, or that are valid, but often handled badly. */
export type Kind = 'break' | 'bound' | 'hostile';

/** A possible value, before validation. */
export interface Candidate {
  readonly keyword: string;
  readonly source: JsonObject | undefined;
  readonly detail: string;
  readonly pointer: string;
  /** Values for the spot, best first. The first that fits is used. */
  readonly parts: Iterable<unknown>;
  readonly place?: Place | undefined;
  /** The chosen `enum` value or branch number. */
  readonly chosen?: unknown;
  /** Whether the validator may report another keyword. */
  readonly isComposite?: boolean;
}

/** A place in a value, with what is needed to write candidates of one kind for it. */
export class Site {
  readonly values: Values;
  readonly kind: Kind;
  readonly spot: Spot;

  constructor(values: Values, kind: Kind, spot: Spot) {
    this.values = values;
    this.kind = kind;
    this.spot = spot;
  }

  get shape(): Shape {
    return this.spot.shape;
  }

  /** Values that violate a keyword at this place, if such values are asked for. */
  break(keyword: string, parts: Iterable<unknown>, more: Partial<Candidate> = {}): Candidate[] {
    return this.#one('break', keyword, parts, more);
  }

  /** Valid values at the boundary of a keyword, if such values are asked for. */
  bound(keyword: string, parts: Iterable<unknown>, more: Partial<Candidate> = {}): Candidate[] {
    return this.#one('bound', keyword, parts, more);
  }

  #one(kind: Kind, keyword: string, parts: Iterable<unknown>, more: Partial<Candidate>): Candidate[] {
    if (kind !== this.kind) return [];
    const { pointer } = this.spot;
    return [{ keyword, source: sourceOf(this.shape, keyword), detail: '', pointer, parts, ...more }];
  }

  /** The value with a part that was found to fit a candidate. */
  found({ keyword, detail, pointer, source, place }: Candidate, part: unknown): Break {
    const value = this.spot.write(part);
    const limit = shortened(source?.[keyword]);
    const why = `${keyword}${limit === 'nothing' || limit.endsWith('…') ? '' : ` ${limit}`}`;
    const own = at(value, pointer);
    const note = `${subjectOf(pointer)} ${described(own, keyword)}, ${
      this.kind === 'break' ? `which violates ${why}` : own === undefined ? 'and is not required' : `as ${why} allows`
    }`;
    const declared =
      source && this.values.document.placeOf(source, source[keyword] === undefined ? undefined : keyword);
    return { keyword, detail, pointer, place: place ?? declared, value, note };
  }

  generate(schemas: readonly JsonObject[], extent: Extent, seed: number, name = this.spot.name): unknown {
    return this.values.generate(schemas, extent, seed, name);
  }

  accepts(schemas: readonly JsonObject[], part: unknown): boolean {
    return this.values.acceptedBy(schemas, part);
  }

  /** The list with another length. */
  lists(list: readonly unknown[], length: number): Generator<unknown[]> {
    return this.values.lists(this.shape, list, length, this.spot.name);
  }

  /** The object with a number of properties, required ones first, if that is possible. */
  *objects(object: JsonObject, size: number): Generator<JsonObject> {
    const isNeeded = (name: string) => this.shape.required.has(name);
    const names = Object.keys(object).sort((one, other) => Number(isNeeded(other)) - Number(isNeeded(one)));
    const members = new Map(names.slice(0, size).map((name) => [name, object[name]]));
    const add = (name: string) => {
      const schemas = memberSchemas(this.shape, name);
      if (members.size >= size || members.has(name) || schemas === undefined || schemas.includes(nothing)) return;
      if (!isForeign(shapeOf(this.values.document, ...schemas), 'request'))
        members.set(name, this.generate(schemas, 'least', members.size, name));
    };
    for (const name of size > largestObject ? [] : this.shape.properties.keys()) add(name);
    const { closed, patternProperties } = this.shape;
    const pattern = closed ? patternProperties[0]?.[0] : undefined;
    const most = size > largestObject || (closed && pattern === undefined) ? 0 : 2 * size + 20;
    for (let attempt = 0; members.size < size && attempt < most; attempt += 1)
      add(this.values.key(this.shape, pattern, dice(attempt)));
    if (members.size === size) yield objectOf(members);
  }
}

/** The accepted candidates of every place of a value, each once. */
export function foundAt<Found>(
  values: Values,
  [schema, value]: readonly [schema: JsonObject, value: unknown],
  kind: Kind,
  candidatesOf: (site: Site) => Iterable<Candidate>,
  accepted: (candidate: Candidate, site: Site) => Found | undefined,
  limit = 2000,
): Found[] {
  const all: Found[] = [];
  const done = new Map<JsonObject | undefined, Set<string>>();
  for (const spot of spotsOf(values, schema, value)) {
    const site = new Site(values, kind, spot);
    for (const candidate of candidatesOf(site)) {
      const { source, keyword, detail, pointer } = candidate;
      const own = done.get(source) ?? new Set<string>();
      const key = `${keyword} ${detail} ${pointer}`;
      if (own.has(key)) continue;
      done.set(source, own.add(key));
      const found = accepted(candidate, site);
      if (found !== undefined) all.push(found);
      if (all.length >= limit) return all;
    }
  }
  return all;
}

/** Formats a pointer for display: `items[0].name`. */
function subjectOf(pointer: string): string {
  const parts = pointer.split('/').slice(1).map(unescapeSegment);
  const text = parts.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('');
  return text === '' ? 'the value' : text.replace(/^\./, '');
}

function described(part: unknown, keyword: string): string {
  if (part === undefined) return keyword === 'required' ? 'is omitted' : 'is missing';
  const count =
    typeof part === 'string' ? [...part].length : typeof part === 'object' && part ? Object.keys(part).length : 0;
  const [, unit] = /^(?:min|max)(Length|Items|Properties)$/.exec(keyword) ?? [];
  if (unit === undefined && (typeof part !== 'string' || count < 60)) return `is ${shortened(part)}`;
  return `has ${count} ${{ Items: 'items', Properties: 'properties' }[unit ?? ''] ?? 'characters'}`;
}

/** The schema of a shape that has a keyword. */
export function sourceOf(shape: Shape, keyword: string, value?: unknown): JsonObject | undefined {
  const sources = shape.sources.filter((source) => source[keyword] !== undefined);
  return sources.find((source) => value === undefined || isDeepStrictEqual(source[keyword], value)) ?? sources[0];
}

/** Longer texts reveal nothing more and exhaust the server's memory. */
export const longest = 1_000_000;
const largestObject = 20_000;

/** The text with another length, in several variants. */
export function* resized(text: string, length: number, shape: Shape): Generator<string> {
  if (shape.format === 'email' && length > 10) yield longEmail(length);
  const extended = stretch(text, length, shape);
  if (extended !== undefined) yield extended;
  const points = [...text];
  const missing = length - points.length;
  // Addresses and host names can be extended in front.
  if (missing > 0) yield 'a'.repeat(missing) + text;
  else yield* [points.slice(0, length), points.slice(-missing)].map((part) => part.join(''));
  const shortest = ['a', 'a:b', 'urn:a:b', 'a@b.co'].filter((one) => one.length === length);
  yield* [...shortest, `https://example.com/${'a'.repeat(Math.max(0, length - 20))}`];
  yield* ['a', 'A', '1'].map((point) => point.repeat(length));
}

/** An email address whose local part and labels have at most 64 and 63 characters, as SMTP and DNS require. */
function longEmail(length: number): string {
  const local = 'a'.repeat(Math.min(64, Math.max(1, length - 6)));
  const host = Math.max(0, length - local.length - '@.com'.length);
  const labels = Array.from({ length: host }, (_, index) => (index % 60 === 59 && index < host - 1 ? '.' : 'b'));
  return `${local}@${labels.join('')}.com`;
}

function shortened(part: unknown): string {
  const text = JSON.stringify(part) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

export function swapCase(text: string): string {
  const lower = text.toLowerCase();
  return lower === text ? text.toUpperCase() : lower;
}
