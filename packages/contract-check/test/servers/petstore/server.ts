import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Contract, type JsonObject, type Operation, object, readContract } from '../kit/contract.ts';
import { correct } from '../kit/corrections.ts';
import { prune } from '../kit/prune.ts';
import { type Rejection, rejection } from '../kit/rejection.ts';
import { type Call, type Handler, type Options, type Request, type Result, type Started, serve } from '../kit/serve.ts';

const specification = fileURLToPath(import.meta.resolve('@readme/oas-examples/3.0/yaml/petstore.yaml'));
const corrections = fileURLToPath(new URL('corrections.yaml', import.meta.url));
const scopes: Readonly<Record<string, readonly string[]>> = {
  'caller-token': ['write:pets', 'read:pets'],
  'powerless-token': [],
};
const apiKey = 'special-key';

interface Store {
  readonly pets: Map<number, JsonObject>;
  readonly orders: Map<number, JsonObject>;
  readonly users: Map<string, JsonObject>;
  readonly nextPet: () => number;
  readonly nextOrder: () => number;
  /** The value with only the properties that its component declares. */
  readonly known: (component: string, value: unknown) => JsonObject;
}

let corrected: Promise<{ file: string; contract: Contract }> | undefined;

async function readCorrected() {
  const file = await correct(specification, corrections);
  return { file, contract: await readContract(file) };
}

export async function start(options: Options = {}): Promise<Started> {
  corrected ??= readCorrected();
  const { file, contract } = await corrected;
  const running = await serve<undefined>(
    {
      contract,
      handlers: handlers(stock(contract)),
      authenticate: admit,
      reject: (rejected, operation) => reject(contract, rejected, operation),
      head: true,
      lenient: true,
    },
    options,
  );
  const as = (token: string, key: string) => () => ({ authorization: `Bearer ${token}`, api_key: key });
  return {
    ...running,
    specification,
    corrected: file,
    auth: {
      caller: as('caller-token', apiKey),
      expired: as('expired-token', 'expired-key'),
      forbidden: as('powerless-token', apiKey),
    },
  };
}

function counter(): () => number {
  let last = 0;
  return () => {
    last += 1;
    return last;
  };
}

function stock(contract: Contract): Store {
  const schemas = object(object(contract.document.components).schemas);
  const store: Store = {
    pets: new Map(),
    orders: new Map(),
    users: new Map(),
    nextPet: counter(),
    nextOrder: counter(),
    known: (component, value) => prune(contract, object(schemas[component]), value as JsonObject) as JsonObject,
  };
  for (const [name, status, tag] of [
    ['Rex', 'available', 'tag1'],
    ['Felix', 'pending', 'tag2'],
    ['Nemo', 'sold', 'tag1'],
  ] as const) {
    const id = store.nextPet();
    store.pets.set(id, { id, name, photoUrls: [], tags: [{ id, name: tag }], status });
  }
  store.users.set('user1', { id: 1, username: 'user1', password: 'user1', userStatus: 1 });
  return store;
}

function handlers(store: Store): Record<string, Handler<undefined>> {
  return {
    addPet: (call) => addPet(store, call),
    updatePet: (call) => updatePet(store, call),
    findPetsByStatus: (call) => findPets(store, (pet) => listOf(call, 'status').includes(String(pet.status))),
    findPetsByTags: (call) => findPets(store, (pet) => tagsOf(pet).some((tag) => listOf(call, 'tags').includes(tag))),
    getPetById: (call) => ({ status: 200, body: petOf(store, call) }),
    updatePetWithForm: (call) => updatePetWithForm(store, call),
    deletePet: (call) => remove(store.pets, petOf(store, call).id as number),
    uploadFile: (call) => uploadFile(store, call),
    getInventory: () => getInventory(store),
    placeOrder: (call) => placeOrder(store, call),
    getOrderById: (call) => ({ status: 200, body: orderOf(store, call) }),
    deleteOrder: (call) => remove(store.orders, orderOf(store, call).id as number),
    createUser: ({ body }) => createUsers(store, [body.value as JsonObject]),
    createUsersWithArrayInput: ({ body }) => createUsers(store, body.value as JsonObject[]),
    createUsersWithListInput: ({ body }) => createUsers(store, body.value as JsonObject[]),
    loginUser: (call) => loginUser(store, call),
    logoutUser: () => ({ status: 200 }),
    getUserByName: (call) => ({ status: 200, body: userOf(store, call) }),
    updateUser: (call) => updateUser(store, call),
    deleteUser: (call) => remove(store.users, String(userOf(store, call).username)),
  };
}

function remove<Key>(from: Map<Key, JsonObject>, key: Key): Result {
  from.delete(key);
  return { status: 204 };
}

/** @throws Rejection with 404 */
function petOf({ pets }: Store, { values }: Call<undefined>): JsonObject {
  const pet = pets.get(Number(values.path.petId));
  if (pet === undefined) throw rejection(404, 'Pet not found');
  return pet;
}

function addPet(store: Store, { body }: Call<undefined>): Result {
  const id = store.nextPet();
  const pet = { ...store.known('Pet', body.value), id };
  store.pets.set(id, pet);
  return { status: 200, body: pet };
}

