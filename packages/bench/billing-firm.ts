import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createApp } from '../server/src/app/app.ts';
import { handlers } from '../server/src/app/handlers.ts';
import { contextOf } from '../server/src/app/sign-in.ts';
import { allOperations } from '../server/src/contract/contract.ts';
import { createApiKey } from '../server/src/operator/api-keys.ts';
import type { createTenant } from '../server/src/operator/tenants.ts';
import { openStore } from '../server/src/platform/store/store.ts';
import { readConfig } from '../server/src/service/config.ts';
import { createService } from '../server/src/service/service.ts';
import { readColumns, type Snapshot, snapshotOf } from './raw-rows.ts';

interface Item {
  readonly id: string;
  readonly status: string;
  readonly systemRef: string;
}

/** A firm to measure: a service on a database, and the calls that are measured. */
export async function openBench(databaseUrl: string, log: Logger, makeTenant: typeof createTenant) {
  const store = await openStore({ databaseUrl });
  const environment = { MASTER_KEY: randomBytes(32).toString('base64'), RATE_LIMIT_FACTOR: '0', LOG_LEVEL: 'silent' };
  const service = await createService(readConfig(environment), store, log);
  await readColumns(store);
  const server = createServer(createApp(service));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const place = { currency: 'USD', timeZone: 'UTC', country: 'US' };
  const tenant = await makeTenant({ service }, { name: 'bench', displayName: 'Bench', ...place });
  const signIn = async (user: string) => {
    const wanted = { tenant: tenant.name, user, roles: ['API_ADMIN'], days: 1, description: undefined };
    const { id, key } = await createApiKey({ service }, wanted);
    const json = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ apiKey: key });
    const answer = await fetch(`${address}/v1/auth/token`, { method: 'POST', headers: json, body });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return { id, headers: { ...json, Authorization: `Bearer ${token}`, Tenant: tenant.name } };
  };
  const [preparer, approver] = [await signIn('preparer'), await signIn('approver')];
  const call = async <Body>(method: string, path: string, body?: object, by = preparer): Promise<Body> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${address}${path}`, { method, headers: by.headers, ...sent });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} ${answer.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  };
  const records = async (method: 'POST' | 'PUT', path: string, items: readonly object[], by = preparer) => {
    const all: Item[] = [];
    for (let from = 0; from < items.length; from += 100) {
      const body = { records: items.slice(from, from + 100) };
      const { records: written } = await call<{ records: Item[] }>(method, path, body, by);
      const failed = written.find(({ status }) => status === 'FAILED');
      if (failed !== undefined) throw new Error(JSON.stringify(failed));
      all.push(...written);
    }
    return all;
  };
  const make = async (type: string, attributes: object): Promise<string> =>
    (await records('POST', '/api/v1/records', [{ type, attributes }]))[0]?.id ?? '';

  const { clientId, clientRef } = await call<{ clientId: string; clientRef: string }>(
    'POST',
    '/api/v1/clients/v1/onboard',
    { name: 'Harbor & Pine LLC', address: {} },
  );
  const jobId = await make('Job', { name: 'Job', clientId, billingType: 'TIME_AND_MATERIALS' });
  const staffTypeId = await make('StaffType', { name: 'Senior', code: 'SR', rank: 2, isBillable: true });
  const rates = { billingRate: '190.00', averageRate: '120.00', currency: 'USD', effectiveFromDate: '2000-01-01' };
  const staffIds: string[] = [];
  for (let index = 0; index < 20; index++) {
    const name = { staffRef: `S-${index}`, firstName: 'Ada', lastName: 'Okoye', email: `ada.${index}@firm.example` };
    const person = { ...name, staffTypeId, isBillable: true, rateCardAssignment: rates };
    staffIds.push((await call<{ id: string }>('POST', '/api/v1/staff', person)).id);
  }
  let made = 0;
  const newEntry = () => {
    made += 1;
    const workDate = Temporal.PlainDate.from('2001-01-01')
      .add({ days: Math.floor(made / 200) })
      .toString();
    const attributes = { staffId: staffIds[made % 20], jobId, workDate, hours: '0.50', isBillable: true };
    return { type: 'TimeEntry', systemRef: `entry-${made}`, attributes: { ...attributes, status: 'SUBMITTED' } };
  };
  const line = { description: 'Work', quantity: '1', unitAmount: '95.00', taxable: false };
  const work = async (count: number) => {
    const row = { wipType: 'FIXED_FEE', clientId, jobId, workDate: '2025-01-05', amount: '95.00' };
    return records(
      'POST',
      '/api/v1/records',
      Array.from({ length: count }, () => ({ type: 'WipEntry', attributes: row })),
    );
  };
  const importInvoices = (count: number) =>
    records(
      'POST',
      '/api/v1/records',
      Array.from({ length: count }, () => {
        made += 1;
        const dates = { invoiceDate: '2025-01-31', dueDate: '2025-03-02' };
        const lines = [{ ...line, lineType: 'OTHER' }];
        return { type: 'Invoice', attributes: { pmsRef: `import-${made}`, clientId, ...dates, lines } };
      }),
    );
  const state = await service.directory.key(tenant.id, preparer.id);
  if (state === undefined) throw new Error('The API key was not made.');
  const operation = allOperations.find(({ id }) => id === 'upsertEntries');
  if (operation === undefined) throw new Error('The contract has no upsertEntries.');

  return {
    store,
    tenantId: tenant.id,
    clientRef,
    /** Open work and open invoices to read among. */
    async fill() {
      await work(2_000);
      await importInvoices(300);
    },
    snapshot: (): Promise<Snapshot> => snapshotOf(store, tenant.id),
    /** In one call; more than the contract allows in one goes past HTTP. */
    async upsertEntries(count: number) {
      const body = { records: Array.from({ length: count }, newEntry) };
      if (count <= 100) return call('POST', '/api/v1/entries', body);
      const open = { service, operation, requestId: String(made), address: '127.0.0.1', tenantName: tenant.name };
      const context = contextOf(open, tenant, { ...state, roles: new Set(['API_ADMIN']) }, undefined);
      const input = { path: {}, query: {}, body, bytes: undefined };
      return Reflect.apply(handlers.upsertEntries, undefined, [context, input]);
    },
    /** Entries that wait for approval; calling what is returned approves them. */
    async submittedEntries(count: number) {
      const entries = Array.from({ length: count }, newEntry);
      await call('POST', '/api/v1/entries', { records: entries });
      const approved = entries.map(({ type, systemRef }) => ({ type, systemRef, attributes: { status: 'APPROVED' } }));
      return () => call('POST', '/api/v1/entries', { records: approved }, approver);
    },
    /** A draft in review; calling what is returned approves it. */
    async draftInReview(lines: number) {
      const rows = await work(lines);
      made += 1;
      const systemRef = `draft-${made}`;
      const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
      const billed = rows.map(({ id }) => ({ ...line, lineType: 'FIXED_FEE', wipIds: [id] }));
      const attributes = { clientId, ...dates, lines: billed };
      await records('POST', '/api/v1/records', [{ type: 'DraftInvoice', systemRef, attributes }]);
      const move = (status: string) => [{ type: 'DraftInvoice', systemRef, attributes: { status } }];
      await records('PUT', '/api/v1/records', move('IN_REVIEW'));
      return () => records('PUT', '/api/v1/records', move('APPROVED'), approver);
    },
    async paymentOn(count: number) {
      const allocations = (await importInvoices(count)).map(({ id }) => ({ invoiceId: id, amount: '10.00' }));
      const money = { paymentDate: '2026-02-01', amount: `${count * 10}.00`, currency: 'USD', method: 'CHECK' };
      const attributes = { clientId, ...money, source: 'MANUAL', allocations };
      return () => records('POST', '/api/v1/records', [{ type: 'Payment', attributes }]);
    },
    unpaid: () => call('GET', `/api/v1/invoices/unpaid?clientRef=${clientRef}&pageSize=50`),
    agedWip: () =>
      call('POST', '/gql/v1/wips/search', {
        where: { ageDays: { _gte: 30 } },
        orderBy: [{ workDate: 'asc' }],
        pageSize: 50,
      }),
    async close() {
      server.close();
      server.closeAllConnections();
      await store.close();
    },
  };
}
