import type { OpenApiDocument } from '../../../document/document.ts';
import { extensionOf, type Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { bodySchemaOf, type Call, type Exchange } from '../../../http/call.ts';
import { pathPattern } from '../../../http/deserialize.ts';
import { cut, isKey, isObject, type JsonObject, jsonText } from '../../../json.ts';
import type { Identity } from '../../../run/identities.ts';
import { isOwnId, keyOfName, type Rows, rowsIn, rowsOf } from '../../../run/names.ts';
import { idOf } from '../../../run/pool.ts';
import type { Session } from '../../../run/session.ts';
import { type CheckContext, type Difference, type Differences, differ, type Facts, need } from '../../observe.ts';
import { type Controls, controlsOf, type ListMetadata, listMetadataOf, placed, type Slot, slotsOf } from './slots.ts';
import { type Property, propertiesOf } from './values.ts';

export type Settings = readonly (readonly [slot: Slot, value: unknown])[];

export interface Page {
  readonly exchange: Exchange;
  readonly rows: readonly JsonObject[];
  readonly metadata: ListMetadata;
}

/** The current list, which every check compares with. */
export interface FullList {
  readonly rows: readonly JsonObject[];
  readonly keys: readonly string[];
  readonly keyOf: KeyOf;
  /** Whether these are all rows, as far as the server indicates. */
  readonly isComplete: boolean;
  readonly pages: readonly Page[];
  readonly exchanges: readonly Exchange[];
  /** That of the last page. */
  readonly exchange: Exchange;
  readonly rowSchema: JsonObject | undefined;
  readonly properties: readonly Property[];
}

const maxPages = 5;
const maxRows = 500;

/** A list operation, and how to request it: with the required parameters and the provided settings only. */
export class Listing {
  readonly session: Session;
  readonly operation: Operation;
  readonly base: Call;
  /** The property of the response that has the rows, and their schema. */
  readonly member: string;
  readonly rowSchema: JsonObject | undefined;
  readonly slots: readonly Slot[];
  readonly controls: Controls;
  readonly declared: JsonObject;
  readonly identity: Identity;
  /** Remaining requests for checks. The limit keeps one list from using the time of all. */
  left = 150;

  private constructor(session: Session, base: Call, { member, schema }: Rows, identity: Identity) {
    const { operation } = base;
    this.session = session;
    this.operation = operation;
    this.base = base;
    this.member = member;
    this.rowSchema = schema;
    this.slots = slotsOf(session.document, operation, base);
    this.controls = controlsOf(this.slots);
    this.declared = extensionOf(operation.node);
    this.identity = identity;
  }

  /**
   * @param path overrides path parameters of the known call.
   * @returns undefined if the operation has no rows, or if no successful call is known.
   */
  static of(
    { session, requests }: Pick<CheckContext, 'session' | 'requests'>,
    operation: Operation,
    path: Readonly<Record<string, unknown>> = {},
    identity: Identity = 'caller',
  ): Listing | undefined {
    const call = requests.of(operation)?.call;
    const rows = rowsOf(session.document, operation);
    if (call === undefined || rows === undefined) return undefined;
    const base = withoutOptional(session, { ...call, path: { ...call.path, ...path } });
    return new Listing(session, base, rows, identity);
  }

  get document(): OpenApiDocument {
    return this.session.document;
  }

  get isOver(): boolean {
    return this.session.isOver || this.left <= 0;
  }

  /** Whether a filter was already found to be ignored. */
  isIgnored({ place, name }: Slot): boolean {
    return this.session.registry.has(`filter-ignored ${this.operation.id} ${place} ${name}`);
  }

  /** Requests the largest page, and the total if there is a flag for it. */
  get widest(): Settings {
    const { size, total } = this.controls;
    return [
      ...(size === undefined ? [] : this.sized(largest(size))),
      ...(total === undefined ? [] : [[total, true] as const]),
    ];
  }

  sized(count: number): Settings {
    const { size } = this.controls;
    return size === undefined ? [] : [[size, count]];
  }

  /** The call with these values; undefined if the contract does not allow it. */
  callOf(settings: Settings): Call | undefined {
    let { query, body }: { query: unknown; body: unknown } = this.base;
    for (const [slot, value] of settings) {
      if (slot.place === 'query') query = placed(query, slot.path, value);
      else body = placed(body, slot.path, value);
    }
    const call: Call = { ...this.base, query: isObject(query) ? query : {}, body };
    return isAllowed(this.session, call) ? call : undefined;
  }

  /** Reads one page; undefined if the contract does not allow the request, or if the response has no rows. */
  async read(settings: Settings): Promise<Page | undefined> {
    return this.pageOf(await this.request(settings));
  }

  /** Reads one page. An observation ends if that is not possible. */
  async page(settings: Settings): Promise<Page> {
    return need(await this.read(settings));
  }

  async request(settings: Settings): Promise<Exchange | undefined> {
    const call = this.callOf(settings);
    this.left -= call === undefined ? 0 : 1;
    return call === undefined ? undefined : this.session.send(call, { identity: this.identity });
  }

  /** The page after others, as the last response indicates it, otherwise from the position in the contract. */
  async after(pages: readonly Page[], settings: Settings): Promise<Page | undefined> {
    const isLinked = pages.at(-1)?.metadata.next !== undefined;
    return isLinked ? this.linked(pages, settings) : this.positioned(pages, settings);
  }

  /** The page that the last of several links. */
  async linked(pages: readonly Page[], settings: Settings): Promise<Page | undefined> {
    const next = pages.at(-1)?.metadata.next;
    if (next === undefined) return undefined;
    const { cursor, position } = this.controls;
    if (next.kind === 'address') return this.addressed(next.value);
    const slot = next.kind === 'token' ? cursor : (position ?? cursor);
    if (slot === undefined) return undefined;
    return this.read([...settings.filter(([one]) => one !== position && one !== slot), [slot, next.value]]);
  }

  async addressed(address: string): Promise<Page | undefined> {
    this.left -= 1;
    const { pathname, search } = new URL(address);
    const path = this.session.footprint.below(pathname, this.operation);
    // What is at another path is no response of this operation.
    const isJudged = pathPattern(this.operation.path).test(path);
    const call = { ...this.base, raw: { path, query: search.slice(1) } };
    return this.pageOf(await this.session.send(call, { isJudged, identity: this.identity }));
  }

  async positioned(pages: readonly Page[], settings: Settings): Promise<Page | undefined> {
    const { position } = this.controls;
    if (position === undefined) return undefined;
    const first = position.default ?? position.shape.minimum ?? 0;
    const isOffset = (this.declared.paging ?? (isOffsetName(position.name) ? 'offset' : 'page')) === 'offset';
    const before = isOffset ? pages.flatMap(({ rows }) => rows).length : pages.length + Number(first);
    return this.read([...settings, [position, before]]);
  }

  /** The first page and those that follow it in one way, up to the end. */
  async pages(settings: Settings, most: number, way: 'linked' | 'positioned'): Promise<Page[]> {
    const pages = [await this.page(settings)];
    while (pages.length < most && pages.at(-1)?.rows.length !== 0) {
      const next = await this[way](pages, settings);
      if (next === undefined) break;
      pages.push(next);
    }
    return pages;
  }

  pageOf(exchange: Exchange | undefined): Page | undefined {
    const rows = exchange === undefined ? undefined : rowsIn(exchange, this);
    if (exchange === undefined || rows === undefined) return undefined;
    const metadata = listMetadataOf(exchange, this.member);
    // As `starting_after` of Stripe, which no response names.
    const last = /^start(?:ing)?after$/.test(keyOfName(this.controls.cursor?.name ?? '')) && idOf(rows.at(-1) ?? {});
    if (metadata.hasMore?.value !== true || metadata.namesNext || !isKey(last)) return { exchange, rows, metadata };
    return { exchange, rows, metadata: { ...metadata, next: { kind: 'token', value: String(last) } } };
  }

  /** Reads the whole list with the largest page size; undefined if it cannot be read. */
  async walk(settings: Settings = this.widest): Promise<FullList | undefined> {
    const first = await this.read(settings);
    if (first === undefined) return undefined;
    const pages: Page[] = [first];
    const count = () => pages.reduce((sum, { rows }) => sum + rows.length, 0);
    let isComplete = this.#isLast(first);
    while (!isComplete && pages.length < maxPages && count() < maxRows && !this.session.isOver) {
      if (pages.at(-1)?.rows.length === 0) break;
      const page = await this.after(pages, settings);
      // An empty page is the end, regardless of what earlier pages indicate.
      if (page?.rows.length === 0) isComplete = true;
      if (page === undefined || repeats(pages, page)) break;
      pages.push(page);
      isComplete = this.#isLast(page);
    }
    const rows = pages.flatMap((page) => page.rows);
    const keyOf = keyFor(rows);
    const exchanges = pages.map(({ exchange }) => exchange);
    const properties = propertiesOf(this.document, rows, this.rowSchema);
    const { exchange } = pages.at(-1) ?? first;
    const keys = rows.map(keyOf);
    return { rows, keyOf, keys, isComplete, pages, exchanges, exchange, properties, rowSchema: this.rowSchema };
  }

  /** Whether no rows follow, according to the response or because the page is not full. */
  #isLast({ rows, metadata }: Page): boolean {
    const { size, position, cursor } = this.controls;
    if (metadata.next !== undefined) return false;
    if (metadata.hasMore !== undefined) return !metadata.hasMore.value;
    return size === undefined ? position === undefined && cursor === undefined : rows.length < largest(size);
  }
}

