/** Many callers write at random to the same few rows of one tenant, each without regard for the others. */
import { Random } from '@financial-automation/demo-data/profiles/random';
import { expect, test } from 'vitest';
import { type Choices, onlyRequired } from '../../test/bounds/bodies.ts';
import { operationDoors, rowDoors } from '../../test/bounds/doors.ts';
import { hasType } from '../../test/bounds/places.ts';
import { Reads } from '../../test/bounds/reads.ts';
import { World } from '../../test/bounds/world.ts';
import { mirrorDifferences, mirrorRoles } from '../../test/mirror.ts';
import { testService, violationsOf } from '../../test/service.ts';
import { type Schema, schemaOf } from '../contract/contract.ts';
import { differencesOf, findBreaches } from '../modules/billing/index.ts';
import { typesWith } from '../modules/bulk/index.ts';
import { checkRows } from '../operator/rows.ts';

const writers = 16;
/** How many acts all writers take together. */
const actCount = Number(process.env.WRITER_ACTS ?? 10_000);
const random = new Random(Number(process.env.WRITER_SEED ?? 1));

/** A row that was written, as far as the writers need it. */
interface Known {
  readonly id: string;
  readonly systemRef: string;
}

interface Response {
  readonly records?: readonly {
    readonly id: string | null;
    readonly systemRef: string | null;
    readonly status: string;
  }[];
  readonly data?: readonly (Known & { readonly jobId: string })[];
}

const service = await testService({ config: { poolSize: 54 }, sandbox: true });
const { tenant, store } = service;
const world = await World.create(service);
const rows = rowDoors(world, service);
// What subscribes to events or defines types collides with itself, and is written by the tests of bounds.
const operations = operationDoors(world, service).filter(
  ({ name }) =>
    !/^(advanceSandboxClock|createEngagementBatch)$|EventSubscription$|CustomRecordType$|^recover/.test(name),
);
const typesThatCan = (operation: 'UPDATE' | 'DELETE') =>
  [...typesWith('x-record').values()].filter((type) => type.operations.includes(operation)).map(({ name }) => name);
const changed = typesThatCan('UPDATE');
const deleted = typesThatCan('DELETE');
/** Most acts concern these types, whose rows have rules together. */
const money = ['Invoice', 'Payment', 'WipEntry', 'DraftInvoice', 'TimeEntry', 'ExpenseEntry'];

const oneOf = <Item>(items: readonly Item[]): Item | undefined => items[random.below(Math.max(items.length, 1))];
const recent = new Map<string, readonly Known[]>();
const recentOf = (type: string, most = 4) => oneOf((recent.get(type) ?? []).slice(-most));
const remember = (type: string, known: readonly Known[]) => {
  const before = (recent.get(type) ?? []).filter(({ id }) => !known.some((one) => one.id === id));
  recent.set(type, [...before, ...known].slice(-30));
};

const values: Choices = {
  // A new line has no ID yet, and one of both forms of its taxes.
  includes: (pointer) => !/\/(id|lines\/\d+\/tax(able|RatePercent))$/.test(pointer) && random.chance(0.3),
  items: () => random.between(1, 3),
  value(pointer, schema) {
    if (schema.items !== undefined) return undefined;
    const type = /\/invoiceIds?(\/|$)/.test(pointer) ? 'Invoice' : schema['x-references'];
    if (type !== undefined) return random.chance(0.8) ? recentOf(type)?.id : undefined;
    if (schema.enum !== undefined) return random.chance(0.5) ? oneOf(schema.enum) : undefined;
    if (schema.format === 'decimal')
      return random.chance(0.3) ? undefined : oneOf(['1', '2', '5.50', '10.00', '100.00']);
    return hasType(schema, 'boolean') ? random.chance(0.5) : undefined;
  },
};

function pathOf(type: string): string {
  if (typesWith('x-code-type').has(type)) return '/api/v1/codes';
  return typesWith('x-entry-type').has(type) ? '/api/v1/entries' : '/api/v1/records';
}

const responses = new Map<number, number>();

