import { seedDemoData } from '@financial-automation/demo-data';
import { loadProfile } from '@financial-automation/demo-data/profiles/load-profile';
import { Random } from '@financial-automation/demo-data/profiles/random';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { type BaseRequest, BaseRequests } from '../../test/isolation/base-requests.ts';
import {
  asForeign,
  type ForeignRequest,
  ForeignRequests,
  type WireRequest,
} from '../../test/isolation/foreign-requests.ts';
import { mark, markTenant } from '../../test/isolation/marked-tenant.ts';
import { digestOf, storesAny, TenantValues } from '../../test/isolation/tenant-values.ts';
import { type HttpResponse, type TestCaller, testService } from '../../test/service.ts';
import { allOperations, type Operation } from '../contract/contract.ts';
import { createApiKey } from '../operator/api-keys.ts';
import type { Tenant } from '../platform/auth/caller.ts';

/** Number of requests with values of another tenant. Each one is compared with a request that has unknown values. */
const isSample = process.env.ISOLATION_REQUESTS === undefined;
const requestCount = Number(process.env.ISOLATION_REQUESTS ?? allOperations.length);
const seed = Number(process.env.ISOLATION_SEED ?? '1');
/** Disabled to verify that the queries alone isolate tenants. */
const hasPolicies = process.env.ISOLATION_POLICIES !== 'off';

const { service, store, tenant: home, address, addTenant, signIn } = await testService({ filled: 'examples' });
const roles = ['API_ADMIN', 'PYMT_EVNT_ALL'];
await addYears(home);
const ours = await signIn({ roles, tenant: home });
const theirs = await signIn({ roles, tenant: await createTenantWithData('zyzzyva_firm') });
await markTenant(store, theirs.tenant.id);
const own = await TenantValues.read(store, ours.tenant.id);
const marks = await leaveMarks(theirs);
const others = await TenantValues.read(store, theirs.tenant.id);
if (!hasPolicies) await dropPolicies();

/** Creates another tenant with the firm of the examples. */
async function createTenantWithData(name: string): Promise<Tenant> {
  const tenant = await addTenant(name);
  await seedDemoData({ service }, name);
  await addYears(tenant);
  return tenant;
}

/** Adds three years of a small firm in a full run. */
async function addYears(tenant: Tenant): Promise<void> {
  if (!isSample) await loadProfile({ service, tenant }, 'tiny');
}

/**
 * Collects values that a tenant receives and another one must not be able to use: cursors, ETags, used keys, URLs, a
 * secret.
 */
async function leaveMarks({ call }: TestCaller) {
  const cursors: string[] = [];
  for (const { path, paging } of allOperations) {
    if (paging !== 'offset' || path.includes('{')) continue;
    const { body } = await call<{ nextCursor?: string | null }>('POST', path, { pageSize: 1 });
    if (typeof body.nextCursor === 'string') cursors.push(body.nextCursor);
  }
  for (let number = 1; number <= 3; number++)
    await call(
      'POST',
      '/api/v1/clients/v1/onboard',
      { name: `${mark} keyed ${number}`, address: {} },
      { 'Idempotency-Key': `${mark} key ${number}` },
    );
  const { body: clients } = await call<{ data: { id: string }[] }>('POST', '/gql/v1/clients', { pageSize: 5 });
  const tags = await Promise.all(
    clients.data.map(async ({ id }) => (await call('GET', `/gql/v1/client/${id}`)).headers.get('ETag') ?? ''),
  );
  const secret = await call<{ secret: string }>('GET', '/api/v1/event-subscriptions/webhook/secret');
  const url = await downloadUrlOf({ call });
  return { cursors, tags, secret: secret.body.secret, url };
}

/** URL of the first downloadable file. */
async function downloadUrlOf({ call }: Pick<TestCaller, 'call'>): Promise<URL> {
  const { body } = await call<{ data: { id: string }[] }>('GET', '/api/v1/files?status=AVAILABLE');
  const path = `/api/v1/files/${body.data[0]?.id}?includeDownloadUrl=true`;
  const { downloadUrl } = (await call<{ downloadUrl: string }>('GET', path)).body;
  const { pathname, search } = new URL(downloadUrl);
  return new URL(pathname + search, address);
}

async function dropPolicies(): Promise<void> {
  await store.system((transaction) =>
    transaction.all(sql`do $$ declare name text; begin
      for name in select table_name from information_schema.columns where table_schema = 'public' and column_name = 'tenant_id'
      loop execute format('alter table %I disable row level security', name); end loop; end $$`),
  );
}

