import type { firm } from '../../src/modules/billing/testing.ts';
import { type Cents, cents } from './cents.ts';

/** Who works with the books. */
export type BooksCallers = Pick<
  Awaited<ReturnType<typeof firm>>,
  'preparer' | 'approver' | 'records' | 'newClient' | 'newJob'
>;

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
}

let created = 0;

/**
 * Creates two clients of one group, the first of them with two jobs, a client without a group, and a quiet one. The first job
 * has a fixed fee, and the last one a task. Opens the books of the tenant, which earlier walks may have closed.
 */
export async function createBooksFirm(
  { preparer, records, newClient, newJob }: BooksCallers,
  hourlyRate: string,
): Promise<BooksFirm> {
  const number = ++created;
  const { id: clientGroupId } = await records.make('ClientGroup', { name: `Group ${number}` });
  const staffType = { name: `T ${number}`, code: `T${number}`, rank: 2, isBillable: true };
  const { id: staffTypeId } = await records.make('StaffType', staffType);
  const rates = { billingRate: hourlyRate, averageRate: '1.00', currency: 'USD', effectiveFromDate: '2020-01-01' };
  const name = { staffRef: `B-${number}`, firstName: 'B', lastName: 'B', email: `b${number}@firm.example` };
  const staff = await preparer.handle('createStaff', {
    body: { ...name, staffTypeId, isBillable: true, rateCardAssignment: rates },
  });
  const clients = [];
  for (const [jobs, group] of [
    [2, clientGroupId],
    [1, clientGroupId],
    [1, null],
    [1, null],
  ] as const) {
    const { id } = await newClient({ clientGroupId: group });
    const jobIds = [];
    for (let job = 0; job < jobs; job++) jobIds.push(await newJob(id));
    clients.push({ id, group: group ?? id, jobIds });
  }
  const busy = clients.slice(0, -1);
  const quiet = clients.at(-1);
  const jobIds = busy.flatMap((one) => one.jobIds);
  const [first, last] = [jobIds[0] ?? '', jobIds.at(-1) ?? ''];
  const [feeAmount, billingType] = ['2000.00', 'FIXED_FEE'];
  await records.update([{ type: 'Job', systemRef: first, attributes: { billingType, feeAmount } }]);
  const type = { displayName: `Type ${number}`, code: `TT${number}`, isBillable: true, billingMethod: 'HOURLY' };
  const { id: taskTypeId } = await records.make('TaskType', type);
  const { id: taskId } = await records.make('Task', { name: 'Task', jobId: last, taskTypeId, sequence: 0 });
  const statuses = async (path: string, ids: readonly string[]) => {
    const { body } = await preparer.call<{ data: { id: string; status: string }[] }>('POST', path, {
      where: { id: { _in: ids } },
    });
    return new Map(body.data.map(({ id, status }) => [id, status]));
  };
  return {
    number,
    orgRef: await openOrg({ preparer, records }),
    staffId: staff.body.id,
    clientIds: busy.map(({ id }) => id),
    jobIds,
    quietClientId: quiet?.id ?? '',
    quietJobId: quiet?.jobIds[0] ?? '',
    clientOfJob: new Map(clients.flatMap(({ id, ...one }) => one.jobIds.map((jobId) => [jobId, id] as const))),
    groupOfClient: new Map(clients.map(({ id, group }) => [id, group])),
    taskOfJob: new Map([[last, taskId]]),
    feeOfJob: new Map([[first, cents(feeAmount)]]),
    statusOfJob: await statuses(
      '/gql/v1/projects/search',
      clients.flatMap((one) => one.jobIds),
    ),
    statusOfClient: await statuses(
      '/gql/v1/clients/search',
      clients.map(({ id }) => id),
    ),
  };
}

/** Opens all periods of the tenant's only org. */
async function openOrg({ preparer, records }: Pick<BooksCallers, 'preparer' | 'records'>): Promise<string> {
  const { body } = await preparer.call<{ data: { systemRef: string; booksClosedThrough: string | null }[] }>(
    'POST',
    '/gql/v1/orgs',
    {},
  );
  const [org] = body.data;
  if (org === undefined) throw new Error('The tenant has no org.');
  const attributes = { booksClosedThrough: null, changeReason: 'Another walk' };
  if (org.booksClosedThrough !== null) await records.update([{ type: 'Org', systemRef: org.systemRef, attributes }]);
  return org.systemRef;
}
