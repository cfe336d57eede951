import type { OpenApiDocument } from '../../../document/document.ts';
import { extensionOf, type Operation } from '../../../document/operation.ts';
import { type Shape, shapeOf } from '../../../document/shape.ts';
import { type Call, contentOf, type Exchange } from '../../../http/call.ts';
import { isJson, isObject, type JsonObject } from '../../../json.ts';
import { keyOfName, wordsOf } from '../../../run/names.ts';
import { isOperatorName } from './operators.ts';

/** An input of a list operation: a query parameter, a body property, or a nested property of these. */
export interface Slot {
  readonly place: 'query' | 'body';
  readonly path: readonly string[];
  /** For display: `page[size]` in a query, `paging.size` in a body. */
  readonly name: string;
  readonly words: readonly string[];
  readonly shape: Shape;
  readonly source: JsonObject;
  readonly isRequired: boolean;
  /** Undefined if none is declared. */
  readonly default: unknown;
  readonly declared: JsonObject;
}

export function slotsOf(document: OpenApiDocument, operation: Operation, call: Call): Slot[] {
  const slot = (
    place: Slot['place'],
    path: readonly string[],
    schemas: readonly JsonObject[],
    source: JsonObject,
    isRequired: boolean,
  ): Slot[] => {
    const [first = '', ...rest] = path;
    const name = place === 'body' ? path.join('.') : `${first}${rest.map((one) => `[${one}]`).join('')}`;
    const words = path.flatMap(wordsOf);
    return alternatives(document, schemas).flatMap((shape) => {
      const value = shape.sources.find((one) => one.default !== undefined)?.default;
      const members = shape.types.has('object') && path.length <= 2 ? [...shape.properties] : [];
      return [
        { place, path, name, words, shape, source, isRequired, default: value, declared: extensionOf(source) },
        ...members.flatMap(([member, inner]) =>
          slot(place, [...path, member], inner, inner[0] ?? source, shape.required.has(member)),
        ),
      ];
    });
  };
  const inQuery = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.mediaType === undefined)
    .flatMap(({ name, schema, node, required }) => slot('query', [name], [schema], node, required));
  const content = contentOf(call);
  if (content?.schema === undefined || !isJson(content.mediaType)) return inQuery;
  const body = shapeOf(document, content.schema);
  const inBody = [...body.properties].flatMap(([name, schemas]) =>
    slot('body', [name], schemas, schemas[0] ?? content.node, body.required.has(name)),
  );
  return [...inQuery, ...inBody];
}

/**
 * The shapes of a filter that is a value or an object of operators, as `created=5` or `created[gte]=5`; that of a value that can be null,
 * without null; otherwise its own.
 */
function alternatives(document: OpenApiDocument, schemas: readonly JsonObject[]): readonly Shape[] {
  const shape = shapeOf(document, ...schemas);
  const branches = shape.choices
    .flatMap((choice) => choice.branches.map((branch) => shapeOf(document, ...schemas, ...branch)))
    .filter(({ types }) => types.size !== 1 || !types.has('null'));
  const hasOperators = ({ types, properties }: Shape) =>
    types.has('object') && properties.size > 0 && [...properties.keys()].every(isOperatorName);
  return branches.some(hasOperators) || branches.length === 1 ? branches : [shape];
}

/** Returns a copy with the value at a path. */
export function placed(target: unknown, [first, ...rest]: readonly string[], value: unknown): unknown {
  if (first === undefined) return value;
  const object = isObject(target) ? target : {};
  return { ...object, [first]: placed(object[first], rest, value) };
}

const isOf = ({ shape: { types } }: Slot, some: readonly string[], none: readonly string[]) =>
  some.some((type) => types.has(type as 'string')) && !none.some((type) => types.has(type as 'string'));
const isFlag = (slot: Slot) => isOf(slot, ['boolean'], ['string', 'object']);
const isInteger = (slot: Slot) => isOf(slot, ['integer', 'number'], ['object', 'boolean']);
const isText = (slot: Slot) => isOf(slot, ['string'], ['object', 'array']) && slot.shape.enum === undefined;

/** The controls of a list, inferred from the names and types of its slots. */
export interface Controls {
  readonly size: Slot | undefined;
  readonly position: Slot | undefined;
  readonly cursor: Slot | undefined;
  readonly total: Slot | undefined;
  readonly order: Slot | undefined;
  readonly direction: Slot | undefined;
  readonly search: Slot | undefined;
  /** Filters, and slots of unknown meaning. */
  readonly others: readonly Slot[];
}