/** What a check of lists gets. The list is read again before a finding is confirmed. */
export interface ListSubject {
  readonly listing: Listing;
  readonly list: FullList;
}

export type ListCheck = (subject: ListSubject) => Differences;

/** A difference that is about a parameter, or about the operation as a whole. */
export function finding({ operation }: Listing, check: CheckName, slot: Slot | undefined, facts: Facts): Difference {
  const about = slot === undefined ? '' : `${slot.place} ${slot.name}`;
  return differ(check, operation, about, { node: slot?.source, ...facts });
}

export function isOffsetName(name: string): boolean {
  return /offset|skip|start|from|first/i.test(name);
}

/** The largest page size to request. Longer lists are read in several pages. */
export function largest({ shape }: Slot, most = 100): number {
  const maximum = shape.maximum ?? (shape.exclusiveMaximum === undefined ? undefined : shape.exclusiveMaximum - 1);
  const declared = shape.enum?.filter((one) => typeof one === 'number') ?? [];
  return declared.length > 0 ? Math.max(...declared) : Math.min(maximum ?? 100, most);
}

function repeats(pages: readonly Page[], page: Page): boolean {
  const keyOf = keyFor([...pages.flatMap(({ rows }) => rows), ...page.rows]);
  const known = new Set(pages.flatMap(({ rows }) => rows.map(keyOf)));
  return page.rows.length === 0 || page.rows.some((row) => known.has(keyOf(row)));
}

