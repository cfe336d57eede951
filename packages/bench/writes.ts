/** Measures writes of contacts, time and billing beside hand-written SQL that writes the same rows; see README.md beside this file. */
import { createServer } from 'node:http';
import { createApp } from '@financial-automation/server/bench';
import { portOf } from '@financial-automation/server/tools';
import { readOptions } from '../../scripts/options.ts';
import { median, ratiosOf, spread, timed } from './figures.ts';
import { openRawRows } from './raw-rows.ts';
import { addTenant, addUser, createDatabase, json, openService, tokenOf } from './service.ts';

const { values } = readOptions({ options: { rounds: { type: 'string', default: '7' } } });

/** Prepares rows, and returns the call that is measured. */
type Preparation = () => Promise<() => Promise<unknown>>;

interface Item {
  readonly id: string;
  readonly status: string;
}

/** Most records that one call can have. */
const maxRecords = 100;
const line = { description: 'Work', quantity: '1', unitAmount: '95.00', taxable: false };

await using database = await createDatabase('writes');
await using firm = await openFirm(database.url);
const rows = await openRawRows(firm.store, firm.tenantId, database.url);
const times = new Map(Object.keys(firm.writes).map((name) => [name, { raw: [] as number[], call: [] as number[] }]));
// The first round only warms up.
for (let round = 0; round <= Number(values.rounds); round++)
  for (const [name, prepare] of Object.entries(firm.writes)) {
    const call = await prepare();
    const before = await rows.snapshot();
    const called = await timed(call);
    const written = await rows.writtenSince(before);
    await rows.rewind(written);
    const raw = await timed(() => rows.write(written));
    if (round === 0) continue;
    times.get(name)?.call.push(called);
    times.get(name)?.raw.push(raw);
  }
console.log('\nWrites beside hand-written SQL, in milliseconds');
console.table(
  Object.fromEntries(
    [...times].map(([name, { raw, call }]) => [
      name,
      {
        'hand-written SQL': median(raw).toFixed(1),
        call: median(call).toFixed(1),
        ratio: spread(ratiosOf(call, raw), 2),
      },
    ]),
  ),
);

