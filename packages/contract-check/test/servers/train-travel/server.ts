import { fileURLToPath } from 'node:url';
import { type Contract, type JsonObject, type Operation, readContract } from '../kit/contract.ts';
import { correct } from '../kit/corrections.ts';
import { type Rejection, rejection } from '../kit/rejection.ts';
import { type Call, type Handler, type Options, type Request, type Result, type Started, serve } from '../kit/serve.ts';
import { stations, tripOf, tripsOn } from './timetable.ts';

const specification = fileURLToPath(import.meta.resolve('@readme/oas-examples/3.1/yaml/train-travel.yaml'));
const corrections = fileURLToPath(new URL('corrections.yaml', import.meta.url));
const pageSize = 10;

interface Booking extends JsonObject {
  id: string;
  trip_id: string;
}

interface Caller {
  /** Bookings of this caller only. */
  readonly bookings: Map<string, Booking>;
}

interface Token {
  readonly scopes: readonly string[];
  readonly caller: Caller;
  readonly expired?: true;
}

let corrected: Promise<{ file: string; contract: Contract }> | undefined;

async function readCorrected() {
  const file = await correct(specification, corrections);
  return { file, contract: await readContract(file) };
}

export async function start(options: Options = {}): Promise<Started> {
  corrected ??= readCorrected();
  const { file, contract } = await corrected;
  const tokens = issueTokens();
  const running = await serve<Caller>(
    {
      contract,
      handlers: handlers(),
      authenticate: (operation, request) => admit(tokens, operation, request),
      reject,
      headers: () => ({ ratelimit: 'limit=1000, remaining=999, reset=60' }),
      head: true,
      // The links to other pages use a parameter that no operation declares.
      lenient: true,
    },
    options,
  );
  const as = (token: string) => () => ({ authorization: `Bearer ${token}` });
  const identities = {
    caller: as('caller'),
    expired: as('expired'),
    forbidden: as('forbidden'),
    otherTenant: as('otherTenant'),
  };
  return { ...running, specification, corrected: file, auth: identities };
}

function issueTokens(): Map<string, Token> {
  const scopes = ['read', 'write'];
  const caller = { bookings: new Map() };
  return new Map<string, Token>([
    ['caller', { scopes, caller }],
    ['expired', { scopes, caller, expired: true }],
    ['forbidden', { scopes: [], caller }],
    ['otherTenant', { scopes, caller: { bookings: new Map() } }],
  ]);
}

function handlers(): Record<string, Handler<Caller>> {
  let last = 0;
  const nextId = () => {
    last += 1;
    return `0b000000-0000-4000-8000-${last.toString(16).padStart(12, '0')}`;
  };
  return {
    'get-stations': (call) => page(call, stations),
    'get-trips': getTrips,
    'get-bookings': (call) => page(call, [...call.caller.bookings.values()]),
    'create-booking': (call) => createBooking(call, nextId()),
    'get-booking': (call) => ({ status: 200, body: linked(call, bookingOf(call)) }),
    'delete-booking': deleteBooking,
    'create-booking-payment': (call) => pay(call, nextId()),
  };
}

function page(call: Call<Caller>, all: readonly unknown[]): Result {
  const [path = '', query = ''] = call.request.url.split('?');
  const number = pageNumber(query);
  const parameters = Object.entries(call.values.query).map(([name, value]) => [name, String(value)]);
  const linkTo = (to: number) => `${call.base}${path}?${new URLSearchParams([...parameters, ['page', String(to)]])}`;
  const links = {
    self: linkTo(number),
    ...(number * pageSize < all.length && { next: linkTo(number + 1) }),
    ...(number > 1 && { prev: linkTo(number - 1) }),
  };
  return { status: 200, body: { data: all.slice((number - 1) * pageSize, number * pageSize), links } };
}

