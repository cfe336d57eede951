import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { expect, vi } from 'vitest';
import type { AdmissionOptions } from '../src/admission/admission.ts';
import { accessTokenLifetime } from '../src/admission/tokens.ts';
import { createApp } from '../src/app/app.ts';
import { type AnyHandler, handlers } from '../src/app/handlers.ts';
import { contextOf } from '../src/app/sign-in.ts';
import { allOperations } from '../src/contract/contract.ts';
import type { Input, OperationId, Result } from '../src/contract/handler.ts';
import type { Context } from '../src/entity/context.ts';
import { createService, type Service } from '../src/entity/service.ts';
import { createApiKey } from '../src/operator/api-keys.ts';
import { createTenant, tenantNamed } from '../src/operator/tenants.ts';
import { DeliveryAddresses } from '../src/platform/addresses.ts';
import type { Caller, Tenant } from '../src/platform/auth/caller.ts';
import type { Store, StoreOptions } from '../src/platform/store/store.ts';
import { arrivalLimits } from '../src/wire/connections.ts';
import { LargeBodyChecks } from '../src/wire/large-body.ts';
import { messages } from '../src/wire/messages.ts';
import { atEnd, untilWorkerEnds } from './at-end.ts';
import { engineName, testStore } from './database.ts';
import { type Filling, filledDatabase, masterKey } from './filled-database.ts';
import { patientChecks } from './patient-limits.ts';
import { describeDifferences, judged } from './second-judge.ts';

/** A response as it was received. */
export interface HttpResponse<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** An authenticated API user. */
export interface TestCaller {
  readonly tenant: Tenant;
  readonly token: string;
  /**
   * Sends a request over HTTP, with token and tenant. A string body is sent unchanged; a header that is null is omitted.
   */
  call<Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string | null>>,
  ): Promise<HttpResponse<Body>>;
  /** Calls only the handler: neither roles nor the contract are checked, and rejections are thrown. */
  handle<Id extends OperationId>(id: Id, input?: Partial<Input<Id>>, more?: Partial<Context>): Promise<Result<Id>>;
}

export interface TestService extends TestCaller {
  readonly service: Service;
  readonly store: Store;
  readonly address: string;
  /** Creates another API user, of this tenant or of another one. */
  signIn(options: { readonly roles: readonly string[]; readonly tenant?: Tenant }): Promise<TestCaller>;
  /** Creates another tenant, with its first org. */
  addTenant(name: string, displayName?: string): Promise<Tenant>;
}

export interface TestServiceOptions {
  /** Roles of the first API user; `API_ADMIN` by default. */
  readonly roles?: readonly string[];
  readonly log?: Logger;
  /** Whether its tenant has a clock of its own. */
  readonly sandbox?: boolean;
  readonly config?: Partial<Service['config']>;
  /** A database that the test has created; a new one by default. */
  readonly database?: StoreOptions;
  /** What its tenant has, which is a sandbox if it is that of the demo; nothing by default. */
  readonly filled?: Filling;
  /** Whether the second judge also checks its verdicts by day. On PGlite, as each night, it checks those of all files. */
  readonly isJudged?: boolean;
  /** Whether the test causes responses whose rows exceed a bound of the contract. */
  readonly exceedsBounds?: boolean;
  /** How long requests may wait, in milliseconds; a minute by default. */
  readonly patience?: Pick<AdmissionOptions, 'waitMs' | 'bodyMs'>;
  /** Returns the store of the service, instead of the one that is opened for the test. */
  readonly wrapStore?: (store: Store, config: Service['config']) => Promise<Store>;
  /** Parts of the service to replace. */
  readonly replace?: (service: Service) => Partial<Service>;
}

let sharedByFiles: Promise<TestService> | undefined;
let sharing = 0;

/**
 * Returns a service for this file that it shares with the files before and after it in this worker, with a tenant of its own: its
 * connections have their statements and the catalog already, which takes more time than most tests. For files that keep to their
 * tenants. Those that read or change the whole database, its tables or parts of the service have one of their own: `testService`.
 */