async function send(method: string, path: string, body: object): Promise<Response> {
  const response = await service.call<Response>(method, path, body);
  responses.set(response.status, (responses.get(response.status) ?? 0) + 1);
  // A conflict that lasts is for the caller to repeat, and nothing else is for nobody to see.
  if (response.status >= 500)
    throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(response.body)}`);
  return response.body;
}

async function write(type: string, item: object): Promise<void> {
  const { records = [] } = await send('POST', pathOf(type), { records: [{ type, ...item }] });
  for (const { id, systemRef, status } of records)
    if (id !== null && systemRef !== null && status !== 'FAILED') remember(type, [{ id, systemRef }]);
}

const change = (type: string, systemRef: string, attributes: object) =>
  send('PUT', '/api/v1/records', { records: [{ type, systemRef, attributes }] });

async function create(type: string | undefined): Promise<void> {
  const door = rows.find(({ name }) => name === type);
  if (door !== undefined) await write(door.name, Object(door.body(random.chance(0.3) ? onlyRequired : values)));
}

/** New values of a recent row of a type. */
function changeOf(type: string | undefined) {
  const door = rows.find(({ name }) => name === type);
  const row = door === undefined ? undefined : recentOf(door.name);
  if (door === undefined || row === undefined) return undefined;
  const attributes = world.bodies.make(door.name, { ...door.schema, required: [] }, values);
  return { type: door.name, systemRef: row.systemRef, attributes };
}

function statusesOf(type: string): readonly unknown[] {
  const property: Schema = schemaOf(type).properties?.status ?? {};
  return (property.$ref === undefined ? property : schemaOf(property.$ref)).enum ?? [];
}

const acts: readonly (() => Promise<unknown>)[] = [
  () => create(oneOf(rows)?.name),
  () => create(oneOf(money)),
  async () => {
    const item = changeOf(random.chance(0.7) ? oneOf(money) : oneOf(changed));
    if (item !== undefined) await send('PUT', '/api/v1/records', { records: [item] });
  },
  async function changeSeveral() {
    const items = Array.from({ length: 6 }, () => changeOf(oneOf(changed))).filter((item) => item !== undefined);
    const records = [...new Map(items.map((item) => [`${item.type} ${item.systemRef}`, item])).values()];
    if (records.length > 0) await send('PUT', '/api/v1/records', { records });
  },
  async function takeAnyStep() {
    const type = random.chance(0.8) ? oneOf(money) : oneOf(changed);
    const row = type === undefined ? undefined : recentOf(type, 6);
    if (type === undefined || row === undefined) return;
    const attributes = { status: oneOf(statusesOf(type)), voidReason: 'Wrong', writeOffReason: 'Lost' };
    const { status, voidReason, writeOffReason } = attributes;
    const reason = status === 'VOIDED' ? { voidReason } : status === 'WRITTEN_OFF' ? { writeOffReason } : {};
    if (status !== undefined) await write(type, { systemRef: row.systemRef, attributes: { status, ...reason } });
  },
  async function billWork() {
    const entry = recentOf('TimeEntry');
    if (entry === undefined) return;
    for (const status of ['SUBMITTED', 'APPROVED'])
      await write('TimeEntry', { systemRef: entry.systemRef, attributes: { status } });
    const { data: open = [] } = await send('POST', '/gql/v1/wips/search', { where: { status: { _eq: 'OPEN' } } });
    remember('WipEntry', open.slice(-5));
    const jobId = oneOf(open)?.jobId;
    if (jobId === undefined) return;
    const wipIds = open.flatMap((row) => (row.jobId === jobId ? [row.id] : [])).slice(0, random.between(1, 4));
    const line = { jobId, lineType: 'TIME', unitAmount: '10.00', quantity: '1', wipIds };
    const systemRef = `draft-${world.bodies.next()}`;
    await write('DraftInvoice', { systemRef, attributes: { clientId: world.idOf('Client'), lines: [line] } });
  },
  async function postDraft() {
    const draft = recentOf('DraftInvoice', 8);
    if (draft === undefined) return;
    for (const status of ['IN_REVIEW', 'APPROVED']) await change('DraftInvoice', draft.systemRef, { status });
    const { data = [] } = await send('POST', '/gql/v1/invoices/search', {
      pageSize: 20,
      orderBy: [{ createdAt: 'DESC' }],
    });
    remember('Invoice', data);
  },
  async function pay() {
    const ids = new Set([recentOf('Invoice', 8), recentOf('Invoice', 8)].flatMap((row) => row?.id ?? []));
    const allocations = [...ids].map((invoiceId) => ({ invoiceId, amount: '1.00' }));
    const paid = { clientId: world.idOf('Client'), amount: '20.00', currency: 'USD', paymentDate: '2026-11-01' };
    const attributes = { ...paid, method: 'CHECK', source: 'MANUAL', allocations };
    await write('Payment', { systemRef: `payment-${world.bodies.next()}`, attributes });
  },
  async function correctPayment() {
    const payment = recentOf('Payment');
    const invoiceId = recentOf('Invoice', 8)?.id;
    const others = invoiceId === undefined ? [] : [{ allocations: [{ invoiceId, amount: '2.00' }] }];
    const corrections = [{ allocations: [] }, { refundedAmount: '1.00' }, { status: 'VOIDED' }, { status: 'RETURNED' }];
    const attributes = oneOf<object>([...corrections, ...others]);
    if (payment !== undefined && attributes !== undefined) await change('Payment', payment.systemRef, attributes);
  },
  async function deleteAny() {
    const type = oneOf(deleted);
    const systemRef = type === undefined ? undefined : recentOf(type, 8)?.systemRef;
    if (systemRef !== undefined) await send('DELETE', '/api/v1/records', { records: [{ type, systemRef }] });
  },
  async function callAny() {
    const door = oneOf(operations);
    await door?.send([door.body(random.chance(0.5) ? onlyRequired : values)]);
  },
  async function mergeSome() {
    const [from, into] = [recentOf('Client', 8), recentOf('Client', 8)];
    if (from === undefined || into === undefined || !random.chance(0.15)) return;
    await send('POST', '/api/v1/clients/merge', { from: [from.id], into: into.id });
  },
];

test('whatever many callers write at the same time, no call fails, the books are consistent, and events tell what reads show', {
  timeout: 3_600_000,
}, async () => {
  let left = actCount;
  const write = async () => {
    while (left > 0) {
      left -= 1;
      if (left % 1_000 === 0) console.log(`${left} acts left`);
      await oneOf(acts)?.();
    }
  };
  await Promise.all(Array.from({ length: writers }, write));

  expect(responses.get(200)).toBeGreaterThan(actCount / 2);
  const broken = await store.read(tenant.id, async (session) => [
    ...(await findBreaches(session, tenant.id)),
    ...(await differencesOf(session, tenant.id)),
  ]);
  expect(broken).toEqual([]);
  expect(await mirrorDifferences(await service.signIn({ roles: mirrorRoles }))).toEqual([]);
  expect((await new Reads(service, world, random).readAll(20)).wrong).toEqual([]);
  expect(await violationsOf(service.service)).toEqual([]);
  expect((await checkRows(service, { tenant: tenant.name, after: null })).findings).toEqual([]);
  for (const type of money) expect(recent.get(type), type).not.toHaveLength(0);
});
