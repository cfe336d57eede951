import { type Exchange, isSuccess } from '../http/call.ts';
import { isKey, isObject, type JsonObject, parsedJson } from '../json.ts';

/** How the server reports contract violations, learned from its rejections: statuses, and error codes if any. */
export interface Rejection {
  readonly statuses: ReadonlySet<number>;
  readonly codes: ReadonlySet<string>;
}

export const isRejected = ({ response }: Exchange) => response.status >= 400 && response.status < 500;

/** The error code of a response: a problem's `type` or `code`, or `error.code`. */
export function codeOf({ response }: Exchange): string | undefined {
  const body = response.json?.value;
  if (!isObject(body)) return undefined;
  const inner = isObject(body.error) ? body.error : {};
  const code =
    body.code ?? body.type ?? inner.code ?? inner.type ?? (typeof body.error === 'string' ? body.error : undefined);
  return typeof code === 'string' ? code : undefined;
}

/** The codes of the individual errors in a response. */
export function detailCodesOf({ response }: Exchange): string[] {
  const body = response.json?.value;
  const lists = isObject(body) ? Object.values(body).filter((member) => Array.isArray(member)) : [];
  return lists
    .flat()
    .filter(isObject)
    .flatMap(({ code, type, keyword }) => [code, type, keyword].filter((word) => typeof word === 'string').slice(0, 1));
}

/** Whether the errors in a response point to other fields than the probed one: a rule between fields rejects it. */
export function pointsElsewhere({ request, response }: Exchange, probed: readonly string[]): boolean {
  const body = response.json?.value;
  const pointers = placesIn(body, 0);
  const places = pointers.length > 0 ? pointers : quotedIn(body, parsedJson(request.body)?.value);
  if (places.length === 0) return false;
  const expected = probed.filter((segment) => !/^\d+$/.test(segment)).map(plain);
  const [last] = expected.slice(-1);
  return !places.some((place) => {
    const segments = segmentsOf(place);
    const [named] = segments.slice(-1);
    // An error at the list or object that contains the value counts as well.
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
      if (Array.isArray(member) && member.every(isKey)) return [member.join('/')];
    }
    return placesIn(member, depth + 1);
  });
}

/** The names of values in a request that the texts of a response quote, by name or by value. */
function quotedIn(body: unknown, sent: unknown): string[] {
  const text = scalarsIn(body)
    .map(([value]) => value)
    .join('\n');
  const isQuoted = (value: unknown, name: string) =>
    ['"', "'", '`'].some((quote) => text.includes(`${quote}${name}${quote}`)) ||
    (typeof value === 'string' && value.length > 5 && text.includes(value));
  return scalarsIn(sent).flatMap(([value, name]) => (isQuoted(value, name) ? [name] : []));
}

/** The scalars in a value with their names. Items have the name of their list. */
function scalarsIn(value: unknown, name = ''): [value: unknown, name: string][] {
  if (Array.isArray(value)) return value.flatMap((item) => scalarsIn(item, name));
  if (isObject(value)) return Object.entries(value).flatMap(([key, member]) => scalarsIn(member, key));
  return [[value, name]];
}

/** The names in a pointer, a dotted path or a list of keys, without indexes and without a prefix such as `body`. */
function segmentsOf(place: string): string[] {
  const segments = place.split(/[^A-Za-z0-9_$-]+/);
  return segments.filter((one) => !/^(?:\d*|body|query|path|headers?|params|requestBody)$/.test(one)).map(plain);
}

const plain = (segment: string) => segment.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();

/** Whether a response rejects the format of a request, not its effect. Only that can contradict the contract. */
export function rejectsForm(exchange: Exchange, { statuses, codes }: Rejection): boolean {
  const { status } = exchange.response;
  // If the server rejects malformed requests as a whole, an item error has another reason.
  if (![400, 413, 414, 415, 422, 431].includes(status)) return statuses.size === 0 && hasItemErrors(exchange);
  if (statuses.size > 0 && !statuses.has(status)) return false;
  const code = codeOf(exchange);
  if (code !== undefined && codes.size > 0 && !codes.has(code)) return false;
  const details = detailCodesOf(exchange);
  // A code that no schema violation returned belongs to another rule.
  return details.length === 0 || codes.size < 2 || details.some((one) => codes.has(one));
}

export const hasItemErrors = (exchange: Exchange) => itemErrorsIn(exchange).length > 0;

export function itemErrorsIn({ request, response }: Exchange): unknown[] {
  // What is read can contain the errors of something else, such as a job.
  if (response.status < 200 || response.status > 299 || request.method === 'GET') return [];
  const visit = (value: unknown, depth: number): unknown[] => {
    if (depth > 4) return [];
    if (Array.isArray(value)) return value.flatMap((item) => visit(item, depth + 1));
    if (!isObject(value)) return [];
    if (Array.isArray(value.errors) && value.errors.length > 0) return value.errors;
    if (isObject(value.error)) return [value.error];
    if (value.success === false) return [value];
    return Object.entries(value).flatMap(([name, member]) =>
      namesFailure(name) && Array.isArray(member) ? member.filter(isObject) : visit(member, depth + 1),
    );
  };
  return visit(response.json?.value, 0);
}

/** Whether a call succeeded, with all of its items. */
export const isComplete = (exchange: Exchange) => isSuccess(exchange) && !hasItemErrors(exchange);

export function isAccepted(exchange: Exchange): boolean {
  const { status } = exchange.response;
  return status >= 200 && status < 400 && !hasItemErrors(exchange);
}

export interface ItemResult {
  readonly index: number;
  readonly row: JsonObject;
  readonly isFailure: boolean;
}

/** Item results by index; undefined if the response does not list items. */
export function itemResultsIn(exchange: Exchange | undefined): ItemResult[] | undefined {
  const body = exchange?.response.json?.value;
  const lists = Array.isArray(body) ? [['', body] as const] : Object.entries(isObject(body) ? body : {});
  const found = lists.flatMap(([name, list]) =>
    (Array.isArray(list) ? list.filter(isObject) : []).map((row, place) => {
      return { index: typeof row.index === 'number' ? row.index : place, row, isFailure: isFailure(name, row) };
    }),
  );
  return found.length === 0 ? undefined : found;
}

/** Whether a status is of a failure, or a list is of failures, which some bulk responses list separately. */
const namesFailure = (name: unknown) => /fail|error|reject/i.test(String(name ?? ''));

function isFailure(list: string, { error, errors, status, success }: JsonObject): boolean {
  const hasErrors = (error !== undefined && error !== null) || (Array.isArray(errors) && errors.length > 0);
  return hasErrors || success === false || Number(status) >= 400 || namesFailure(status) || namesFailure(list);
}