export async function sharedService({
  roles = ['API_ADMIN'],
}: Pick<TestServiceOptions, 'roles'> = {}): Promise<TestService> {
  // There the second judge looks at the verdicts of each file, and the database is in the process.
  if (engineName === 'pglite') return testService({ roles });
  sharedByFiles ??= untilWorkerEnds(() => testService());
  const { service, store, address, ...whole } = await sharedByFiles;
  sharing += 1;
  const number = sharing;
  atEnd(() => waitForSlots(service));
  atEnd(() => checkBoundsOfResponses(service));
  const addTenant = (name: string, displayName = name) => whole.addTenant(`${name}_${number}`, displayName);
  const own = await addTenant('firm');
  const signIn: TestService['signIn'] = ({ roles: held, tenant = own }) => whole.signIn({ roles: held, tenant });
  return { ...(await signIn({ roles })), service, store, address, signIn, addTenant };
}

/** A slot that nobody ends would be missing until the process does. */
function waitForSlots({ admission }: Service): Promise<unknown> {
  const nothing = { units: 0, waiting: 0 };
  return vi.waitFor(() => expect(admission.shares.usage()).toMatchObject(nothing), { timeout: 60_000 });
}

/** Age at which a test exchanges its key again: two thirds of the lifetime of a token. */
const tokenAgeMs = (accessTokenLifetime * 1_000 * 2) / 3;

/** Tests of other features must not fail on a busy machine, which takes a second for what takes a millisecond elsewhere. */
const patient = { waitMs: { light: 60_000, heavy: 60_000 }, bodyMs: 60_000 };

/**
 * Starts the service on a separate database for this file and a free port. Every response is validated against the
 * contract. Creates an API user of a tenant with one org. Call it at the top level of the test file.
 */
export async function testService(options: TestServiceOptions = {}): Promise<TestService> {
  const { filled } = options;
  const config = {
    ...testConfig(),
    ...(filled !== undefined && { masterKeys: [masterKey] as const }),
    ...options.config,
  };
  const database = filled === undefined ? options.database : await filledDatabase(filled, config);
  const { store: opened } = await testStore({ ...database, poolSize: config.poolSize });
  const store = (await options.wrapStore?.(opened, config)) ?? opened;
  const log = options.log ?? pino({ level: process.env.TEST_LOG ?? 'silent' });
  // Requests enqueue jobs, also if no process runs them.
  const created = await createService(config, store, log, options.patience ?? patient);
  // Tests must not query the DNS servers of the machine.
  const deliveryAddresses = new DeliveryAddresses({
    allowLoopback: config.webhookAllowLoopback,
    resolve: async () => [],
  });
  const largeBodyChecks = new LargeBodyChecks(new Registry(), log, patientChecks);
  const validator = secondJudged(created.validator, options);
  const common = { ...created, deliveryAddresses, largeBodyChecks, validator };
  const service = { ...common, ...options.replace?.(common) };
  const server = createServer({ ...arrivalLimits, ...messages }, createApp(service));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => waitForSlots(service));
  atEnd(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (options.exceedsBounds !== true) atEnd(() => checkBoundsOfResponses(service));

  const addTenant = (name: string, displayName = name, sandbox = false) => {
    const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
    return createTenant({ service }, { name, displayName, ...place, sandbox });
  };
  const home = await (filled === undefined
    ? addTenant('firm', 'firm', options.sandbox)
    : tenantNamed({ service }, filled === 'demo' ? 'hartwell' : 'firm'));
  const signIn: TestService['signIn'] = async ({ roles, tenant = home }) => {
    const named = `user-${roles.join('-').toLowerCase()}`;
    // A name has at most 100 characters.
    const user = named.length > 100 ? `user-${createHash('sha256').update(named).digest('hex')}` : named;
    const { id, key } = await createApiKey(
      { service },
      { tenant: tenant.name, user, roles, days: 1, description: undefined },
    );
    const exchange = async () => {
      const { status, body } = await send(address, 'POST', '/v1/auth/token', { apiKey: key });
      if (status !== 200) throw new Error(`The API key was not exchanged: ${JSON.stringify(body)}`);
      return { token: (body as { access_token: string }).access_token, since: performance.now() };
    };
    let access = await exchange();
    const state = await service.directory.key(tenant.id, id);
    if (state === undefined) throw new Error('The API key was not created.');
    const caller = { ...state, roles: new Set(roles) };
    const { token } = access;
    return {
      tenant,
      token,
      call: async (method, path, body, headers) => {
        // Tests of the nightly run outlive a token.
        if (performance.now() - access.since > tokenAgeMs) access = await exchange();
        const own = { Authorization: `Bearer ${access.token}`, Tenant: tenant.name };
        return send(address, method, path, body, { ...own, ...headers });
      },
      handle: (id, input, more) => handle(service, tenant, caller, id, input, more),
    };
  };
  const caller = await signIn({ roles: options.roles ?? ['API_ADMIN'] });
  return { ...caller, service, store, address, signIn, addTenant };
}

