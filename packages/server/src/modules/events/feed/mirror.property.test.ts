/** Whoever applies all events, and reads nothing else, has what the reads show. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { sampleOf } from '../../../../test/nightly.ts';
import { sharedService } from '../../../../test/service.ts';
import { contract, type Schema, schemaOf } from '../../../contract/contract.ts';

const service = await sharedService();
const { approver, draftOf, jobId, newClient, newJob, pay, post, records, staffId, workFor } = await firm(service);

/** Whoever sees all payments. */
const reader = await service.signIn({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] });

/** The types whose rows can be read and that have events, by where they are read. */
const urls = new Map(
  Object.entries(contract.components.schemas).flatMap(([name, schema]) => {
    const type = schema['x-type'] ?? name;
    const { recordsUrl } = schema['x-record'] ?? schema['x-entry-type'] ?? schema['x-code-type'] ?? {};
    const hasEvents = Object.values(contract.webhooks).some(({ post }) => post['x-event'].entityType === type);
    return recordsUrl !== undefined && hasEvents ? [[type, recordsUrl] as const] : [];
  }),
);

type Row = Readonly<Record<string, unknown>> & { readonly id: string };

/** The data of the last event of each row, by type and ID. */
async function mirrored(): Promise<Map<string, Row>> {
  const found = new Map<string, { readonly sequence: number; readonly data: Row }>();
  for (const query of ['', '&entityType=Payment&filterExpression=allPayments']) {
    for (let after = ''; ; ) {
      const { body, status } = await reader.call<{
        data: { entityType: string; entityId: string; sequence: number; data: Row }[];
        hasMore: boolean;
        nextCursor: string;
      }>('GET', `/api/v1/events?pageSize=1000${query}${after}`);
      expect(status).toBe(200);
      for (const { entityType, entityId, sequence, data } of body.data) {
        const key = `${entityType} ${entityId}`;
        if ((found.get(key)?.sequence ?? -1) < sequence) found.set(key, { sequence, data });
      }
      if (!body.hasMore) break;
      after = `&after=${encodeURIComponent(body.nextCursor)}`;
    }
  }
  return new Map([...found].map(([key, { data }]) => [key, data]));
}

async function rowsOf(url: string): Promise<Row[]> {
  const isLookup = url.startsWith('/api/');
  const rows: Row[] = [];
  for (let page = 0; ; page += isLookup ? 1 : 1000) {
    const { body } = await approver.call<{ data: Row[]; hasMore: boolean }>('POST', url, {
      page,
      pageSize: isLookup ? 100 : 1000,
    });
    rows.push(...body.data.map((row) => (isLookup ? { ...row, ...Object(row.attributes) } : row)));
    if (!body.hasMore) return rows;
  }
}

/** The fields that change with the day alone, and those that events leave out because not every subscriber may read them. */
function untold(type: string): string[] {
  const schema: Schema = contract.components.schemas[type] ?? {};
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const target = property.$ref === undefined ? property : { ...schemaOf(property.$ref), ...property };
    return target['x-changes-with-day'] === true ||
      name === 'rateCardAssignment' ||
      target['x-read-roles'] !== undefined
      ? [name]
      : [];
  });
}

/** What events and reads say differently, of the fields that both have. */
async function differences(): Promise<string[]> {
  const mirror = await mirrored();
  const found: string[] = [];
  for (const [type, url] of urls) {
    const changing = new Set(untold(type));
    for (const row of await rowsOf(url)) {
      const data = mirror.get(`${type} ${row.id}`);
      if (data === undefined) {
        found.push(`${type} ${row.id}: no event`);
        continue;
      }
      for (const [name, value] of Object.entries(row)) {
        if (changing.has(name) || !(name in data)) continue;
        if (!isDeepStrictEqual(value, data[name]))
          found.push(`${type}.${name}: reads ${JSON.stringify(value)}, events ${JSON.stringify(data[name])}`);
      }
    }
  }
  return found;
}

