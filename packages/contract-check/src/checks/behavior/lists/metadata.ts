import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { keyOfName } from '../../../run/words.ts';

interface Named<Value> {
  readonly name: string;
  readonly value: Value;
}

/** Paging information in a response. */
export interface ListMetadata {
  /** Every total in the body and in headers. */
  readonly totals: readonly Named<number>[];
  readonly pages: Named<number> | undefined;
  readonly hasMore: Named<boolean> | undefined;
  /** Whether the response has a field or header for the next page, even if it is empty. */
  readonly namesNext: boolean;
  readonly next: Next | undefined;
  /** URLs of other pages by relation: `first`, `last` and `prev`. */
  readonly relations: ReadonlyMap<string, Next>;
  /** Numbers next to the rows, by normalized name. */
  readonly numbers: ReadonlyMap<string, Named<number>>;
}

export type Next =
  | { readonly kind: 'address' | 'token'; readonly value: string }
  | { readonly kind: 'number'; readonly value: number };

const containers =
  /^(?:meta|metadata|page|paging|pagination|pageinfo|pager|links|info|header|summary|cursor|cursors|resultset|responsemetadata)$/;
const totals =
  /^(?:total|totalcount|totalitems|totalresults|totalelements|totalrows|totalrecords|totalentries|totalhits|recordcount|itemstotal|resultcount)$/;
const pageCounts = /^(?:totalpages|pagecount|pagestotal|lastpage|numpages|numberofpages)$/;
const more = /^(?:hasmore|hasnext|hasnextpage|more|moreavailable|istruncated|truncated|hasmoreitems|hasmoreresults)$/;
const noMore = /^(?:islast|islastpage|last)$/;
const nexts =
  /^(?:next|nextcursor|nextpage|nexttoken|nextpagetoken|nextlink|nexturl|nexturi|nexthref|odatanextlink|continuationtoken|endcursor|nextpageurl|nextmarker|nextoffset|after|cursornext|cursorsafter)$/;
const totalHeaders = ['x-total-count', 'x-total', 'total-count', 'x-pagination-total-count', 'x-total-items'];
const relationNames = new Map([
  ...['first', 'last', 'prev'].map((name) => [name, name] as const),
  ['previous', 'prev'],
]);

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const hrefOf = (value: unknown) => (isObject(value) ? value.href : value);

export function isTotalName(name: string): boolean {
  return totals.test(keyOfName(name));
}

export function listMetadataOf({ response, request }: Exchange, rowsMember: string): ListMetadata {
  const members = membersOf(response.json?.value, rowsMember);
  const find = <Value>(names: RegExp, isFit: (value: unknown) => value is Value): Named<Value> | undefined =>
    members.flatMap(({ name, key, value }) => (names.test(key) && isFit(value) ? [{ name, value }] : []))[0];
  const last = find(noMore, isBoolean);
  const next = members.find(
    ({ key, value }) =>
      nexts.test(key) && !isBoolean(value) && (typeof value !== 'object' || value === null || 'href' in value),
  );
  const links = linksIn(response.headers.link);
  const link = links.find(([relation]) => relation === 'next')?.[1];
  const relations = [...members.map(({ key, value }) => [key, hrefOf(value)] as const), ...links].flatMap(
    ([key, target]) => {
      const name = relationNames.get(key);
      const address = typeof target === 'string' ? nextOf(target, request.url) : undefined;
      return name !== undefined && address?.kind === 'address' ? [[name, address] as const] : [];
    },
  );
  return {
    totals: [find(totals, isCount), headerTotal(response.headers)].filter((one) => one !== undefined),
    pages: find(pageCounts, isCount),
    hasMore: find(more, isBoolean) ?? (last && { ...last, value: !last.value }),
    namesNext: next !== undefined || link !== undefined,
    next: nextOf(link ?? hrefOf(next?.value), request.url),
    relations: new Map(relations),
    numbers: new Map(
      members.flatMap(({ name, key, value }) => (isCount(value) ? [[key, { name, value }] as const] : [])),
    ),
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

/** The relations of a `Link` header (RFC 8288), with their targets. */
function linksIn(header = ''): [relation: string, target: string][] {
  return header.split(/,(?=\s*<)/).flatMap((part) => {
    const [, target = '', quoted, bare = ''] = /<([^>]*)>.*?;\s*rel\s*=\s*(?:"([^"]*)"|([\w-]+))/i.exec(part) ?? [];
    return (quoted ?? bare)
      .toLowerCase()
      .split(/\s+/)
      .filter(Boolean)
      .map((name): [string, string] => [name, target]);
  });
}

function nextOf(target: unknown, from: string): Next | undefined {
  if (typeof target === 'number') return { kind: 'number', value: target };
  if (typeof target !== 'string' || target === '') return undefined;
  if (!/^(?:https?:\/\/|\/|\?)/.test(target) && !/^[\w/.-]+\?[\w.[\]%-]+=/.test(target))
    return { kind: 'token', value: target };
  return URL.canParse(target, from) ? { kind: 'address', value: new URL(target, from).href } : undefined;
}

/** The rows of a response; undefined if it has none, for example an error. */
export function rowsIn({ response }: Exchange, member: string): JsonObject[] | undefined {
  if (response.status < 200 || response.status > 299) return undefined;
  const body = response.json?.value;
  const list = member === '' ? body : isObject(body) ? body[member] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : undefined;
}