/** Has every verdict of the validator checked by a second one. Verdicts do not depend on the engine. */
function secondJudged(validator: Service['validator'], { isJudged = false }: TestServiceOptions): Service['validator'] {
  if (engineName !== 'pglite' && !isJudged) return validator;
  const judge = judged(validator);
  atEnd(async () => {
    const differences = await judge.differences();
    if (differences.length > 0) throw new Error(describeDifferences(differences));
  });
  return judge.validator;
}

/** The responses that violated the contract, by operation and whether they were sent. */
export async function violationsOf({ metrics }: Pick<Service, 'metrics'>) {
  const { values } = await metrics.invalidResponses.get();
  return values.filter(({ value }) => value > 0).map(({ labels, value }) => ({ labels, value }));
}

/** Responses whose rows exceed a bound are sent. @throws Error if the service has sent any */
export async function checkBoundsOfResponses(service: Pick<Service, 'metrics'>): Promise<void> {
  const violations = await violationsOf(service);
  const sent = violations.filter(({ labels }) => labels.outcome === 'sent').map(({ labels }) => labels.operation);
  if (sent.length > 0) throw new Error(`Rows in responses exceeded a bound of the contract: ${sent.join(', ')}.`);
}

function testConfig(): Service['config'] {
  // The directory is only created when content is stored.
  const dataDir = join(tmpdir(), `financial-automation-test-${randomUUID()}`);
  atEnd(() => rm(dataDir, { recursive: true, force: true }));
  return {
    host: '127.0.0.1',
    port: 0,
    publicUrl: 'http://localhost:3000',
    isPublicUrlSet: false,
    databaseUrl: undefined,
    standbyUrls: [],
    dataDir,
    s3: undefined,
    tenantConcurrency: 50,
    auditYears: undefined,
    migrateAtStart: false,
    poolSize: 10,
    pooler: undefined,
    firstConnect: 1_500,
    readBudget: 2_000,
    maxConnections: 1_000,
    masterKeys: [randomBytes(32)],
    logLevel: 'silent',
    responseValidation: 1,
    rateLimitFactor: 0,
    trustProxy: 0,
    metricsPort: undefined,
    metricsToken: undefined,
    background: false,
    webhookAllowLoopback: false,
    corsOrigins: [],
    compressResponses: false,
    payments: { processor: 'sandbox' },
    // Tests that run the job replace it.
    identityProvider: undefined,
    mail: {
      url: 'smtp://127.0.0.1:1',
      sandboxUrl: 'smtp://127.0.0.1:1',
      from: 'books@firm.example',
      publicUrl: 'https://api.firm.example',
    },
  };
}

async function send<Body>(
  address: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string | null>> = {},
): Promise<HttpResponse<Body>> {
  const allHeaders = { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers };
  const sentHeaders = Object.entries(allHeaders).filter((entry): entry is [string, string] => entry[1] !== null);
  const response = await fetch(`${address}${path}`, {
    method,
    headers: sentHeaders,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

async function handle<Id extends OperationId>(
  service: Service,
  tenant: Tenant,
  caller: Caller,
  id: Id,
  input: Partial<Input<Id>> = {},
  more: Partial<Context> = {},
): Promise<Result<Id>> {
  const operation = allOperations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`The contract has no operation ${id}.`);
  const requestId = uuidv7();
  const open = {
    service,
    operation,
    requestId,
    address: '127.0.0.1',
    tenantName: tenant.name,
    identify: () => undefined,
  };
  const context: Context = { ...contextOf(open, tenant, caller, undefined), ...more };
  const response = await (handlers[id] as AnyHandler)(context, {
    path: {},
    query: {},
    body: undefined,
    bytes: undefined,
    ...input,
  });
  return response as unknown as Result<Id>;
}
