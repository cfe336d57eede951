import { describe, expect, test } from 'vitest';
import { type PlanNode, plansOf } from '../../../test/explain.ts';
import { firmOf, type Row, timeOf, unique } from '../../../test/modules/time.ts';
import { sharedService } from '../../../test/service.ts';
import { setTenantSetting } from '../../operator/tenant-settings.ts';
import { anyPageReader } from '../../query/read.ts';
import { timeEntry } from './time-entry.ts';

const base = await sharedService();
const tenant = await base.addTenant('recording');
await setTenantSetting(base, { tenant: tenant.name, setting: 'timeApproval', value: 'off' });
const service = { ...base, ...(await base.signIn({ roles: ['API_ADMIN'], tenant })) };
const firm = await firmOf(service);
const work = timeOf(service);

const staffId = await firm.person();
const clientId = await firm.client({ name: 'Solvik' });
const jobId = await firm.job({ clientId });
const otherJobId = await firm.job();
const taskId = await firm.task(jobId, { name: 'Review' });

/** Entries in each state of their work in progress, by systemRef. */
const time = { staffId, workDate: '2026-03-02', hours: '1.00' };
await work.time('draft', { ...time, jobId, taskId });
await work.time('time-off', { ...time, code: await firm.nonWorkCode() });
for (const [ref, job] of [
  ['open', jobId],
  ['billed', otherJobId],
  ['written-off', otherJobId],
] as const) {
  const item = await work.time(ref, { ...time, jobId: job, description: `Work ${ref}`, status: 'SUBMITTED' });
  if (item.status !== 'CREATED') throw new Error(JSON.stringify(item));
}
const idOf = new Map((await search({})).map((row) => [String(row.systemRef), row.id]));
const [toWriteOff] = await work.wip({ timeEntryId: { _eq: idOf.get('written-off') } });
const writeOff = { systemRef: toWriteOff?.systemRef, type: 'WipEntry' };
await service.call('PUT', '/api/v1/records', {
  records: [{ ...writeOff, attributes: { writeOffAmount: '100.00', writeOffReason: 'Not collectable' } }],
});
await bill('billed');

async function bill(ref: string): Promise<void> {
  const [row] = await work.wip({ timeEntryId: { _eq: idOf.get(ref) } });
  const systemRef = unique('draft');
  const lines = [
    {
      lineType: 'TIME',
      jobId: otherJobId,
      wipIds: [row?.id],
      description: 'Work',
      quantity: '1',
      unitAmount: '100.00',
      taxable: false,
    },
  ];
  const attributes = {
    clientId: firm.clientId,
    billThroughDate: '2026-03-31',
    proposedInvoiceDate: '2026-03-31',
    dueDate: '2026-04-30',
    lines,
  };
  const { status, body } = await service.call('POST', '/api/v1/records', {
    records: [{ type: 'DraftInvoice', systemRef, attributes }],
  });
  if (status !== 200 || !JSON.stringify(body).includes('CREATED')) throw new Error(JSON.stringify(body));
}

async function search(request: object, path = '/gql/v1/time_entries/search'): Promise<readonly Row[]> {
  const { status, body } = await service.call<{ data: Row[] }>('POST', path, request);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data;
}

async function refsWhere(where: object): Promise<readonly unknown[]> {
  return (await search({ where })).map(({ systemRef }) => systemRef).toSorted();
}

