import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createApp } from '@financial-automation/server/app/app';
import { handlers } from '@financial-automation/server/app/handlers';
import { readConfig } from '@financial-automation/server/app/read-config';
import { contextOf } from '@financial-automation/server/app/sign-in';
import { allOperations } from '@financial-automation/server/contract/contract';
import { createService, type Service } from '@financial-automation/server/entity/service';
import { createApiKey } from '@financial-automation/server/operator/api-keys';
import { createTenant } from '@financial-automation/server/operator/tenants';
import type { Tenant } from '@financial-automation/server/platform/auth/caller';
import { openStore, type Store } from '@financial-automation/server/platform/store/store';
import { portOf } from '@financial-automation/server/test/free-port';
import type { Logger } from 'pino';
import { readColumns, type Snapshot, snapshotOf } from './raw-rows.ts';

interface Item {
  readonly id: string;
  readonly status: string;
  readonly systemRef: string;
}

/** An API user with a token. */
interface User {
  readonly keyId: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The rows that what is measured refers to. */
interface Parties {
  readonly clientId: string;
  readonly clientRef: string;
  readonly jobId: string;
  readonly staffIds: readonly string[];
}

/** Most records that one call can have. */
const maxRecords = 100;
const json = { 'Content-Type': 'application/json' };
const line = { description: 'Work', quantity: '1', unitAmount: '95.00', taxable: false };

/** Opens a service on a database, with a firm whose calls are measured. */
export async function openFirm(databaseUrl: string, log: Logger): Promise<WritingFirm> {
  const store = await openStore({ databaseUrl });
  const environment = { MASTER_KEY: randomBytes(32).toString('base64'), RATE_LIMIT_FACTOR: '0', LOG_LEVEL: 'silent' };
  const service = await createService(readConfig(environment), store, log);
  await readColumns(store);
  const server = createServer(createApp(service));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const place = { currency: 'USD', timeZone: 'UTC', country: 'US' };
  const tenant = await createTenant({ service }, { name: 'bench', displayName: 'Bench', ...place });
  const address = `http://127.0.0.1:${portOf(server)}`;
  const api = {
    address,
    preparer: await signIn(service, tenant, address, 'preparer'),
    approver: await signIn(service, tenant, address, 'approver'),
  };
  const calls = new Calls(api);
  return new WritingFirm(service, server, tenant, calls, await createParties(calls));
}

async function signIn(service: Service, tenant: Tenant, address: string, user: string): Promise<User> {
  const options = { tenant: tenant.name, user, roles: ['API_ADMIN'], days: 1, description: undefined };
  const { id, key } = await createApiKey({ service }, options);
  const body = JSON.stringify({ apiKey: key });
  const response = await fetch(`${address}/v1/auth/token`, { method: 'POST', headers: json, body });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return { keyId: id, headers: { ...json, Authorization: `Bearer ${token}`, Tenant: tenant.name } };
}

/** Calls of the API by two users of the firm: one prepares, the other approves. */
class Calls {
  readonly preparer: User;
  readonly approver: User;
  readonly #address: string;

  constructor(api: { readonly address: string; readonly preparer: User; readonly approver: User }) {
    this.#address = api.address;
    this.preparer = api.preparer;
    this.approver = api.approver;
  }