/** @throws Rejection with 400 */
function pageNumber(query: string): number {
  const text = new URLSearchParams(query).get('page') ?? '1';
  if (!/^[1-9]\d{0,8}$/.test(text)) throw rejection(400, 'The page does not exist.');
  return Number(text);
}

function getTrips(call: Call<Caller>): Result {
  const { origin, destination, date, bicycles, dogs } = call.values.query;
  const trips = tripsOn(String(origin), String(destination), String(date));
  // Without a filter, trips are listed whether they allow it or not.
  const matching = trips.filter(
    (trip) => (bicycles !== true || trip.bicycles_allowed) && (dogs !== true || trip.dogs_allowed),
  );
  return page(call, matching);
}

function linked({ base }: Call<Caller>, booking: Booking) {
  return { ...booking, links: { self: `${base}/bookings/${booking.id}` } };
}

/** @throws Rejection with 404 */
function bookingOf({ caller, values }: Call<Caller>): Booking {
  const booking = caller.bookings.get(String(values.path.bookingId).toLowerCase());
  if (booking === undefined) throw rejection(404, 'There is no such booking.');
  return booking;
}

function createBooking(call: Call<Caller>, id: string): Result {
  const { trip_id, passenger_name, has_bicycle, has_dog } = call.body.value as JsonObject & { trip_id: string };
  const trip = tripOf(trip_id);
  if (trip === undefined) throw rejection(404, 'There is no such trip.');
  if (has_bicycle === true && !trip.bicycles_allowed) throw rejection(409, 'The trip does not allow bicycles.');
  if (has_dog === true && !trip.dogs_allowed) throw rejection(409, 'The trip does not allow dogs.');
  const booking = {
    id,
    trip_id,
    ...(passenger_name !== undefined && { passenger_name }),
    ...(has_bicycle !== undefined && { has_bicycle }),
    ...(has_dog !== undefined && { has_dog }),
  };
  call.caller.bookings.set(id, booking);
  return { status: 201, body: linked(call, booking) };
}

function deleteBooking(call: Call<Caller>): Result {
  call.caller.bookings.delete(bookingOf(call).id);
  return { status: 204 };
}

function pay(call: Call<Caller>, id: string): Result {
  const booking = bookingOf(call);
  const { amount, currency, source } = call.body.value as JsonObject & { source: JsonObject };
  const body = { id, amount, currency, source: masked(source), status: 'succeeded' };
  return { status: 200, body: { ...body, links: { booking: `${call.base}/bookings/${booking.id}` } } };
}

/** Secret values are removed or masked. */
function masked(source: JsonObject): JsonObject {
  const { cvc: _cvc, address_line1: _line1, address_line2: _line2, ...rest } = source;
  const digits = [...String(source.number)];
  return { ...rest, number: digits.map((digit, index) => (index < digits.length - 4 ? '*' : digit)).join('') };
}

/** @throws Rejection with 401 or 403 */
function admit(tokens: ReadonlyMap<string, Token>, operation: Operation, { headers }: Request): Caller {
  const token = tokens.get(/^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '');
  if (token === undefined || token.expired === true) {
    throw rejection(401, 'Nobody signed in, or not rightly.', { 'www-authenticate': 'Bearer realm="trains"' });
  }
  const scopes = operation.security.flatMap(({ OAuth2 }) => OAuth2 ?? []);
  if (!scopes.every((scope) => token.scopes.includes(scope)))
    throw rejection(403, `It requires the scope ${scopes.join(', ')}.`);
  return token.caller;
}

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
};

/** 413 and 415 are not declared, so 400 is used. */
function reject({ status: exact, message }: Rejection, operation: Operation | undefined): Result {
  const status = exact === 413 || exact === 415 ? 400 : exact;
  const name = (titles[status] ?? 'rejected').toLowerCase().replaceAll(' ', '-');
  const body = { type: `https://example.com/errors/${name}`, title: titles[status], status, detail: message };
  return operation === undefined ? { status, mediaType: 'application/problem+json', body } : { status, body };
}