function withoutOptional(session: Session, call: Call): Call {
  const needed = new Set(call.operation.parameters.filter(({ required }) => required).map(({ name }) => name));
  const query = Object.fromEntries(Object.entries(call.query).filter(([name]) => needed.has(name)));
  let body = call.body;
  for (const name of Object.keys(isObject(body) ? body : {})) {
    const { [name]: _left, ...rest } = isObject(body) ? body : {};
    if (isAllowed(session, { ...call, query, body: rest })) body = rest;
  }
  return { ...call, query, body };
}

function isAllowed({ validators }: Session, call: Call): boolean {
  const { operation, query, body } = call;
  const schema = bodySchemaOf(call);
  if (schema !== undefined && body !== undefined && !validators.accepts(schema, body)) return false;
  return operation.parameters.every(
    ({ in: place, name, schema: own }) =>
      place !== 'query' || query[name] === undefined || validators.accepts(own, query[name]),
  );
}

/** Identifies a row by its ID if IDs are unique, otherwise by all its values. */
export type KeyOf = (row: JsonObject) => string;

const whole: KeyOf = (row) => jsonText(row);

export function keyFor(rows: readonly JsonObject[]): KeyOf {
  const name = Object.keys(rows[0] ?? {}).find(isOwnId);
  if (name === undefined || rows.some((row) => row[name] === undefined || row[name] === null)) return whole;
  const own: KeyOf = (row) => String(row[name]);
  const wholes = new Map(rows.map((row) => [own(row), whole(row)]));
  // If different rows share an ID, it does not identify the row.
  return rows.every((row) => wholes.get(own(row)) === whole(row)) ? own : whole;
}

export function hasOwnIds(rows: readonly JsonObject[]): boolean {
  return rows.length > 0 && keyFor(rows) !== whole;
}

export function isSameSequence(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((key, index) => key === right[index]);
}

export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return isSameSequence([...new Set(left)].sort(), [...new Set(right)].sort());
}

export function firstRepeated(keys: readonly string[]): string | undefined {
  return keys.find((key, index) => keys.indexOf(key) < index);
}

/** Keys for display. */
export function shown(keys: readonly string[]): string {
  const short = keys.slice(0, 6).map((key) => cut(key, 40));
  const list = keys.length === 0 ? '' : ` (${short.join(', ')}${keys.length > 6 ? ', …' : ''})`;
  return `${keys.length === 1 ? '1 row' : `${keys.length} rows`}${list}`;
}