describe('searchTimeEntries', () => {
  test.each([
    [{ staff: { id: { _eq: staffId } } }, ['billed', 'draft', 'open', 'time-off', 'written-off']],
    [{ job: { id: { _eq: otherJobId } } }, ['billed', 'written-off']],
    [{ task: { name: { _eq: 'Review' } } }, ['draft']],
    [{ client: { name: { _eq: 'Solvik' } } }, ['draft', 'open']],
    [{ _not: { client: { name: { _eq: 'Solvik' } } } }, ['billed', 'time-off', 'written-off']],
    [{ client: {} }, ['billed', 'draft', 'open', 'written-off']],
    [{ _or: [{ client: { name: { _eq: 'Solvik' } } }, { jobId: { _is_null: true } }] }, ['draft', 'open', 'time-off']],
  ])('matches the entries where %j', async (where, refs) => {
    expect(await refsWhere(where)).toEqual(refs);
  });

  test('filters by what it returns of the work in progress', async () => {
    const rows = await search({});
    expect(rows.filter(({ isLocked }) => isLocked === true)).toHaveLength(2);
    for (const column of ['wipId', 'invoiceId', 'lockReason'])
      for (const value of new Set(rows.map((row) => row[column]))) {
        const where = value === null ? { _is_null: true } : { _eq: value };
        const expected = rows.filter((row) => row[column] === value).map(({ systemRef }) => systemRef);
        expect(await refsWhere({ [column]: where }), `${column} ${value}`).toEqual(expected.toSorted());
      }
  });

  const matches = {
    _eq: (value: boolean, operand: unknown) => value === operand,
    _neq: (value: boolean, operand: unknown) => value !== operand,
    _in: (value: boolean, operand: unknown) => Array.isArray(operand) && operand.includes(value),
    _nin: (value: boolean, operand: unknown) => Array.isArray(operand) && !operand.includes(value),
    _is_null: (_value: boolean, operand: unknown) => operand === false,
  };
  test('filters by isLocked with every operator and its negation', async () => {
    const rows = await search({});
    for (const [operator, holds] of Object.entries(matches))
      for (const operand of operator.endsWith('in') ? [[true], [false], [true, false], []] : [true, false]) {
        const condition = { isLocked: { [operator]: operand } };
        const [matching, others] = [true, false].map((expected) =>
          rows
            .filter(({ isLocked }) => holds(isLocked === true, operand) === expected)
            .map(({ systemRef }) => systemRef)
            .toSorted(),
        );
        expect(await refsWhere(condition), JSON.stringify(condition)).toEqual(matching);
        expect(await refsWhere({ _not: condition }), `not ${JSON.stringify(condition)}`).toEqual(others);
      }
  });

  test('returns null for rates to a caller without RATE_R', async () => {
    const caller = await base.signIn({ roles: ['TIME_R'], tenant });
    const { body } = await caller.call<{ data: Row[] }>('POST', '/gql/v1/time_entries/search', {
      where: { systemRef: { _eq: 'open' } },
    });
    expect(body.data).toMatchObject([{ billingRate: null, amount: '100.00' }]);
  });
});

test('getTimeEntry returns a new ETag when its work in progress is locked', async () => {
  const read = () => service.call<Row>('GET', `/gql/v1/time_entry/${idOf.get('open')}`);
  const before = await read();
  expect(before.body).toMatchObject({ systemRef: 'open', isLocked: false });
  const [row] = await work.wip({ timeEntryId: { _eq: idOf.get('open') } });
  await service.call('PUT', '/api/v1/records', {
    records: [
      {
        type: 'WipEntry',
        systemRef: row?.systemRef,
        attributes: { writeOffAmount: '100.00', writeOffReason: 'Not collectable' },
      },
    ],
  });
  const after = await read();
  expect(after.body).toMatchObject({ isLocked: true });
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
});

test('searchExpenseEntries matches by client, and by billable amount under its name `amount`', async () => {
  const code = await firm.expenseCode();
  const expense = { staffId, jobId, code, expenseDate: '2026-03-02', description: 'Courier', cost: '40.00' };
  await work.expense('courier', { ...expense, billableAmount: '42.00' });
  const where = { client: { name: { _eq: 'Solvik' } }, amount: { _eq: '42.00' }, isLocked: { _eq: false } };
  const [row] = await search({ where }, '/gql/v1/expense_entries/search');
  expect(row).toMatchObject({ systemRef: 'courier', amount: '42.00', wipId: null });
  const { status, body } = await service.call('GET', `/gql/v1/expense_entry/${row?.id}`);
  expect({ status, body }).toMatchObject({ status: 200, body: row });
});

test('a page by number calculates the values of its own rows only, and not of those before it', async () => {
  const records = Array.from({ length: 60 }, (_, index) => ({
    type: 'TimeEntry',
    systemRef: `many-${index}`,
    attributes: {
      staffId,
      code: null,
      isBillable: false,
      workDate: `2026-01-${1 + (index % 28)}`.replace(/-(\d)$/, '-0$1'),
      hours: '0.50',
    },
  }));
  expect((await work.entries(records)).every(({ status }) => status === 'CREATED')).toBe(true);
  const scope = { tenantId: service.tenant.id, holds: () => true, vault: service.service.vault } as const;
  const reader = anyPageReader({ ...scope, name: 'x', paging: 'number', location: 'body' }, timeEntry, {
    page: 50,
    pageSize: 1,
  });
  const plans = await service.store.read(service.tenant.id, (session) => plansOf(session, reader.run));
  // The JSON of a row is a subplan, and each of its values that is read elsewhere is one below it.
  const loops = (node: PlanNode, isInRow = node['Parent Relationship'] === 'SubPlan'): number[] => [
    ...(isInRow ? [node['Actual Loops']] : []),
    ...(node.Plans ?? []).flatMap((one) => loops(one, isInRow || undefined)),
  ];
  const calculated = plans.flatMap((plan) => loops(plan));
  expect(calculated.length).toBeGreaterThan(3);
  expect(Math.max(...calculated)).toBeLessThanOrEqual(2);
});
