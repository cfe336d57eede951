import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import {
  type Contract,
  type Json,
  type JsonObject,
  list,
  type Operation,
  object,
  readContract,
} from '../kit/contract.ts';
import { correct } from '../kit/corrections.ts';
import { type Rejection, rejection } from '../kit/rejection.ts';
import { type Call, type Handler, type Options, type Request, type Result, type Started, serve } from '../kit/serve.ts';

const specification = fileURLToPath(import.meta.resolve('@scalar/galaxy/3.1.yaml'));
const corrections = fileURLToPath(new URL('corrections.yaml', import.meta.url));
const names = [
  'Mars',
  'Venus',
  'Earth',
  'Jupiter',
  'Saturn',
  'Uranus',
  'Neptune',
  'Mercury',
  'Pluto',
  'HD 40307g',
  'Ceres',
  'Eris',
];
const apiKey = 'galaxy-key';

interface Account {
  readonly id: number;
  readonly name?: string;
  readonly email: string;
  readonly password: string;
}

interface Galaxy {
  readonly planets: Map<number, JsonObject>;
  readonly accounts: Map<string, Account>;
  readonly tokens: Map<string, Account>;
  readonly nextId: () => number;
}

type Caller = Account | undefined;

let corrected: Promise<{ file: string; contract: Contract }> | undefined;

async function readCorrected() {
  const file = await correct(specification, corrections);
  return { file, contract: await readContract(file) };
}

export async function start(options: Options = {}): Promise<Started> {
  corrected ??= readCorrected();
  const { file, contract } = await corrected;
  const galaxy = bigBang();
  const running = await serve<Caller>(
    {
      contract,
      handlers: handlers(galaxy),
      authenticate: (operation, request) => admit(contract, galaxy, operation, request),
      reject,
      headers: () => ({ 'x-request-id': randomUUID() }),
      head: true,
      lenient: true,
    },
    options,
  );
  return {
    ...running,
    specification,
    corrected: file,
    auth: {
      caller: () => ({ authorization: 'Bearer marc-token' }),
      expired: () => ({ authorization: 'Bearer expired-token' }),
    },
  };
}

function bigBang(): Galaxy {
  let last = 0;
  const nextId = () => {
    last += 1;
    return last;
  };
  const planets = new Map<number, JsonObject>();
  for (const name of names) planets.set(nextId(), { id: last, name, lastUpdated: '2024-01-15T14:30:00Z' });
  const marc = { id: nextId(), name: 'Marc', email: 'marc@scalar.com', password: 'i-love-scalar' };
  return { planets, accounts: new Map([[marc.email, marc]]), tokens: new Map([['marc-token', marc]]), nextId };
}

function handlers(galaxy: Galaxy): Record<string, Handler<Caller>> {
  return {
    getAllData: (call) => listPlanets(galaxy, call),
    createPlanet: (call) => createPlanet(galaxy, call),
    getPlanet: (call) => getPlanet(galaxy, call),
    updatePlanet: (call) => updatePlanet(galaxy, call),
    deletePlanet: (call) => deletePlanet(galaxy, call),
    uploadImage: (call) => uploadImage(galaxy, call),
    createCelestialBody: (call) => createCelestialBody(galaxy, call),
    createUser: (call) => createUser(galaxy, call),
    getToken: (call) => getToken(galaxy, call),
    getMe: ({ caller }) => getMe(caller),
  };
}

function listPlanets(galaxy: Galaxy, { values }: Call<Caller>): Result {
  const { limit, offset } = values.query as { limit: number; offset: number };
  // The contract allows negative numbers, which neither limit nor skip planets.
  const size = Math.max(0, limit);
  const from = Math.max(0, offset);
  const all = [...galaxy.planets.values()];
  const data = all.slice(from, from + size);
  const hasMore = size > 0 && from + size < all.length;
  const next = hasMore ? `/planets?limit=${size}&offset=${from + size}` : null;
  return {
    status: 200,
    headers: {
      'x-pagination-total': String(all.length),
      'x-pagination-page': String(size === 0 ? 1 : Math.floor(from / size) + 1),
      'x-pagination-per-page': String(limit),
      'x-cache-control': 'no-store',
    },
    body: { data, meta: { limit, offset, total: all.length, next } },
  };
}