const names = {
  size: /^(?:page)?(?:size|limit|length|count)$|^(?:per|itemsper|resultsper|rowsper|entriesper|recordsper)page$|^(?:max|limit|top|take|first|rows|num|amount|batchsize|maxresults|maxitems|maxrows|maxpagesize|numresults|maxcount|pagemax)$/,
  position:
    /^(?:page|pagenumber|pagenum|pageno|pageindex|currentpage|p|offset|skip|start|startindex|startat|pageoffset|from|rowoffset|firstresult)$/,
  cursor:
    /^(?:page)?(?:cursor|token|after|marker)$|^(?:pagetoken|nexttoken|nextpagetoken|nextcursor|continuationtoken|continuation|startingafter|startafter|scrollid|bookmark|exclusivestartkey)$/,
  total:
    /^(?:include|with|show|return|get)?(?:total|totals|count|totalcount|totalrows|counttotal)$|^counttotal$|^needtotal$/,
  order: /^(?:order|sort|orderby|sortby|ordering|sorting|sortfield|sortkey|orderfield|sorts|orders|sortcolumn)$/,
  direction:
    /^(?:direction|dir|sortorder|sortdirection|sortdir|orderdirection|orderdir|order|sorttype|ordertype|sort)$/,
  search: /^(?:q|query|search|searchterm|searchtext|searchquery|text|keyword|keywords|term|freetext|fulltext)$/,
  representation:
    /^(?:fields|select|include|includes|expand|embed|populate|exclude|attributes|columns|view|format|locale|lang|language|pretty|callback|apikey|key|accesstoken|version|tenant)$/,
};

export function controlsOf(slots: readonly Slot[]): Controls {
  const find = (kind: keyof typeof names, isFit: (slot: Slot) => boolean) =>
    slots.find((slot) => names[kind].test(plainName(slot)) && isFit(slot));
  const isDated = ({ shape }: Slot) => shape.format === 'date' || shape.format === 'date-time';
  const size = find('size', isInteger);
  const position = find('position', (slot) => isInteger(slot) && slot !== size);
  const cursor = find('cursor', (slot) => isText(slot) && !isDated(slot));
  const total = find('total', isFlag);
  const direction = find('direction', ({ shape }) => {
    const words = (shape.enum ?? []).filter((word) => word !== null);
    return words.length > 1 && words.every((word) => directionOf(word) !== undefined);
  });
  const order = slots.find(
    (slot) =>
      slot !== direction &&
      slot.declared.order !== false &&
      (slot.declared.order !== undefined || names.order.test(plainName(slot))),
  );
  const search =
    slots.find(({ declared }) => Array.isArray(declared.searches)) ??
    find('search', (slot) => isText(slot) && slot.declared.filter === undefined);
  const assigned = new Set([size, position, cursor, total, order, direction, search]);
  const others = slots.filter(
    (slot) =>
      !assigned.has(slot) &&
      !names.representation.test(plainName(slot)) &&
      ![order, direction].some((outer) => outer !== undefined && isInside(slot, outer)),
  );
  return { size, position, cursor, total, order, direction, search, others };
}

/** The name without an enclosing object such as `pagination` in `pagination.limit`. */
function plainName({ words }: Slot): string {
  const isGrouped = words.length > 1 && /^(?:paging|pagination|pageable|options|params|query)$/.test(words[0] ?? '');
  return keyOfName(isGrouped ? words.slice(1) : words);
}

export function isInside(slot: Slot, outer: Slot): boolean {
  return (
    slot !== outer &&
    slot.place === outer.place &&
    slot.path.length > outer.path.length &&
    outer.path.every((segment, index) => slot.path[index] === segment)
  );
}

export interface Direction {
  readonly isDescending: boolean;
  /** Where rows without a value are sorted; undefined if unspecified. */
  readonly nulls: 'first' | 'last' | undefined;
}

/** Parses a word such as `desc` or `asc_nulls_first`. */
export function directionOf(word: unknown): Direction | undefined {
  if (word === 1 || word === -1) return { isDescending: word === -1, nulls: undefined };
  const match = typeof word === 'string' ? /^(asc|desc)(?:ending)?(?:nulls(first|last))?$/.exec(keyOfName(word)) : null;
  return (match && { isDescending: match[1] === 'desc', nulls: match[2] as Direction['nulls'] }) || undefined;
}

interface Named<Value> {
  readonly name: string;
  readonly value: Value;
}

export interface ListMetadata {
  /** Every total in the body and in headers. */
  readonly totals: readonly Named<number>[];
  readonly counts: readonly (Named<number> & { readonly of: keyof typeof counted })[];
  /** The addresses of the first and the last page. */
  readonly ends: Readonly<Partial<Record<'first' | 'last', string>>>;
  readonly hasMore: Named<boolean> | undefined;
  /** Whether the response has a field or header for the next page, even if it is empty. */
  readonly namesNext: boolean;
  readonly next: Next | undefined;
}

export type Next =
  | { readonly kind: 'address' | 'token'; readonly value: string }
  | { readonly kind: 'number'; readonly value: number };

const containers =
  /^(?:meta|metadata|page|paging|pagination|pageinfo|pager|links|info|header|summary|cursor|cursors|resultset|responsemetadata)$/;
