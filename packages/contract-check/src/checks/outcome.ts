import type { Exchange } from '../http/call.ts';
import { isObject, type JsonObject } from '../json.ts';

/** How a server tells that a request breaks the contract, learnt from its rejections: a status, and a code where it has one. */
export interface Rejection {
  readonly statuses: ReadonlySet<number>;
  readonly codes: ReadonlySet<string>;
}

export function isRejected({ response }: Exchange): boolean {
  return response.status >= 400 && response.status < 500;
}

/** The word by which an error says what it is: a problem's `type` or `code`, or `error.code`. */
export function codeOf({ response }: Exchange): string | undefined {
  const body = response.json?.value;
  if (!isObject(body)) return undefined;
  const inner = isObject(body.error) ? body.error : {};
  const code =
    body.code ?? body.type ?? inner.code ?? inner.type ?? (typeof body.error === 'string' ? body.error : undefined);
  return typeof code === 'string' ? code : undefined;
}

/** The words by which the single errors of a response say what they are. */
export function detailCodesOf({ response }: Exchange): string[] {
  const body = response.json?.value;
  const lists = isObject(body) ? Object.values(body).filter((member) => Array.isArray(member)) : [];
  return lists
    .flat()
    .filter(isObject)
    .flatMap(({ code, type, keyword }) => [code, type, keyword].filter((word) => typeof word === 'string').slice(0, 1));
}

/**
 * Whether an error that says where it is says another place than the one that was probed: then the request was rejected for how
 * its parts go together, which is no matter of this constraint.
 */
export function pointsElsewhere({ response }: Exchange, probed: readonly string[]): boolean {
  const places = placesIn(response.json?.value, 0);
  if (places.length === 0) return false;
  const expected = probed.filter((segment) => !/^\d+$/.test(segment)).map(plain);
  const [last] = expected.slice(-1);
  return !places.some((place) => {
    const segments = segmentsOf(place);
    const [named] = segments.slice(-1);
    // An error at the list or object that the value is in is about the value, too.
    return named === undefined || expected.includes(named) || (last !== undefined && segments.includes(last));
  });
}

const placeNames = /^(?:pointer|path|field|loc|location|property|parameter|param|instancePath|dataPath|attribute)$/i;

function placesIn(value: unknown, depth: number): string[] {
  if (depth > 5) return [];
  if (Array.isArray(value)) return value.slice(0, 20).flatMap((item) => placesIn(item, depth + 1));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (placeNames.test(name)) {
      if (typeof member === 'string') return [member];
      if (Array.isArray(member) && member.every((part) => ['string', 'number'].includes(typeof part)))
        return [member.join('/')];
    }
    return placesIn(member, depth + 1);
  });
}

/** The names in a pointer, a dotted path or a list of keys, without the numbers and without the word for the whole. */
function segmentsOf(place: string): string[] {
  return place
    .split(/[^A-Za-z0-9_$-]+/)
    .filter(
      (segment) =>
        segment !== '' &&
        !/^\d+$/.test(segment) &&
        !/^(?:body|query|path|header|headers|params|requestBody)$/.test(segment),
    )
    .map(plain);
}

function plain(segment: string): string {
  return segment.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}

/** Whether a response rejects the form of a request, and not what it would do: only that can contradict the contract. */
export function rejectsForm(exchange: Exchange, { statuses, codes }: Rejection): boolean {
  const { status } = exchange.response;
  // Where requests are rejected as a whole for their form, an item is rejected for what it says.
  if (![400, 413, 414, 415, 422, 431].includes(status)) return statuses.size === 0 && hasItemErrors(exchange);
  if (statuses.size > 0 && !statuses.has(status)) return false;
  const code = codeOf(exchange);
  if (code !== undefined && codes.size > 0 && !codes.has(code)) return false;
  const details = detailCodesOf(exchange);
  // A rule of its own comes with a code of its own, which no breach of the schema came with.
  return details.length === 0 || codes.size < 2 || details.some((one) => codes.has(one));
}

/** Whether a call that succeeded as a whole says of one of its items that it did not. */
export function hasItemErrors(exchange: Exchange): boolean {
  return itemErrorsIn(exchange).length > 0;
}

/** What a call that succeeded as a whole says of items that did not. */
export function itemErrorsIn({ response }: Exchange): unknown[] {
  if (response.status < 200 || response.status > 299) return [];
  const visit = (value: unknown, depth: number): unknown[] => {
    if (depth > 4) return [];
    if (Array.isArray(value)) return value.flatMap((item) => visit(item, depth + 1));
    if (!isObject(value)) return [];
    if (Array.isArray(value.errors) && value.errors.length > 0) return value.errors;
    if (isObject(value.error)) return [value.error];
    if (value.success === false) return [value];
    return Object.entries(value).flatMap(([name, member]) =>
      isListOfFailures(name) && Array.isArray(member) ? member.filter(isObject) : visit(member, depth + 1),
    );
  };
  return visit(response.json?.value, 0);
}

export function isAccepted(exchange: Exchange): boolean {
  const { status } = exchange.response;
  return status >= 200 && status < 400 && !hasItemErrors(exchange);
}

/** What became of one of the items that a call was about. */
export interface ItemResult {
  readonly index: number;
  readonly row: JsonObject;
  readonly isFailure: boolean;
}

/** The results of a response by the index of their items; undefined where it says nothing of each. */
export function itemResultsIn(exchange: Exchange | undefined): ItemResult[] | undefined {
  const body = exchange?.response.json?.value;
  const lists = Array.isArray(body) ? [['', body] as const] : Object.entries(isObject(body) ? body : {});
  const found = lists.flatMap(([name, list]) =>
    Array.isArray(list)
      ? list.filter(isObject).map((row, place) => ({
          index: typeof row.index === 'number' ? row.index : place,
          row,
          isFailure: isFailure(name, row),
        }))
      : [],
  );
  return found.length === 0 ? undefined : found;
}

/** A batch may tell what failed in a list of its own. */
function isListOfFailures(name: string): boolean {
  return /fail|error|reject/i.test(name);
}

function isFailure(list: string, row: JsonObject): boolean {
  return (
    isListOfFailures(list) ||
    (row.error !== undefined && row.error !== null) ||
    row.success === false ||
    (typeof row.status === 'number' && row.status >= 400) ||
    (Array.isArray(row.errors) && row.errors.length > 0) ||
    /fail|error|reject/i.test(String(row.status ?? ''))
  );
}