/** @throws Rejection with 404 */
function planetOf(galaxy: Galaxy, { values }: Call<Caller>): JsonObject {
  const planet = galaxy.planets.get(Number(values.path.planetId));
  if (planet === undefined) throw rejection(404, 'There is no such planet.');
  return planet;
}

/** A planet from a request body, without `readOnly` properties at any depth. */
function planetFrom(galaxy: Galaxy, sent: JsonObject, id: number): JsonObject {
  const { id: _id, lastUpdated: _lastUpdated, creator, satellites, ...rest } = sent;
  return {
    id,
    ...rest,
    ...(creator !== undefined && { creator: creatorFrom(creator) }),
    ...(satellites !== undefined && { satellites: list(satellites).map((one) => satelliteFrom(galaxy, object(one))) }),
    lastUpdated: new Date().toISOString(),
  };
}

/** Users and satellites may have further properties; only declared ones are stored. */
function creatorFrom(sent: Json): JsonObject {
  const { name } = object(sent);
  return name === undefined ? {} : { name };
}

function satelliteFrom(galaxy: Galaxy, sent: JsonObject): JsonObject {
  const { orbit } = sent;
  const rest = pick(sent, ['name', 'description', 'diameter', 'type']);
  const { planet } = object(orbit);
  const motion = pick(object(orbit), ['orbitalPeriod', 'distance']);
  const around = planet === undefined ? {} : { planet: planetFrom(galaxy, object(planet), galaxy.nextId()) };
  return { id: galaxy.nextId(), ...rest, ...(orbit !== undefined && { orbit: { ...motion, ...around } }) };
}

function pick(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

function createPlanet(galaxy: Galaxy, { body, base }: Call<Caller>): Result {
  const id = galaxy.nextId();
  const planet = planetFrom(galaxy, body.value as JsonObject, id);
  galaxy.planets.set(id, planet);
  callBack(planet.successCallbackUrl, planet);
  return {
    status: 201,
    headers: { location: `${base}/planets/${id}`, 'x-processing-time': '1' },
    body: planet,
  };
}

/** Only to this machine: a server that calls arbitrary URLs could be abused for attacks. */
function callBack(url: Json | undefined, planet: JsonObject): void {
  if (typeof url !== 'string' || !['127.0.0.1', 'localhost'].includes(new URL(url).hostname)) return;
  const headers = { 'content-type': 'application/json' };
  fetch(url, { method: 'POST', headers, body: JSON.stringify(planet), signal: AbortSignal.timeout(1000) }).catch(
    () => {},
  );
}

function getPlanet(galaxy: Galaxy, call: Call<Caller>): Result {
  const planet = planetOf(galaxy, call);
  return {
    status: 200,
    headers: {
      etag: `"${planet.id}-${Date.parse(String(planet.lastUpdated))}"`,
      // HTTP uses another format for this header; this is the one in the contract.
      'last-modified': String(planet.lastUpdated),
      'x-cache-control': 'no-store',
    },
    body: planet,
  };
}

function updatePlanet(galaxy: Galaxy, call: Call<Caller>): Result {
  const id = Number(planetOf(galaxy, call).id);
  const planet = planetFrom(galaxy, call.body.value as JsonObject, id);
  galaxy.planets.set(id, planet);
  return { status: 200, body: planet };
}

function deletePlanet(galaxy: Galaxy, call: Call<Caller>): Result {
  galaxy.planets.delete(Number(planetOf(galaxy, call).id));
  return { status: 204 };
}

function uploadImage(galaxy: Galaxy, call: Call<Caller>): Result {
  const planet = planetOf(galaxy, call);
  const { image: file } = call.body.files;
  const { image: bytes } = call.body.value as { image: string };
  const imageUrl = `https://cdn.scalar.com/images/${randomUUID()}`;
  galaxy.planets.set(Number(planet.id), { ...planet, image: imageUrl, lastUpdated: new Date().toISOString() });
  return {
    status: 200,
    headers: { 'x-cache-control': 'no-store' },
    body: {
      message: 'Image uploaded successfully',
      imageUrl,
      uploadedAt: new Date().toISOString(),
      fileSize: bytes.length,
      mimeType: file?.mediaType ?? 'application/octet-stream',
    },
  };
}

/** Satellites can only be created: the contract has no operation that reads them. */
function createCelestialBody(galaxy: Galaxy, call: Call<Caller>): Result {
  const sent = call.body.value as JsonObject;
  const isSatellite = ['moon', 'asteroid', 'comet'].includes(String(sent.type));
  if (isSatellite) return { status: 201, body: satelliteFrom(galaxy, sent) };
  return { status: 201, body: createPlanet(galaxy, call).body };
}

function createUser(galaxy: Galaxy, { body }: Call<Caller>): Result {
  const { name, email, password } = body.value as { name?: string; email: string; password: string };
  if (galaxy.accounts.has(email.toLowerCase())) throw rejection(409, 'There is an account with this address.');
  const account = { id: galaxy.nextId(), ...(name !== undefined && { name }), email, password };
  galaxy.accounts.set(email.toLowerCase(), account);
  // `Location` is optional, and there is no resource that it could refer to.
  return { status: 201, headers: { 'x-processing-time': '1' }, body: userOf(account) };
}

function userOf({ id, name }: Account): JsonObject {
  return { id, ...(name !== undefined && { name }) };
}

function getToken(galaxy: Galaxy, { body }: Call<Caller>): Result {
  const { email, password } = body.value as { email: string; password: string };
  const account = galaxy.accounts.get(email.toLowerCase());
  if (account?.password !== password || account === undefined)
    throw rejection(401, 'The address or the password is wrong.');
  const token = randomUUID();
  galaxy.tokens.set(token, account);
  const limits = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '999', 'x-ratelimit-reset': '3600' };
  return { status: 201, headers: limits, body: { token } };
}

