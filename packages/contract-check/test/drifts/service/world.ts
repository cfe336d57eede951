import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seedDemoData } from '@financial-automation/demo-data';
import { createApiKey, createTenant, type Service, serve } from '@financial-automation/server/service';
import { freePort } from '@financial-automation/server/tools';
import { OpenApiDocument } from '../../../src/document/document.ts';
import { type Operation, operationsOf } from '../../../src/document/operation.ts';
import { isObject } from '../../../src/json.ts';
import type { Auth } from '../../../src/run/options.ts';
import { rowsOf } from '../message.ts';

type Headers = Readonly<Record<string, string>>;

/** The bundle of the contract. */
export const specFile = fileURLToPath(new URL('../../../../../packages/spec/generated/openapi.yaml', import.meta.url));

/** The server that all drifts of a run share, and its dependencies. */
export interface RealServer {
  readonly address: string;
  readonly operations: readonly Operation[];
  /** A separate tenant with data in every list, so that runs do not see each other's data. */
  createWorld(): Promise<World>;
  stop(): Promise<void>;
}

/** A tenant, its credentials, and IDs of its data. */
export interface World {
  readonly operations: readonly Operation[];
  /** Has all permissions. */
  readonly owner: Headers;
  readonly expired: Headers;
  readonly forbidden: Headers;
  readonly otherTenant: Headers;
  readonly auth: Auth;
  /** An API key of the owner. */
  readonly key: string;
  readonly ids: Readonly<Record<'client' | 'otherClient' | 'contact', string>>;
  readonly refs: Readonly<Record<'client' | 'contact', string>>;
  /** A custom type with three records. */
  readonly type: 'Opportunity';
  /** A unique text for every call, so that created resources do not conflict. */
  unique(): string;
}

/** Where the server keeps its data: in a new directory by default. */
export interface Place {
  readonly databaseUrl?: string | undefined;
  /** A directory with a migrated database, which is removed in the end. */
  readonly data?: string;
}