/** Opens a service on a database, with a firm that has open work and open invoices: one user prepares, the other approves. */
async function openFirm(databaseUrl: string) {
  const service = await openService({ databaseUrl });
  const server = createServer(createApp(service));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const tenant = await addTenant(service, 'bench');
  const address = `http://127.0.0.1:${portOf(server)}`;
  const signIn = async (user: string) => {
    const token = await tokenOf(address, await addUser(service, 'bench', user));
    return { ...json, Authorization: `Bearer ${token}`, Tenant: 'bench' };
  };
  const preparer = await signIn('preparer');
  const approver = await signIn('approver');

  async function call<Body>(method: 'POST' | 'PUT', path: string, body: object, headers = preparer): Promise<Body> {
    const response = await fetch(`${address}${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  }

  /** Writes records or entries in as few calls as possible. */
  async function write(method: 'POST' | 'PUT', items: readonly object[], by = preparer, path = '/api/v1/records') {
    const all: Item[] = [];
    for (let from = 0; from < items.length; from += maxRecords) {
      const body = { records: items.slice(from, from + maxRecords) };
      const { records: written } = await call<{ records: Item[] }>(method, path, body, by);
      const failed = written.find(({ status }) => status === 'FAILED');
      if (failed !== undefined) throw new Error(JSON.stringify(failed));
      all.push(...written);
    }
    return all;
  }

  const create = (type: string, items: readonly object[]) =>
    write(
      'POST',
      items.map((attributes) => ({ type, attributes })),
    );
  const idOf = async (type: string, attributes: object) => (await create(type, [attributes]))[0]?.id ?? '';

  let last = 0;
  const list = <One>(count: number, one: (number: number) => One) => Array.from({ length: count }, () => one(++last));
  const client = { name: 'Harbor & Pine LLC', address: {} };
  const { clientId, clientRef } = await call<{ clientId: string; clientRef: string }>(
    'POST',
    '/api/v1/clients/v1/onboard',
    client,
  );
  const jobId = await idOf('Job', { name: 'Job', clientId, billingType: 'TIME_AND_MATERIALS' });
  const staffTypeId = await idOf('StaffType', { name: 'Senior', code: 'SR', rank: 2, isBillable: true });
  const rates = { billingRate: '190.00', averageRate: '120.00', currency: 'USD', effectiveFromDate: '2000-01-01' };
  const staffIds: string[] = [];
  for (let index = 0; index < 20; index++) {
    const name = { staffRef: `S-${index}`, firstName: 'Ada', lastName: 'Okoye', email: `ada.${index}@firm.example` };
    const person = { ...name, staffTypeId, isBillable: true, rateCardAssignment: rates };
    staffIds.push((await call<{ id: string }>('POST', '/api/v1/staff', person)).id);
  }
  const newWork = (count: number) =>
    create(
      'WipEntry',
      list(count, () => ({ wipType: 'FIXED_FEE', clientId, jobId, workDate: '2025-01-05', amount: '95.00' })),
    );
  const invoiceDates = { invoiceDate: '2025-01-31', dueDate: '2025-03-02' };
  const newInvoices = (count: number) =>
    create(
      'Invoice',
      list(count, (n) => ({
        clientId,
        pmsRef: `import-${n}`,
        ...invoiceDates,
        lines: [{ ...line, lineType: 'OTHER' }],
      })),
    );
  const newEntries = (count: number) =>
    list(count, (n) => {
      const workDate = Temporal.PlainDate.from('2001-01-01')
        .add({ days: Math.floor(n / 200) })
        .toString();
      const entry = {
        staffId: staffIds[n % 20],
        jobId,
        workDate,
        hours: '0.50',
        isBillable: true,
        status: 'SUBMITTED',
      };
      return { type: 'TimeEntry', systemRef: `entry-${n}`, attributes: entry };
    });
  const writeEntries = (entries: readonly object[], by = preparer) => write('POST', entries, by, '/api/v1/entries');

  /** Contacts of the client, in one call. */
  const contacts =
    (count: number): Preparation =>
    async () =>
    async () => {
      const clients = [{ clientRef, roles: ['OTHER'], isPrimary: true }];
      const sent = list(count, (n) => ({
        firstName: 'Noor',
        lastName: `Haddad ${n}`,
        email: `n.${n}@example.com`,
        clients,
      }));
      const { succeeded } = await call<{ succeeded: object[] }>('POST', '/api/v1/contacts/upsert', { contacts: sent });
      if (succeeded.length !== count) throw new Error(`${succeeded.length} of ${count} contacts were created.`);
    };

  await newWork(2_000);
  await newInvoices(300);
  return {
    store: service.store,
    tenantId: tenant.id,
    writes: {
      '1 contacts created': contacts(1),
      '10 contacts created': contacts(10),
      '100 contacts created': contacts(100),
      '100 time entries upserted': async () => {
        const entries = newEntries(100);
        return () => writeEntries(entries);
      },
      '100 time entries approved': async () => {
        const entries = newEntries(100);
        await writeEntries(entries);
        const approved = entries.map((entry) => ({ ...entry, attributes: { status: 'APPROVED' } }));
        return () => writeEntries(approved, approver);
      },
      'a draft with 400 lines approved': async () => {
        const systemRef = `draft-${++last}`;
        const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
        const lines = (await newWork(400)).map(({ id }) => ({ ...line, lineType: 'FIXED_FEE', wipIds: [id] }));
        const draft = (attributes: object) => [{ type: 'DraftInvoice', systemRef, attributes }];
        await write('POST', draft({ clientId, ...dates, lines }));
        await write('PUT', draft({ status: 'IN_REVIEW' }));
        return () => write('PUT', draft({ status: 'APPROVED' }), approver);
      },
      'a payment on 50 invoices': async () => {
        const allocations = (await newInvoices(50)).map(({ id }) => ({ invoiceId: id, amount: '10.00' }));
        const money = {
          paymentDate: '2026-02-01',
          amount: '500.00',
          currency: 'USD',
          method: 'CHECK',
          source: 'MANUAL',
        };
        return () => create('Payment', [{ clientId, ...money, allocations }]);
      },
    },
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections();
      await service.store.close();
    },
  };
}