function getMe(caller: Caller): Result {
  if (caller === undefined) throw rejection(401, 'Nobody signed in.');
  return {
    status: 200,
    headers: { etag: `"${caller.id}"`, 'last-modified': '2024-01-15T14:30:00Z', 'x-cache-control': 'no-store' },
    body: userOf(caller),
  };
}

/** @throws Rejection with 401 if no security scheme of the operation is satisfied. */
function admit(contract: Contract, galaxy: Galaxy, operation: Operation, request: Request): Caller {
  const schemes = object(object(contract.document.components).securitySchemes);
  const signedIn = (name: string) => signIn(galaxy, object(schemes[name]), request);
  if (operation.security.length === 0) return undefined;
  for (const alternative of operation.security) {
    const accounts = Object.keys(alternative).map(signedIn);
    if (accounts.length > 0 && accounts.every((account) => account !== undefined)) return accounts[0];
  }
  throw rejection(401, 'Nobody signed in, or not rightly.', { 'www-authenticate': 'Bearer realm="galaxy"' });
}

function signIn(galaxy: Galaxy, scheme: JsonObject, { headers, url }: Request): Caller {
  const marc = galaxy.accounts.get('marc@scalar.com');
  const [kind = '', credentials = ''] = (headers.authorization ?? '').split(/ +/);
  if (scheme.type === 'apiKey') {
    const name = String(scheme.name);
    const query = new URLSearchParams(url.split('?')[1] ?? '');
    const cookies = new URLSearchParams((headers.cookie ?? '').replaceAll(/;\s*/g, '&'));
    const places = { header: headers[name.toLowerCase()], query: query.get(name), cookie: cookies.get(name) };
    return places[scheme.in as keyof typeof places] === apiKey ? marc : undefined;
  }
  if (scheme.scheme === 'basic') {
    const [, email = '', password = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
    const account = galaxy.accounts.get(email.toLowerCase());
    return kind.toLowerCase() === 'basic' && account?.password === password ? account : undefined;
  }
  return kind.toLowerCase() === 'bearer' ? galaxy.tokens.get(credentials) : undefined;
}

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
};
/** Less specific statuses, for operations that do not declare the exact one. */
const coarser: Readonly<Record<number, readonly number[]>> = {
  400: [404],
  401: [403],
  413: [400],
  415: [400],
};

function reject({ status: exact, message }: Rejection, operation: Operation | undefined): Result {
  const declared = (one: number) => operation?.responses.has(String(one)) === true;
  const status = declared(exact) ? exact : ((coarser[exact] ?? []).find(declared) ?? exact);
  const type = `https://example.com/errors/${status}`;
  return { status, body: { type, title: titles[status] ?? 'Refused', status, detail: message } };
}