  async call<Body>(method: string, path: string, body?: object, by = this.preparer): Promise<Body> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${this.#address}${path}`, { method, headers: by.headers, ...sent });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  }

  /** Writes records in as few calls as possible. */
  async records(method: 'POST' | 'PUT', items: readonly object[], by = this.preparer): Promise<Item[]> {
    const all: Item[] = [];
    for (let from = 0; from < items.length; from += maxRecords) {
      const body = { records: items.slice(from, from + maxRecords) };
      const { records: written } = await this.call<{ records: Item[] }>(method, '/api/v1/records', body, by);
      const failed = written.find(({ status }) => status === 'FAILED');
      if (failed !== undefined) throw new Error(JSON.stringify(failed));
      all.push(...written);
    }
    return all;
  }

  /** Creates a record. @returns its ID */
  async record(type: string, attributes: object): Promise<string> {
    return (await this.records('POST', [{ type, attributes }]))[0]?.id ?? '';
  }
}

async function createParties(calls: Calls): Promise<Parties> {
  const client = { name: 'Harbor & Pine LLC', address: {} };
  const { clientId, clientRef } = await calls.call<{ clientId: string; clientRef: string }>(
    'POST',
    '/api/v1/clients/v1/onboard',
    client,
  );
  const jobId = await calls.record('Job', { name: 'Job', clientId, billingType: 'TIME_AND_MATERIALS' });
  const staffTypeId = await calls.record('StaffType', { name: 'Senior', code: 'SR', rank: 2, isBillable: true });
  const rates = { billingRate: '190.00', averageRate: '120.00', currency: 'USD', effectiveFromDate: '2000-01-01' };
  const staffIds: string[] = [];
  for (let index = 0; index < 20; index++) {
    const name = { staffRef: `S-${index}`, firstName: 'Ada', lastName: 'Okoye', email: `ada.${index}@firm.example` };
    const person = { ...name, staffTypeId, isBillable: true, rateCardAssignment: rates };
    staffIds.push((await calls.call<{ id: string }>('POST', '/api/v1/staff', person)).id);
  }
  return { clientId, clientRef, jobId, staffIds };
}

/** A firm, and the calls that are measured. Those with a preparation return the call. */
export class WritingFirm {
  readonly store: Store;
  readonly tenantId: number;
  readonly clientRef: string;
  readonly #service: Service;
  readonly #server: Server;
  readonly #tenant: Tenant;
  readonly #calls: Calls;
  readonly #parties: Parties;
  #created = 0;

  constructor(service: Service, server: Server, tenant: Tenant, calls: Calls, parties: Parties) {
    this.store = service.store;
    this.tenantId = tenant.id;
    this.clientRef = parties.clientRef;
    this.#service = service;
    this.#server = server;
    this.#tenant = tenant;
    this.#calls = calls;
    this.#parties = parties;
  }

  /** Adds open work and open invoices, among which others are read. */
  async fill(): Promise<void> {
    await this.#work(2_000);
    await this.#importInvoices(300);
  }

  snapshot(): Promise<Snapshot> {
    return snapshotOf(this.store, this.tenantId);
  }