const totals =
  /^(?:total|totalsize|totalcount|totalitems|totalresults|totalelements|totalrows|totalrecords|totalentries|totalhits|recordcount|itemstotal|resultcount)$/;
const more = /^(?:hasmore|hasnext|hasnextpage|more|moreavailable|istruncated|truncated|hasmoreitems|hasmoreresults)$/;
const noMore = /^(?:islast|islastpage|last)$/;
const nexts =
  /^(?:next|nextcursor|nextpage|nexttoken|nextpagetoken|nextlink|nexturl|nexturi|nexthref|odatanextlink|continuationtoken|endcursor|nextpageurl|nextmarker|nextoffset|after|nextpageuri|cursornext|cursorsafter)$/;
const counted = {
  pages: /^(?:totalpages|pagecount|pagestotal|numpages)$/,
  size: /^(?:perpage|pagesize|itemsperpage|limit)$/,
  page: /^(?:page|currentpage|pagenumber)$/,
  offset: /^offset$/,
} as const;
const totalHeaders = ['x-total-count', 'x-total', 'total-count', 'x-pagination-total-count', 'x-total-items'];

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const hrefOf = (value: unknown) => (isObject(value) ? value.href : value);

export function listMetadataOf({ response, request }: Exchange, rowsMember: string): ListMetadata {
  const members = membersOf(response.json?.value, rowsMember);
  const find = <Value>(names: RegExp, isFit: (value: unknown) => value is Value): Named<Value> | undefined =>
    members.flatMap(({ name, key, value }) => (names.test(key) && isFit(value) ? [{ name, value }] : []))[0];
  const last = find(noMore, isBoolean);
  const next = members.find(
    ({ key, value }) =>
      nexts.test(key) && !isBoolean(value) && (typeof value !== 'object' || value === null || 'href' in value),
  );
  // `count` beside links to both sides is that of all rows, as in Django.
  const isWhole = ['next', 'previous'].every((side) => members.some(({ key }) => key === side));
  const all = isWhole ? find(/^count$/, isCount) : undefined;
  const { next: link, first, last: end } = linksIn(response.headers.link, request.url);
  const counts = (Object.keys(counted) as (keyof typeof counted)[]).flatMap((of) => {
    const one = find(counted[of], isCount);
    return one === undefined ? [] : [{ ...one, of }];
  });
  return {
    counts,
    ends: { ...(first && { first }), ...(end && { last: end }) },
    totals: [find(totals, isCount) ?? all, headerTotal(response.headers)].filter((one) => one !== undefined),
    hasMore: find(more, isBoolean) ?? (last && { ...last, value: !last.value }),
    namesNext: next !== undefined || link !== undefined || end !== undefined,
    next: nextOf(link ?? hrefOf(next?.value), request.url),
  };
}

/** Scalars next to the rows and in paging objects; `_links.next` counts as `next`. */
function membersOf(body: unknown, rowsMember: string): { name: string; key: string; value: unknown }[] {
  const named = (name: string, value: unknown, inner = name) => ({ name, value, key: keyOfName(inner) });
  return Object.entries(isObject(body) ? body : {}).flatMap(([name, value]) => {
    if (name === rowsMember) return [];
    if (!isObject(value) || !containers.test(keyOfName(name))) return [named(name, value)];
    return Object.entries(value).map(([inner, member]) => named(`${name}.${inner}`, member, inner));
  });
}

function headerTotal(headers: Readonly<Record<string, string>>): Named<number> | undefined {
  const name = totalHeaders.find((one) => /^\d+$/.test(headers[one] ?? ''));
  if (name !== undefined) return { name, value: Number(headers[name]) };
  const range = /\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1];
  return range === undefined ? undefined : { name: 'content-range', value: Number(range) };
}

/** The addresses in a `Link` header by their relation (RFC 8288). */
function linksIn(header = '', from: string): Partial<Record<string, string>> {
  const parts = header.split(/,(?=\s*<)/).map((part) => /<([^>]*)>.*?;\s*rel\s*=\s*(?:"([^"]*)"|([\w-]+))/i.exec(part));
  const links = parts.flatMap((part) => {
    const relations = (part?.[2] ?? part?.[3] ?? '').toLowerCase().split(/\s+/);
    return relations.map((one) => [one, URL.parse(part?.[1] ?? '', from)?.href] as const);
  });
  return Object.fromEntries(links);
}

function nextOf(target: unknown, from: string): Next | undefined {
  if (typeof target === 'number') return { kind: 'number', value: target };
  if (typeof target !== 'string' || target === '') return undefined;
  if (!/^(?:https?:\/\/|\/|\?)/.test(target) && !/^[\w/.-]+\?[\w.[\]%-]+=/.test(target))
    return { kind: 'token', value: target };
  return URL.canParse(target, from) ? { kind: 'address', value: new URL(target, from).href } : undefined;
}