/** The whole service on a separate embedded database, or on an empty database of a PostgreSQL server. */
export async function startRealServer({ databaseUrl, data }: Place = {}): Promise<RealServer> {
  const dataDir = data ?? (await mkdtemp(join(tmpdir(), 'contract-check-drifts-')));
  const { service, address, stop } = await serve({
    DATA_DIR: dataDir,
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    RATE_LIMIT_FACTOR: '10000',
    PAYMENT_PROCESSOR: 'sandbox',
    ...(databaseUrl === undefined
      ? {}
      : { DATABASE_URL: databaseUrl, MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }),
  });
  const operations = operationsOf(await OpenApiDocument.load(specFile));
  let worlds = 0;
  return {
    address,
    operations,
    createWorld: () => createWorld({ service, address, operations }, `${Date.now().toString(36)}${worlds++}`),
    async stop() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

interface Server {
  readonly service: Service;
  readonly address: string;
  readonly operations: readonly Operation[];
}

async function createWorld({ service, address, operations }: Server, suffix: string): Promise<World> {
  const place = { currency: 'USD', timeZone: 'America/Los_Angeles', country: 'US' };
  const [name, otherName] = [`firm_${suffix}`, `other_${suffix}`];
  for (const tenant of [name, otherName])
    await createTenant({ service }, { name: tenant, displayName: tenant, ...place });
  await seedDemoData({ service }, name);

  const signIn = async (tenant: string, roles: readonly string[]) => {
    const user = `${roles.join('-') || 'nobody'}`.toLowerCase();
    const { key } = await createApiKey({ service }, { tenant, user, roles, days: 1, description: undefined });
    const { access_token: token } = (await post(address, '/v1/auth/token', {}, { apiKey: key })) as {
      access_token: string;
    };
    return { key, token, headers: { authorization: `Bearer ${token}`, tenant } };
  };
  const owner = await signIn(name, ['API_ADMIN']);
  // Every API user of the tenant may read reference lists, so this one belongs to the other tenant.
  const { headers: foreign } = await signIn(otherName, ['PYMT_EVNT_ALL']);
  const forbidden = { ...foreign, tenant: name };
  const otherTenant = await signIn(otherName, ['API_ADMIN']);
  const expired = { ...owner.headers, authorization: `Bearer ${await expire(service, owner.token)}` };
  await fill(address, owner.headers);

  const clients = rowsOf(await post(address, '/gql/v1/clients', owner.headers, {}));
  const contacts = rowsOf(await post(address, '/gql/v1/contacts', owner.headers, {}));
  let uniques = 0;
  return {
    operations,
    owner: owner.headers,
    expired,
    forbidden,
    otherTenant: otherTenant.headers,
    auth: {
      caller: () => owner.headers,
      expired: () => expired,
      forbidden: () => forbidden,
      otherTenant: () => otherTenant.headers,
      values: () => ({ apiKey: owner.key }),
    },
    key: owner.key,
    ids: { client: String(clients[0]?.id), otherClient: String(clients[1]?.id), contact: String(contacts[0]?.id) },
    refs: { client: String(clients[0]?.clientRef), contact: String(contacts[0]?.pmsRef) },
    type: 'Opportunity',
    unique: () => `Zz${(++uniques).toString().padStart(6, '0')}zZ`,
  };
}

/** Adds rows to the lists for which the demo data has at most one. */
async function fill(address: string, headers: Headers): Promise<void> {
  const records = [
    ...['Payroll', 'Estates', 'Advisory'].map((name) => ({
      type: 'Department',
      systemRef: name,
      attributes: { name, code: name.toUpperCase() },
    })),
    ...['Okafor family', 'Haddad family', 'Solvik holdings'].map((name, index) => ({
      type: 'ClientGroup',
      attributes: index === 0 ? { name } : { name, description: `All of the ${name}` },
    })),
    ...['Partnership', 'Corporation', 'Trust'].map((name, index) => ({
      type: 'ClientBusinessEntity',
      attributes: { name, code: name.slice(0, 4).toUpperCase(), ...(index === 0 ? {} : { taxForm: 'FORM_1065' }) },
    })),
    { type: 'Industry', attributes: { name: 'Fishing', code: '1141' } },
    { type: 'Industry', attributes: { name: 'Forestry' } },
    { type: 'ClientType', attributes: { name: 'Trust', code: 'TRU', displayOrder: 5, description: 'Trusts' } },
    {
      type: 'TaxRegion',
      attributes: { name: 'Britain', code: 'GB', country: 'GB', ratePercent: '20', appliesToServices: true },
    },
    { type: 'ServiceLine', attributes: { name: 'Advisory', code: 'ADV', revenueAccountCode: '4100' } },
    {
      type: 'Client',
      systemRef: 'crm-90117',
      attributes: { name: 'Quay Trust', entityType: 'TRUST', status: 'PROSPECT', email: 'quay@example.com' },
    },
    { type: 'Contact', attributes: { lastName: 'Okafor', email: 'okafor@example.com', preferredChannel: 'SMS' } },
  ];
  expectAllAccepted(await post(address, '/api/v1/records', headers, { records }));
  // The names that the contract's examples use, so that the examples can be sent. Probes use the last field.
  const fields = [
    {
      name: 'stage',
      displayName: 'Stage',
      type: 'ENUM',
      required: true,
      enumValues: ['LEAD', 'QUALIFIED', 'PROPOSAL', 'WON', 'LOST'],
    },
    { name: 'value', displayName: 'Expected fees', type: 'DECIMAL', minimum: '0', scale: 2 },
    { name: 'client', displayName: 'Client', type: 'REFERENCE', required: true, referencedEntityType: 'Client' },
    { name: 'expectedCloseDate', displayName: 'Expected close', type: 'DATE' },
    { name: 'note', type: 'STRING', maxLength: 50 },
  ];
  await send(address, 'PUT', '/api/v1/records/custom/Opportunity', headers, { fields });
  const retired = { name: 'Retired', displayName: 'Retired', description: null, fields };
  await post(address, '/api/v1/records/custom', headers, retired);
  await send(address, 'DELETE', '/api/v1/records/custom/Retired', headers);
  const opportunities = ['LEAD', 'WON', 'LOST'].map((stage, index) => ({
    type: 'Opportunity',
    systemRef: `OPP-${index}`,
    attributes: { stage, value: `${index}.50`, client: { systemRef: 'crm-88213' } },
  }));
  expectAllAccepted(await post(address, '/api/v1/records', headers, { records: opportunities }));
}

function expectAllAccepted(result: unknown): void {
  if (!isObject(result) || !isObject(result.summary) || result.summary.failed !== 0) {
    throw new Error(`Not every row was created: ${JSON.stringify(result)}`);
  }
}

function post(address: string, path: string, headers: Headers, body: unknown): Promise<unknown> {
  return send(address, 'POST', path, headers, body);
}

async function send(address: string, method: string, path: string, headers: Headers, body?: unknown): Promise<unknown> {
  const response = await fetch(`${address}${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** The same token after its expiry, signed with the server's key. */
async function expire(service: Service, token: string): Promise<string> {
  const [header = '', payload = ''] = token.split('.');
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  if (!isObject(claims)) throw new Error('The token holds no claims.');
  const now = Math.floor(Date.now() / 1000);
  const signed = `${header}.${Buffer.from(JSON.stringify({ ...claims, iat: now - 4500, exp: now - 3600 })).toString('base64url')}`;
  const signature = await crypto.subtle.sign('Ed25519', service.keys.signingKey().key, Buffer.from(signed));
  return `${signed}.${Buffer.from(signature).toString('base64url')}`;
}