  /** Upserts entries in one call; more than the contract allows in one by the handler, without HTTP. */
  async upsertEntries(count: number): Promise<unknown> {
    const body = { records: this.#newEntries(count) };
    if (count <= maxRecords) return this.#calls.call('POST', '/api/v1/entries', body);
    const input = { path: {}, query: {}, body, bytes: undefined };
    return Reflect.apply(handlers.upsertEntries, undefined, [await this.#context('upsertEntries'), input]);
  }

  /** Creates contacts of the client in one call. */
  async createContacts(count: number): Promise<void> {
    const contacts = Array.from({ length: count }, () => {
      const number = this.#next();
      const clients = [{ clientRef: this.clientRef, roles: ['OTHER'], isPrimary: true }];
      return { firstName: 'Noor', lastName: `Haddad ${number}`, email: `noor.haddad.${number}@example.com`, clients };
    });
    const { succeeded } = await this.#calls.call<{ succeeded: object[] }>('POST', '/api/v1/contacts/upsert', {
      contacts,
    });
    if (succeeded.length !== count) throw new Error(`${succeeded.length} of ${count} contacts were created.`);
  }

  /** Prepares entries that wait for approval. */
  async submittedEntries(count: number): Promise<() => Promise<unknown>> {
    const entries = this.#newEntries(count);
    await this.#calls.call('POST', '/api/v1/entries', { records: entries });
    const records = entries.map(({ type, systemRef }) => ({ type, systemRef, attributes: { status: 'APPROVED' } }));
    return () => this.#calls.call('POST', '/api/v1/entries', { records }, this.#calls.approver);
  }

  /** Prepares a draft in review. */
  async draftInReview(lines: number): Promise<() => Promise<unknown>> {
    const work = await this.#work(lines);
    const systemRef = `draft-${this.#next()}`;
    const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
    const billed = work.map(({ id }) => ({ ...line, lineType: 'FIXED_FEE', wipIds: [id] }));
    const attributes = { clientId: this.#parties.clientId, ...dates, lines: billed };
    await this.#calls.records('POST', [{ type: 'DraftInvoice', systemRef, attributes }]);
    const move = (status: string) => [{ type: 'DraftInvoice', systemRef, attributes: { status } }];
    await this.#calls.records('PUT', move('IN_REVIEW'));
    return () => this.#calls.records('PUT', move('APPROVED'), this.#calls.approver);
  }

  /** Prepares invoices for one payment. */
  async paymentOn(count: number): Promise<() => Promise<unknown>> {
    const invoices = await this.#importInvoices(count);
    const allocations = invoices.map(({ id }) => ({ invoiceId: id, amount: '10.00' }));
    const money = { paymentDate: '2026-02-01', amount: `${count * 10}.00`, currency: 'USD', method: 'CHECK' };
    const attributes = { clientId: this.#parties.clientId, ...money, source: 'MANUAL', allocations };
    return () => this.#calls.records('POST', [{ type: 'Payment', attributes }]);
  }

  unpaid(): Promise<unknown> {
    return this.#calls.call('GET', `/api/v1/invoices/unpaid?clientRef=${this.clientRef}&pageSize=50`);
  }

  agedWip(): Promise<unknown> {
    return this.#calls.call('POST', '/gql/v1/wips/search', {
      where: { ageDays: { _gte: 30 } },
      orderBy: [{ workDate: 'asc' }],
      pageSize: 50,
    });
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.store.close();
  }

  async #context(operationId: string) {
    const operation = allOperations.find(({ id }) => id === operationId);
    if (operation === undefined) throw new Error(`The contract has no operation ${operationId}.`);
    const key = await this.#service.directory.key(this.tenantId, this.#calls.preparer.keyId);
    if (key === undefined) throw new Error('The API key was not created.');
    const requestId = String(this.#created);
    const call = { service: this.#service, operation, requestId, address: '127.0.0.1', tenantName: this.#tenant.name };
    return contextOf(call, this.#tenant, { ...key, roles: new Set(['API_ADMIN']) }, undefined);
  }

  #next(): number {
    this.#created += 1;
    return this.#created;
  }

  #newEntries(count: number) {
    const { jobId, staffIds } = this.#parties;
    return Array.from({ length: count }, () => {
      const number = this.#next();
      const days = Math.floor(number / 200);
      const workDate = Temporal.PlainDate.from('2001-01-01').add({ days }).toString();
      const attributes = { staffId: staffIds[number % 20], jobId, workDate, hours: '0.50', isBillable: true };
      return { type: 'TimeEntry', systemRef: `entry-${number}`, attributes: { ...attributes, status: 'SUBMITTED' } };
    });
  }

  #work(count: number): Promise<Item[]> {
    const { clientId, jobId } = this.#parties;
    const attributes = { wipType: 'FIXED_FEE', clientId, jobId, workDate: '2025-01-05', amount: '95.00' };
    return this.#calls.records(
      'POST',
      Array.from({ length: count }, () => ({ type: 'WipEntry', attributes })),
    );
  }

  #importInvoices(count: number): Promise<Item[]> {
    const dates = { invoiceDate: '2025-01-31', dueDate: '2025-03-02' };
    const common = { clientId: this.#parties.clientId, ...dates, lines: [{ ...line, lineType: 'OTHER' }] };
    return this.#calls.records(
      'POST',
      Array.from({ length: count }, () => ({
        type: 'Invoice',
        attributes: { pmsRef: `import-${this.#next()}`, ...common },
      })),
    );
  }
}