/** Detects data of the other tenant in responses. */
class Watch {
  readonly #foreignIds = new Set([...others.tableOf.keys()].filter((id) => !own.tableOf.has(id)));
  readonly #sent = new Set<string>();

  /** Allows values that were sent, because they can be stored and returned later. */
  allow(values: readonly string[]): void {
    for (const value of values) this.#sent.add(value);
  }

  leakOf({ headers, body }: HttpResponse<unknown>): string | undefined {
    const text = JSON.stringify([[...headers], body]);
    for (const [id] of text.matchAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g))
      if (this.#foreignIds.has(id) && !this.#sent.has(id)) return `${others.tableOf.get(id)} ${id}`;
    if (text.includes(marks.secret)) return 'the secret of webhooks';
    if (!text.toLowerCase().includes(mark.toLowerCase())) return undefined;
    let rest = text;
    for (const value of [...this.#sent].sort((one, other) => other.length - one.length))
      rest = rest.replaceAll(JSON.stringify(value).slice(1, -1), '').replaceAll(encodeURIComponent(value), '');
    return new RegExp(`.{0,40}${mark}.{0,60}`, 'i').exec(rest)?.[0];
  }
}

/** The content of a response without the parts that differ between requests. */
function outcomeOf({ path, method }: Operation, { status, body }: HttpResponse<unknown>): string {
  const isRead = method === 'GET' || /^\/(gql\/v1|v1)\/|lookup$|\/batch\/\{type\}$|\/test\//.test(path);
  const content = JSON.stringify(body, (key, value) => (passing.includes(key) ? undefined : value)) ?? '';
  if (isRead || status >= 400) return `${status} ${content}`;
  const words = [...content.matchAll(/"(code|status|created|index|failed|succeeded)":("[^"]*"|\d+|true|false)/g)];
  return `${status} ${words.map(([word]) => word).join(' ')}`;
}

const passing = [
  'requestId',
  'instance',
  'nextCursor',
  'downloadUrl',
  'downloadUrlExpiresAt',
  'signature',
  'webhook-signature',
  'webhook-id',
  'webhook-timestamp',
  'signedContent',
];

const send = ({ method, path, body, headers }: WireRequest) => ours.call(method, path, body, headers);

interface Run {
  readonly findings: string[];
  /** Operations whose responses differ because of rows that earlier requests created. */
  readonly ambiguous: string[];
  readonly accepted: Map<string, number>;
  readonly sent: Map<string, number>;
}

/** Sends requests with foreign values, and compares each response with that of the same request with unknown values. */
async function attack(run: Run, base: BaseRequests, foreign: ForeignRequests, operation: Operation): Promise<void> {
  const [request, next] = prepared(base, foreign, operation);
  if (next === undefined) {
    const plain = { method: operation.method, path: operation.path, body: request.body, headers: {} };
    const response = await send(plain);
    judge(run, operation, plain, response);
    return;
  }
  let difference: string | undefined;
  const tried: string[] = [];
  // A change by one request can make the other one fail. A difference counts if other values reproduce it in either
  // order.
  for (let attempt = 0; attempt < 4; attempt++) {
    const pair = next();
    tried.push(...pair.sent, ...pair.unknownSent);
    difference = await differenceOf(run, operation, pair, foreign, attempt % 2 === 0);
    if (difference === undefined) return;
  }
  // A text that an earlier request stored in this tenant is neither foreign nor unknown.
  const texts = tried.filter((value) => value.toLowerCase().includes(mark.slice(0, -1).toLowerCase()));
  if (await storesAny(store, ours.tenant.id, texts)) run.ambiguous.push(operation.id);
  else run.findings.push(difference ?? '');
}

function prepared(base: BaseRequests, foreign: ForeignRequests, operation: Operation) {
  let request: BaseRequest = base.of(operation);
  for (let attempt = 0; attempt < 20; attempt++) {
    const next = foreign.of(request);
    if (next !== undefined) return [request, next] as const;
    request = base.of(operation);
  }
  return [request, undefined] as const;
}

const watch = new Watch();

async function differenceOf(
  run: Run,
  operation: Operation,
  { own, foreign, unknown, sent }: ForeignRequest,
  requests: ForeignRequests,
  isForeignFirst: boolean,
): Promise<string | undefined> {
  watch.allow(sent);
  // Once per operation, verifies that the request succeeds without the foreign values.
  if (!run.accepted.has(operation.id)) judge(run, operation, own, await send(own));
  const before = isForeignFirst ? undefined : await send(unknown);
  const response = await send(foreign);
  const other = before ?? (await send(unknown));
  judge(run, operation, foreign, response);
  judge(run, operation, unknown, other);
  const [one, two] = [response, other].map((each) => asForeign(outcomeOf(operation, each), requests.foreignOf));
  if (one === two) return undefined;
  return `${describeRequest(operation, foreign)}\n  foreign: ${one?.slice(0, 600)}\n  unknown: ${two?.slice(0, 600)}`;
}

function judge(run: Run, operation: Operation, request: WireRequest, response: HttpResponse<unknown>): void {
  run.sent.set(operation.id, (run.sent.get(operation.id) ?? 0) + 1);
  if (response.status < 300) run.accepted.set(operation.id, (run.accepted.get(operation.id) ?? 0) + 1);
  if (response.status >= 500)
    run.findings.push(`${describeRequest(operation, request)}\n  ${response.status} ${JSON.stringify(response.body)}`);
  const leak = watch.leakOf(response);
  if (leak !== undefined) run.findings.push(`${describeRequest(operation, request)}\n  shows ${leak}`);
}

function describeRequest({ id }: Operation, { method, path, body, headers }: WireRequest): string {
  return `${id}: ${method} ${path} ${JSON.stringify(headers)} ${JSON.stringify(body)?.slice(0, 1_500)}`;
}

test(`${requestCount} requests with values of another tenant neither find nor change anything there`, async () => {
  const run: Run = { findings: [], ambiguous: [], accepted: new Map(), sent: new Map() };
  const base = new BaseRequests(new Random(seed), own);
  const foreign = new ForeignRequests(new Random(seed + 1), own, others, marks);
  const before = await digestOf(store, theirs.tenant.id);
  const operations = allOperations.filter(({ id }) => id !== 'createToken');
  // A few findings are enough.
  for (let number = 0; number < requestCount && run.findings.length < 20; number++) {
    const operation = operations[number % operations.length];
    if (operation !== undefined) await attack(run, base, foreign, operation);
    if (number === Math.floor(requestCount / 2)) expect(await digestOf(store, theirs.tenant.id)).toEqual(before);
  }
  expect(run.findings.slice(0, 20)).toEqual([]);
  expect(await digestOf(store, theirs.tenant.id)).toEqual(before);
  expect([...run.sent.keys()].sort()).toEqual(operations.map(({ id }) => id).sort());
  const accepted = operations.filter(({ id }) => run.accepted.has(id)).length;
  if (!isSample) report(run, accepted, operations.length);
  // Requests that fail for other reasons prove nothing.
  expect(accepted).toBeGreaterThan(operations.length / 2);
});

function report({ sent, accepted, ambiguous }: Run, reached: number, operations: number): void {
  const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((all, count) => all + count, 0);
  const never = [...sent.keys()].filter((id) => !accepted.has(id));
  console.log(
    `${requestCount} requests with foreign values, ${sum(sent)} in all: ${sum(accepted)} succeeded, in ${reached} of ${operations} operations. None in: ${never.join(', ')}. ${ambiguous.length} ambiguous: ${ambiguous.join(', ')}`,
  );
}

describe('credentials and signed URLs of another tenant', () => {
  test('every operation rejects the token of one tenant for the other', async () => {
    const before = await digestOf(store, theirs.tenant.id);
    for (const { id, method, path, bodyLimit } of allOperations) {
      if (id === 'createToken') continue;
      const body = bodyLimit === null ? undefined : {};
      const place = path.replaceAll(/\{[^}]+\}/g, '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101');
      for (const headers of [{ Tenant: theirs.tenant.name }, { Authorization: `Bearer ${theirs.token}` }])
        expect(await ours.call(method, place, body, headers), id).toMatchObject({ status: 403 });
    }
    expect(await digestOf(store, theirs.tenant.id)).toEqual(before);
  });

  test('createToken rejects the API key of another tenant', async () => {
    const newKey = { tenant: theirs.tenant.name, user: 'sync', roles, days: 1, description: undefined };
    const { key } = await createApiKey({ service }, newKey);
    const response = await ours.call('POST', '/v1/auth/token', { apiKey: key }, { Authorization: null });
    expect(response).toMatchObject({ status: 403 });
  });

  test('a download URL is valid for its file and its tenant alone', async () => {
    const mine = await downloadUrlOf(ours);
    expect((await fetch(mine)).status).toBe(200);
    expect((await fetch(marks.url)).status).toBe(200);
    const forged = [
      new URL(mine.pathname + marks.url.search, address),
      new URL(marks.url.pathname + mine.search, address),
      new URL(String(mine).replaceAll(ours.tenant.name, theirs.tenant.name)),
    ];
    for (const url of forged) expect((await fetch(url)).status, String(url)).toBe(403);
  });
});
