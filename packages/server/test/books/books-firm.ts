import type { firm } from '../modules/billing.ts';
import { type Cents, cents } from './cents.ts';
import type { WalkCurrency } from './requests.ts';

/** Who works with the books. */
export type BooksCallers = Pick<Awaited<ReturnType<typeof firm>>, 'preparer' | 'approver' | 'records'>;

/** The clients, jobs and staff of a walk. */
export interface BooksFirm {
  readonly number: number;
  readonly orgRef: string;
  readonly staffId: string;
  readonly clientIds: readonly string[];
  readonly jobIds: readonly string[];
  /** A client, and its job, that only scenarios use, so that they can be settled. */
  readonly quietClientId: string;
  readonly quietJobId: string;
  readonly clientOfJob: ReadonlyMap<string, string>;
  readonly groupOfClient: ReadonlyMap<string, string>;
  readonly taskOfJob: ReadonlyMap<string, string>;
  /** The fees of jobs, in cents. */
  readonly feeOfJob: ReadonlyMap<string, Cents>;
  readonly statusOfJob: ReadonlyMap<string, string>;
  readonly statusOfClient: ReadonlyMap<string, string>;
  readonly currency: WalkCurrency;
  /** The largest rest that can be settled, in cents. */
  readonly settleWithin: Cents;
}

let created = 0;

/**
 * Creates two clients of one group, the first of them with two jobs, a client without a group, and a quiet one. The first job
 * has a fixed fee, and the last busy one a task. Opens the books of the tenant, which earlier walks may have closed.
 */
export async function createBooksFirm(
  { preparer, records }: Pick<BooksCallers, 'preparer' | 'records'>,
  hourlyRate: string,
): Promise<BooksFirm> {
  const number = ++created;
  const create = async (all: readonly { readonly type: string; readonly attributes: object }[]) =>
    (await records.upsert(all)).map(({ id, attributes, error }) => {
      if (id == null || error !== null) throw new Error(`A row of the firm was not created: ${JSON.stringify(error)}`);
      return { id, status: String(attributes?.status) };
    });
  const billing = { isBillable: true, billingMethod: 'HOURLY' };
  const [group, staffType, taskType] = await create([
    { type: 'ClientGroup', attributes: { name: `Group ${number}` } },
    { type: 'StaffType', attributes: { name: `T ${number}`, code: `T${number}`, rank: 2, isBillable: true } },
    { type: 'TaskType', attributes: { displayName: `Type ${number}`, code: `TT${number}`, ...billing } },
  ]);
  const groups = [group?.id ?? null, group?.id ?? null, null, null];
  const statuses = ['PROSPECT', 'ACTIVE', 'INACTIVE', number % 2 === 0 ? 'ACTIVE' : 'PROSPECT'];
  const clients = await create(
    groups.map((clientGroupId, place) => ({
      type: 'Client',
      attributes: { name: `Client ${number}-${place}`, clientGroupId, status: statuses[place], currency },
    })),
  );
  const owners = [0, 0, 1, 2, 3].map((place) => clients[place]?.id ?? '');
  const fee = { billingType: 'FIXED_FEE', feeAmount: '2000.00' };
  const jobs = await create(
    owners.map((clientId, place) => ({
      type: 'Job',
      attributes: {
        ...{ name: 'Return 2026', clientId, status: 'PLANNED' },
        ...(place === 0 ? fee : { billingType: 'TIME_AND_MATERIALS' }),
      },
    })),
  );
  const jobIds = jobs.map(({ id }) => id);
  const [busyJobs, quietJobId] = [jobIds.slice(0, -1), jobIds.at(-1) ?? ''];
  const [first, last] = [busyJobs[0] ?? '', busyJobs.at(-1) ?? ''];
  const [task] = await create([
    { type: 'Task', attributes: { name: 'Task', jobId: last, taskTypeId: taskType?.id, sequence: 0 } },
  ]);
  const staffId = await createStaff({ preparer }, { number, staffTypeId: staffType?.id ?? '', jobIds, hourlyRate });
  return {
    number,
    orgRef: await openOrg({ preparer, records }),
    staffId,
    clientIds: clients.slice(0, -1).map(({ id }) => id),
    jobIds: busyJobs,
    quietClientId: clients.at(-1)?.id ?? '',
    quietJobId,
    clientOfJob: new Map(jobIds.map((id, place) => [id, owners[place] ?? ''])),
    groupOfClient: new Map(clients.map(({ id }, place) => [id, groups[place] ?? id])),
    taskOfJob: new Map([[last, task?.id ?? '']]),
    feeOfJob: new Map([[first, cents(fee.feeAmount)]]),
    statusOfJob: new Map(jobs.map(({ id, status }) => [id, status])),
    statusOfClient: new Map(clients.map(({ id, status }) => [id, status])),
    currency,
    settleWithin: cents(settleWithin),
  };
}

/** The currency of all clients, until a walk changes it. */
const currency = 'USD';
/** Some invoices of a walk are smaller. */
const settleWithin = '25.00';

/** Creates the person who works on all jobs, at one rate in whatever currency a job is. */
async function createStaff(
  { preparer }: Pick<BooksCallers, 'preparer'>,
  { number, staffTypeId, jobIds, hourlyRate }: StaffOfJobs,
): Promise<string> {
  const rates = { billingRate: '1.00', averageRate: '1.00', currency, effectiveFromDate: '2020-01-01' };
  const name = { staffRef: `B-${number}`, firstName: 'B', lastName: 'B', email: `b${number}@firm.example` };
  const { body } = await preparer.handle('createStaff', {
    body: { ...name, staffTypeId, isBillable: true, rateCardAssignment: rates },
  });
  const rate = { staffId: body.id, role: 'PREPARER', billingRateOverride: hourlyRate };
  const staffJobAssignments = jobIds.map((jobId) => ({ ...rate, jobId }));
  const assigned = await preparer.call('POST', '/api/v1/projects/assign_staff', { staffJobAssignments });
  if (assigned.status !== 200) throw new Error(JSON.stringify(assigned.body));
  return body.id;
}

interface StaffOfJobs {
  readonly number: number;
  readonly staffTypeId: string;
  readonly jobIds: readonly string[];
  readonly hourlyRate: string;
}

/** Opens all periods of the tenant's only org, and lets it settle small rests. */
async function openOrg({ preparer, records }: Pick<BooksCallers, 'preparer' | 'records'>): Promise<string> {
  const { body } = await preparer.call<{
    data: { systemRef: string; booksClosedThrough: string | null; settleWithin: string }[];
  }>('POST', '/gql/v1/orgs', {});
  const [org] = body.data;
  if (org === undefined) throw new Error('The tenant has no org.');
  const attributes = {
    settleWithin,
    ...(org.booksClosedThrough !== null && { booksClosedThrough: null, changeReason: 'Another walk' }),
  };
  if (org.booksClosedThrough !== null || org.settleWithin !== settleWithin)
    await records.update([{ type: 'Org', systemRef: org.systemRef, attributes }]);
  return org.systemRef;
}