function updatePet(store: Store, { body }: Call<undefined>): Result {
  const pet = store.known('PetUpdate', body.value);
  if (!store.pets.has(Number(pet.id))) throw rejection(404, 'Pet not found');
  store.pets.set(Number(pet.id), pet);
  return { status: 200, body: pet };
}

function listOf({ values }: Call<undefined>, name: string): string[] {
  return values.query[name] as string[];
}

function tagsOf(pet: JsonObject): string[] {
  return ((pet.tags ?? []) as JsonObject[]).flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
}

function findPets({ pets }: Store, fits: (pet: JsonObject) => boolean): Result {
  return { status: 200, body: [...pets.values()].filter(fits) };
}

function updatePetWithForm(store: Store, call: Call<undefined>): Result {
  const pet = petOf(store, call);
  const { name, status } = (call.body.value ?? {}) as JsonObject;
  if (status !== undefined && !['available', 'pending', 'sold'].includes(String(status))) {
    throw rejection(400, 'Pets have no such status');
  }
  const changes = { ...(name !== undefined && { name }), ...(status !== undefined && { status }) };
  store.pets.set(Number(pet.id), { ...pet, ...changes });
  return { status: 200 };
}

function uploadFile(store: Store, call: Call<undefined>): Result {
  petOf(store, call);
  const { additionalMetadata = '', file = '' } = (call.body.value ?? {}) as {
    additionalMetadata?: string;
    file?: string;
  };
  const message = `additionalMetadata: ${additionalMetadata}, ${file.length} bytes`;
  return { status: 200, body: { code: 200, type: 'unknown', message } };
}

function getInventory({ pets }: Store): Result {
  const counts: Record<string, number> = {};
  for (const { status } of pets.values()) {
    if (typeof status === 'string') counts[status] = (counts[status] ?? 0) + 1;
  }
  return { status: 200, body: counts };
}

function placeOrder(store: Store, { body }: Call<undefined>): Result {
  const id = store.nextOrder();
  const order = { complete: false, ...store.known('Order', body.value), id };
  store.orders.set(id, order);
  return { status: 200, body: order };
}

function orderOf({ orders }: Store, { values }: Call<undefined>): JsonObject {
  const order = orders.get(Number(values.path.orderId));
  if (order === undefined) throw rejection(404, 'Order not found');
  return order;
}

/** All or none. A used name is rejected: otherwise any user could take over an account. */
function createUsers(store: Store, sent: readonly JsonObject[]): Result {
  const names = sent.map(({ username }) => String(username));
  const isUsed = names.some((name, index) => store.users.has(name) || names.indexOf(name) !== index);
  if (isUsed) throw rejection(409, 'There is a user of this name');
  for (const user of sent) store.users.set(String(user.username), store.known('User', user));
  return { status: 200 };
}

function loginUser({ users }: Store, { values }: Call<undefined>): Result {
  const { username, password } = values.query;
  if (users.get(String(username))?.password !== password) throw rejection(400, 'Invalid username/password supplied');
  const expiry = new Date(Date.now() + 60 * 60 * 1000).toISOString();
  return { status: 200, headers: { 'x-rate-limit': '5000', 'x-expires-after': expiry }, body: randomUUID() };
}

function userOf({ users }: Store, { values }: Call<undefined>): JsonObject {
  const user = users.get(String(values.path.username));
  if (user === undefined) throw rejection(404, 'User not found');
  return user;
}

function updateUser(store: Store, call: Call<undefined>): Result {
  const before = String(userOf(store, call).username);
  const user = store.known('User', call.body.value);
  const after = String(user.username);
  if (after !== before && store.users.has(after)) throw rejection(400, 'There is a user of this name');
  store.users.delete(before);
  store.users.set(after, user);
  return { status: 200 };
}

/** @throws Rejection with 401 or 403 */
function admit({ security }: Operation, { headers }: Request): undefined {
  const needed = security.flatMap(({ petstore_auth }) => (petstore_auth === undefined ? [] : [petstore_auth]));
  const acceptsKey = security.some(({ api_key }) => api_key !== undefined);
  if (security.length === 0 || (acceptsKey && headers.api_key === apiKey)) return;
  const token = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const granted = Object.hasOwn(scopes, token) ? scopes[token] : undefined;
  if (needed.length === 0 || granted === undefined) {
    throw rejection(401, 'Nobody signed in, or not rightly', { 'www-authenticate': 'Bearer realm="petstore"' });
  }
  if (!needed.some((one) => one.every((scope) => granted.includes(scope))))
    throw rejection(403, 'The scopes do not suffice');
}

/** Rejections have no body, because none is declared. The contract uses 405 for invalid input. */
function reject(contract: Contract, { status }: Rejection, operation: Operation | undefined): Result {
  const { responses } = operation ?? {};
  const declared = (one: number) => responses?.has(String(one)) === true || responses?.has('default') === true;
  if (declared(status) || ![400, 413, 415].includes(status)) return { status };
  if (declared(400) || !declared(405)) return { status: 400 };
  const methods = contract.operations.filter(({ path }) => path === operation?.path).map(({ method }) => method);
  return { status: 405, headers: { allow: methods.join(', ') } };
}