/** Of one client, whose payments can be applied to them, and of others. */
const invoices: string[] = [];
const imported: string[] = [];
const payments: string[] = [];
const times: string[] = [];
let count = 0;
const pick = <Item>(items: readonly Item[], seed: number): Item | undefined => items[seed % Math.max(items.length, 1)];
const update = (type: string, id: string | undefined, attributes: object) =>
  id === undefined
    ? undefined
    : approver.call('PUT', '/api/v1/records', { records: [{ type, systemRef: id, attributes }] });

/** What can happen at a firm. A step that the rules reject changes nothing. */
const steps: Readonly<Record<string, (seed: number) => Promise<unknown> | undefined>> = {
  work: async (seed) => {
    times.push(await workFor(`${1 + (seed % 3)}.00`, jobId, `2026-01-${10 + (seed % 18)}`));
  },
  bill: async (seed) => {
    const wipId = pick(times, seed);
    const line =
      wipId === undefined || seed % 2 === 0 ? {} : { lineType: 'TIME' as const, unitAmount: '150.00', wipIds: [wipId] };
    invoices.push(await post(await draftOf([{ jobId, ...line }])));
  },
  import: async (seed) => {
    const { id: clientId } = await newClient({ name: `Mirror ${++count}` });
    const line = {
      lineType: 'OTHER',
      description: 'Old',
      quantity: '1',
      unitAmount: `${100 + (seed % 9)}.00`,
      taxable: false,
    };
    const dates = { invoiceDate: '2026-01-05', dueDate: '2026-02-05' };
    const { id } = await records.make('Invoice', { pmsRef: `mirror-${count}`, clientId, ...dates, lines: [line] });
    await newJob(clientId);
    imported.push(id);
  },
  pay: async (seed) => {
    const invoiceId = pick(invoices, seed);
    const allocations = invoiceId === undefined ? [] : [{ invoiceId, amount: '40.00' }];
    payments.push((await pay('60.00', allocations)).id);
  },
  unapply: (seed) => update('Payment', pick(payments, seed), { allocations: [] }),
  refund: (seed) => update('Payment', pick(payments, seed), { refundedAmount: '10.00' }),
  voidPayment: (seed) => update('Payment', pick(payments, seed), { status: 'VOIDED' }),
  voidInvoice: (seed) =>
    update('Invoice', pick([...imported, ...invoices], seed), { status: 'VOIDED', voidReason: 'Wrong' }),
  writeOff: (seed) =>
    update('Invoice', pick([...invoices, ...imported], seed), { status: 'WRITTEN_OFF', writeOffReason: 'Bad debt' }),
  writeOffWork: (seed) => update('WipEntry', pick(times, seed), { writeOffAmount: '190.00', writeOffReason: 'Late' }),
  assign: () =>
    approver.call('POST', '/api/v1/projects/assign_staff', {
      staffJobAssignments: [{ staffId, jobId, role: 'PREPARER' }],
      staffTaskAssignments: [],
    }),
  rename: (seed) => update('Job', jobId, { name: `Return ${seed}` }),
};

/** The lives of a firm go on with one database: each begins where the one before has ended. */
const lives = sampleOf([8, 20, 40, 40, 80], 5);

test.each(lives)('a mirror of events equals the reads after %i random steps', async (length) => {
  const chosen = fc.sample(fc.tuple(fc.constantFrom(...Object.keys(steps)), fc.nat(1_000)), {
    numRuns: length,
    seed: length,
  });
  // Each of them at least once.
  for (const [name, seed] of [...Object.keys(steps).map((one) => [one, 1] as const), ...chosen])
    await Promise.resolve(steps[name]?.(seed)).catch(() => undefined);
  expect([invoices, imported, payments, times].filter((rows) => rows.length === 0)).toEqual([]);
  expect(await differences()).toEqual([]);
});
