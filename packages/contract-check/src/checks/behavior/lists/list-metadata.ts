import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { keyOfName } from '../../../run/words.ts';

/** Paging information in a response. */
export interface ListMetadata {
  /** Every total in the body and in headers. */
  readonly totals: readonly { readonly name: string; readonly value: number }[];
  readonly total: { readonly name: string; readonly value: number } | undefined;
  readonly pages: { readonly name: string; readonly value: number } | undefined;
  readonly hasMore: { readonly name: string; readonly value: boolean } | undefined;
  /** Whether the response has a field or header for the next page, even if it is empty. */
  readonly namesNext: boolean;
  readonly next: Next | undefined;
  /** URLs of other pages by relation: `first`, `last` and `prev`. */
  readonly relations: ReadonlyMap<string, Next>;
  /** Numbers next to the rows, by normalized name. */
  readonly numbers: ReadonlyMap<string, { readonly name: string; readonly value: number }>;
}

export type Next =
  | { readonly kind: 'address'; readonly value: string }
  | { readonly kind: 'token'; readonly value: string }
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

export function listMetadataOf({ response, request }: Exchange, rowsMember: string): ListMetadata {
  const members = membersOf(response.json?.value, rowsMember);
  const total = members.find(([name, value]) => totals.test(lastKey(name)) && isCount(value));
  const pages = members.find(([name, value]) => pageCounts.test(lastKey(name)) && isCount(value));
  const flag = members.find(([name, value]) => more.test(lastKey(name)) && typeof value === 'boolean');
  const counterFlag = members.find(([name, value]) => noMore.test(lastKey(name)) && typeof value === 'boolean');
  const next = members.find(
    ([name, value]) =>
      nexts.test(lastKey(name)) && (typeof value !== 'object' || value === null) && typeof value !== 'boolean',
  );
  const nested = members.find(([name, value]) => nexts.test(lastKey(name)) && isObject(value) && 'href' in value);
  const link = linkOf(response.headers.link);
  const fromHeader = headerTotal(response.headers);
  const target = link ?? (nested !== undefined && isObject(nested[1]) ? nested[1].href : next?.[1]);
  return {
    totals: [
      ...(total === undefined ? [] : [{ name: total[0], value: Number(total[1]) }]),
      ...(fromHeader === undefined ? [] : [fromHeader]),
    ],
    total: total === undefined ? fromHeader : { name: total[0], value: Number(total[1]) },
    pages: pages === undefined ? undefined : { name: pages[0], value: Number(pages[1]) },
    hasMore:
      flag !== undefined
        ? { name: flag[0], value: flag[1] === true }
        : counterFlag !== undefined
          ? { name: counterFlag[0], value: counterFlag[1] === false }
          : undefined,
    namesNext: next !== undefined || nested !== undefined || link !== undefined,
    next: nextOf(target, request.url),
    relations: relationsOf(members, response.headers.link, request.url),
    numbers: new Map(
      members.flatMap(([name, value]) =>
        isCount(value) ? [[keyOfName(lastSegment(name)), { name, value: Number(value) }] as const] : [],
      ),
    ),
  };
}

export function isTotalName(name: string): boolean {
  return totals.test(keyOfName(name));
}

/** Scalars next to the rows and in paging objects; `_links.next` counts as `next`. */
function membersOf(body: unknown, rowsMember: string): [string, unknown][] {
  if (!isObject(body)) return [];
  return Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
    if (name === rowsMember) return [];
    if (isObject(value) && containers.test(keyOfName(name)))
      return Object.entries(value).map(([inner, member]) => [`${name}.${inner}`, member]);
    return [[name, value]];
  });
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function lastKey(name: string): string {
  // The name `@odata.nextLink` contains a dot.
  return name.startsWith('@') ? keyOfName(name) : keyOfName(lastSegment(name));
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function headerTotal(headers: Readonly<Record<string, string>>): ListMetadata['total'] {
  const name = totalHeaders.find((one) => /^\d+$/.test(headers[one] ?? ''));
  if (name !== undefined) return { name, value: Number(headers[name]) };
  const range = /\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1];
  return range === undefined ? undefined : { name: 'content-range', value: Number(range) };
}

const relationNames: Readonly<Record<string, string>> = {
  first: 'first',
  last: 'last',
  prev: 'prev',
  previous: 'prev',
};

function relationsOf(
  members: readonly (readonly [string, unknown])[],
  header: string | undefined,
  from: string,
): Map<string, Next> {
  const inBody = members.map(([name, value]) => [lastKey(name), isObject(value) ? value.href : value] as const);
  const inHeader = (header ?? '').split(/,(?=\s*<)/).map((part) => {
    const [, target, name = ''] = /<([^>]*)>.*;\s*rel\s*=\s*"?(\w+)/i.exec(part) ?? [];
    return [name.toLowerCase(), target] as const;
  });
  return new Map(
    [...inBody, ...inHeader].flatMap(([key, target]) => {
      const name = relationNames[key];
      const next = typeof target === 'string' ? nextOf(target, from) : undefined;
      return name !== undefined && next?.kind === 'address' ? [[name, next] as const] : [];
    }),
  );
}

function linkOf(header: string | undefined): string | undefined {
  const parts = (header ?? '').split(/,(?=\s*<)/);
  const next = parts.find((part) => /;\s*rel\s*=\s*(?:"[^"]*\bnext\b[^"]*"|next\b)/i.test(part));
  return /<([^>]*)>/.exec(next ?? '')?.[1];
}

function nextOf(target: unknown, from: string): Next | undefined {
  if (typeof target === 'number') return { kind: 'number', value: target };
  if (typeof target !== 'string' || target === '') return undefined;
  if (!/^(?:https?:\/\/|\/|\?)/.test(target) && !/^[\w/.-]+\?[\w.[\]%-]+=/.test(target))
    return { kind: 'token', value: target };
  try {
    return { kind: 'address', value: new URL(target, from).href };
  } catch {
    return undefined;
  }
}

/** The rows of a response; undefined if it has none, for example an error. */
export function rowsIn({ response }: Exchange, member: string): JsonObject[] | undefined {
  if (response.status < 200 || response.status > 299) return undefined;
  const body = response.json?.value;
  const list = member === '' ? body : isObject(body) ? body[member] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : undefined;
}
