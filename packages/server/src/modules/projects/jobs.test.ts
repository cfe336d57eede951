import { describe, expect, test } from 'vitest';
import { only, recordsOf, type WriteItem } from '../../../test/modules/records.ts';
import { atOnce, failureOf, firmOf, operationsOf, unknownId } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const firm = firmOf(service);
const { getJob, getProject, listJobs, listProjects, listJobTemplates, searchProjects, assignStaff } =
  operationsOf(service);
const { upsert, update, remove, make } = recordsOf(service);

const clientId = await firm.client();
const newJob = (fields: object = {}) => firm.job({ clientId, ...fields });
/** Writes a job as a record, by its ID. */
const write = async (id: string, attributes: object): Promise<WriteItem> =>
  only(await update([{ type: 'Job', systemRef: id, attributes }]));
const writeTask = (id: string, attributes: object) => update([{ type: 'Task', systemRef: id, attributes }]);
/** Moves a job through these states; returns the last item. */
async function move(id: string, ...states: string[]): Promise<WriteItem> {
  const items = await update(states.map((status) => ({ type: 'Job', systemRef: id, attributes: { status } })));
  const last = items.at(-1);
  if (last === undefined) throw new Error('No state was passed.');
  return last;
}
const toCompleted = ['READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED'];
const approver = recordsOf(await service.signIn({ roles: ['API_ADMIN', 'CLNT_R'] }));
/** Bills the work in progress at an amount; the rest remains. */
async function bill(wipId: string, amount: string): Promise<void> {
  const work = { lineType: 'FIXED_FEE', description: 'Work', quantity: '1', unitAmount: amount, taxable: false };
  const { systemRef } = await make('DraftInvoice', {
    clientId,
    billThroughDate: '2026-12-31',
    proposedInvoiceDate: '2026-03-31',
    dueDate: '2026-04-30',
    lines: [{ ...work, wipIds: [wipId] }],
  });
  await update([{ type: 'DraftInvoice', systemRef, attributes: { status: 'IN_REVIEW' } }]);
  const [approved] = await approver.update([{ type: 'DraftInvoice', systemRef, attributes: { status: 'APPROVED' } }]);
  expect(approved?.error).toBeNull();
  expect(approved).toMatchObject({ status: 'UPDATED', attributes: { status: 'POSTED' } });
}
const newWip = (jobId: string, fields: object = {}) =>
  make('WipEntry', { wipType: 'FIXED_FEE', clientId, jobId, workDate: '2026-03-02', amount: '500.00', ...fields });

describe('records of the type Job', () => {
  test('create a job with a number of the year, and keep provided references', async () => {
    const year = Temporal.Now.plainDateISO(service.tenant.timeZone).year;
    const own = await make('Job', { name: 'Own', clientId, billingType: 'NON_BILLABLE' });
    const jobRef = (own.attributes as { jobRef: string }).jobRef;
    expect(jobRef).toMatch(new RegExp(`^J-${year}-\\d{5}$`));
    expect(own.attributes).toMatchObject({ pmsRef: jobRef, currency: 'USD', status: 'PLANNED', priority: 'NORMAL' });
    const provided = {
      name: 'Given',
      clientId,
      billingType: 'NON_BILLABLE',
      jobRef: 'G-1',
      pmsRef: null,
      currency: 'USD',
    };
    expect((await make('Job', provided)).attributes).toMatchObject({ jobRef: 'G-1', pmsRef: null, currency: 'USD' });
  });

  test('reject fields that are missing, duplicate, in the wrong order or not supported by the billing type', async () => {
    await make('Job', { name: 'Taken', clientId, billingType: 'NON_BILLABLE', jobRef: 'TAKEN' });
    const base = { name: 'X', clientId, billingType: 'TIME_AND_MATERIALS' };
    const wrong = [
      { name: 'X', billingType: 'NON_BILLABLE' },
      { name: 'X', clientId },
      { ...base, clientId: unknownId },
      { ...base, jobTemplateId: unknownId },
      { ...base, jobRef: 'TAKEN' },
      { ...base, pmsRef: 'TAKEN' },
      { ...base, periodStartDate: '2026-02-01', periodEndDate: '2026-01-31' },
      { ...base, startDate: '2026-02-01', dueDate: '2026-01-31' },
      { ...base, billingType: 'FIXED_FEE' },
      { ...base, billingType: 'RECURRING', feeAmount: null },
      { ...base, feeAmount: '1.00' },
      { ...base, status: 'READY' },
      { ...base, completedAt: '2026-01-01T00:00:00.000Z' },
    ];
    const items = await upsert(wrong.map((attributes) => ({ type: 'Job', attributes })));
    expect(items.map(({ error }) => `${error?.code} ${error?.pointer?.split('/').at(-1)}`)).toEqual([
      'VALIDATION_ERROR clientId',
      'VALIDATION_ERROR billingType',
      'REFERENCE_NOT_FOUND clientId',
      'REFERENCE_NOT_FOUND jobTemplateId',
      'DUPLICATE_REF jobRef',
      'DUPLICATE_REF pmsRef',
      'VALIDATION_ERROR periodEndDate',
      'VALIDATION_ERROR dueDate',
      'VALIDATION_ERROR feeAmount',
      'VALIDATION_ERROR feeAmount',
      'VALIDATION_ERROR feeAmount',
      'INVALID_STATE status',
      'VALIDATION_ERROR completedAt',
    ]);
  });

  test('change the billing type together with the fee', async () => {
    const id = await newJob();
    expect((await write(id, { billingType: 'FIXED_FEE' })).error?.pointer).toBe('/records/0/attributes/feeAmount');
    expect(await write(id, { billingType: 'FIXED_FEE', feeAmount: '900.00' })).toMatchObject({ status: 'UPDATED' });
    expect((await write(id, { billingType: 'NON_BILLABLE' })).error?.pointer).toBe('/records/0/attributes/feeAmount');
    expect(await write(id, { billingType: 'NON_BILLABLE', feeAmount: null })).toMatchObject({ status: 'UPDATED' });
    expect((await write(id, { dueDate: '2026-03-01' })).status).toBe('UPDATED');
    expect((await write(id, { startDate: '2026-03-02' })).error?.pointer).toBe('/records/0/attributes/startDate');
  });

  test('move a job through its states, and record when it was completed and closed', async () => {
    const id = await newJob();
    expect(await move(id, 'READY', 'IN_PROGRESS', 'ON_HOLD', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED')).toMatchObject({
      status: 'UPDATED',
      attributes: { status: 'COMPLETED', completedAt: expect.any(String), closedAt: null },
    });
    expect((await move(id, 'IN_PROGRESS')).attributes).toMatchObject({ completedAt: null });
    await move(id, 'IN_REVIEW', 'COMPLETED');
    const { attributes } = await move(id, 'CLOSED');
    expect(attributes).toMatchObject({ completedAt: expect.any(String), closedAt: expect.any(String) });
  });

  test('reject an undeclared transition, and list the possible ones', async () => {
    const id = await newJob();
    const { error } = await move(id, 'COMPLETED');
    expect(error).toMatchObject({ code: 'INVALID_STATE', pointer: '/records/0/attributes/status' });
    expect(error?.detail).toMatch(/PLANNED.*READY or CANCELLED/);
  });

  test('do not close a job with open tasks', async () => {
    const id = await newJob();
    const taskId = await firm.task({ jobId: id });
    await move(id, ...toCompleted);
    expect((await move(id, 'CLOSED')).error).toMatchObject({
      code: 'INVALID_STATE',
      detail: expect.stringContaining('open tasks'),
    });
    await writeTask(taskId, { status: 'CANCELLED' });
    expect(await move(id, 'CLOSED')).toMatchObject({ status: 'UPDATED' });
  });

  test('do not close a job with open work, even if a progress bill exceeds it by the same amount', async () => {
    const id = await newJob();
    const fee = await newWip(id);
    const progress = await newWip(id, { wipType: 'PROGRESS', amount: '-500.00' });
    expect((await getProject(id)).body.wipAmount).toBe('0.00');
    await move(id, ...toCompleted);
    expect((await move(id, 'CLOSED')).error).toMatchObject({
      code: 'INVALID_STATE',
      detail: expect.stringContaining('work in progress'),
    });
    expect(only(await remove([{ type: 'Job', systemRef: id }])).error).toMatchObject({ code: 'INVALID_STATE' });
    // Written off and closed in one request.
    const items = await update([
      { type: 'WipEntry', systemRef: fee.systemRef, attributes: { writeOffAmount: '500.00', writeOffReason: 'Lost' } },
      {
        type: 'WipEntry',
        systemRef: progress.systemRef,
        attributes: { writeOffAmount: '-500.00', writeOffReason: 'Lost' },
      },
      { type: 'Job', systemRef: id, attributes: { status: 'CLOSED' } },
    ]);
    expect(items.map(({ status, error }) => error?.detail ?? status)).toEqual(['UPDATED', 'UPDATED', 'UPDATED']);
    expect(only(await remove([{ type: 'Job', systemRef: id }]))).toMatchObject({ status: 'DELETED' });
  });

  test('cancel a job whose work is written off, but not one whose work is billed', async () => {
    const [written, billed] = [await newJob(), await newJob()];
    const wip = await newWip(written);
    expect((await move(written, 'CANCELLED')).error?.code).toBe('INVALID_STATE');
    await update([
      { type: 'WipEntry', systemRef: wip.systemRef, attributes: { writeOffAmount: '500.00', writeOffReason: 'X' } },
    ]);
    expect(await move(written, 'CANCELLED')).toMatchObject({ status: 'UPDATED' });
    await bill((await newWip(billed)).id, '500.00');
    expect((await move(billed, 'CANCELLED')).error).toMatchObject({
      code: 'INVALID_STATE',
      detail: expect.stringContaining('billed'),
    });
    await move(billed, ...toCompleted);
    expect(await move(billed, 'CLOSED')).toMatchObject({ status: 'UPDATED' });
  });

  test('keep client and currency of a job with work', async () => {
    const id = await newJob();
    const other = await firm.client({ currency: 'EUR' });
    expect(await write(id, { clientId: other })).toMatchObject({ status: 'UPDATED', attributes: { currency: 'EUR' } });
    await newWip(id, { clientId: other });
    expect((await write(id, { clientId })).error).toMatchObject({
      code: 'INVALID_STATE',
      detail: 'clientId cannot change once the job has work in progress. Create another one instead.',
      pointer: '/records/0/attributes/clientId',
    });
    expect((await write(id, { currency: 'USD' })).error).toMatchObject({
      code: 'VALIDATION_ERROR',
      pointer: '/records/0/attributes/currency',
    });
  });

  test('close a job and add a task concurrently: one of them is rejected', async () => {
    const taskTypeId = await firm.taskType();
    for (let round = 0; round < 5; round++) {
      const id = await newJob();
      await move(id, ...toCompleted);
      const task = { type: 'Task', attributes: { name: 'Late', jobId: id, taskTypeId, sequence: 0 } };
      const [closed, created] = await Promise.all([move(id, 'CLOSED'), upsert([task])]);
      expect([closed.status, only(created).status].sort()).toEqual(expect.arrayContaining(['FAILED']));
      expect(closed.status === 'FAILED' && only(created).status === 'FAILED').toBe(false);
    }
  });

  test('require RECORD_W and JOB_W', async () => {
    const id = await newJob();
    const writer = recordsOf(await service.signIn({ roles: ['RECORD_W', 'JOB_C'] }));
    const item = only(await writer.update([{ type: 'Job', systemRef: id, attributes: { name: 'X' } }]));
    expect(item.error).toMatchObject({ code: 'FORBIDDEN', pointer: '/records/0/type' });
  });

  test('add an audit row and an event with the changed fields', async () => {
    const id = await newJob();
    await move(id, 'READY');
    await remove([{ type: 'Job', systemRef: id }]);
    const { audit, events } = await firm.trace(id);
    expect(audit.map(({ operation }) => operation)).toEqual(['upsertRecords', 'updateRecords', 'deleteRecords']);
    expect(events.map(({ operation, changedFields }) => [operation, changedFields])).toEqual([
      ['CREATE', []],
      ['UPDATE', ['status']],
      ['DELETE', ['active']],
    ]);
  });

  test('assign different numbers to jobs that are created concurrently', async () => {
    const created = await atOnce(10, () => make('Job', { name: 'Raced', clientId, billingType: 'NON_BILLABLE' }));
    expect(new Set(created.map(({ attributes }) => (attributes as { jobRef: string }).jobRef)).size).toBe(10);
  });
});

describe('getJob, getProject and their lists', () => {
  test('return the same row, the project with its figures', async () => {
    const id = await newJob({ budgetHours: '12.00' });
    const [one, other, third] = [
      await firm.task({ jobId: id }),
      await firm.task({ jobId: id }),
      await firm.task({ jobId: id }),
    ];
    await writeTask(one, { status: 'IN_PROGRESS' });
    await writeTask(one, { status: 'IN_REVIEW' });
    await writeTask(one, { status: 'COMPLETED' });
    await writeTask(other, { status: 'CANCELLED' });
    await newWip(id, { amount: '120.00' });
    const billed = await newWip(id, { amount: '300.00' });
    await bill(billed.id, '200.00');
    const written = { writeOffAmount: '100.00', writeOffReason: 'X' };
    await update([{ type: 'WipEntry', systemRef: billed.systemRef, attributes: written }]);
    const job = await getJob(id);
    const project = await getProject(id);
    expect(project.body).toMatchObject({
      ...job.body,
      actualHours: '0.00',
      budgetRemainingHours: '12.00',
      wipAmount: '120.00',
      billedAmount: '200.00',
      writeOffAmount: '100.00',
      realizationPercent: '66.6667',
      percentComplete: '50',
      taskCounts: { NOT_STARTED: 1, IN_PROGRESS: 0, WAITING: 0, IN_REVIEW: 0, COMPLETED: 1, CANCELLED: 1 },
      client: { id: clientId, clientRef: expect.any(String), name: expect.any(String) },
      staffAssignments: [],
    });
    expect(project.body.version).toBe(job.body.version);
    await remove([{ type: 'Task', systemRef: third }]);
    expect((await getProject(id)).body).toMatchObject({ percentComplete: '100', taskCounts: { NOT_STARTED: 0 } });
    for (const list of [listJobs, listProjects]) {
      const { body } = await list({ pageSize: 1000 });
      const ids = body.data.map((row) => row.id);
      expect(ids.toSorted()).toEqual(ids);
      expect(body.data.find((row) => row.id === id)).toEqual(
        (await (list === listJobs ? getJob : getProject)(id)).body,
      );
    }
  });

  test('return inactive rows, and nothing of another tenant', async () => {
    const id = await newJob();
    await remove([{ type: 'Job', systemRef: id }]);
    expect((await getJob(id)).body.active).toBe(false);
    expect((await listJobs({ pageSize: 1000 })).body.data.map((row) => row.id)).toContain(id);
    const elsewhere = operationsOf(
      await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('other') }),
    );
    expect(await failureOf(elsewhere.getJob(id))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(elsewhere.getProject(id))).toEqual([404, 'NOT_FOUND']);
    for (const list of [
      elsewhere.listJobs,
      elsewhere.listProjects,
      elsewhere.listJobTemplates,
      elsewhere.searchProjects,
    ])
      expect((await list()).body.data).toEqual([]);
  });

  test('require JOB_R, and RATE_R for the rates of assignments', async () => {
    const stranger = operationsOf(await service.signIn({ roles: ['STAFF_R'] }));
    const id = await newJob();
    for (const response of [
      stranger.getJob(id),
      stranger.getProject(id),
      stranger.listJobs(),
      stranger.searchProjects(),
    ])
      expect(await failureOf(response)).toEqual([403, 'FORBIDDEN']);
    const { id: staffId } = await firm.person();
    await assignStaff({ staffJobAssignments: [{ staffId, jobId: id, role: 'OTHER', billingRateOverride: '90' }] });
    const rateOf = async (...roles: string[]) => {
      const reader = operationsOf(await service.signIn({ roles: ['JOB_R', ...roles] }));
      const where = { id: { _eq: id } };
      const found = [(await reader.getProject(id)).body, (await reader.searchProjects({ where })).body.data[0]];
      const assignments = found.flatMap((row) => row?.staffAssignments as { billingRateOverride: unknown }[]);
      return assignments.map((assignment) => assignment.billingRateOverride);
    };
    expect(await rateOf()).toEqual([null, null]);
    expect(await rateOf('RATE_R')).toEqual(['90', '90']);
  });

  test('listJobTemplates returns templates with their tasks, in the order of creation', async () => {
    const taskTypeId = await firm.taskType();
    const defaultStaffTypeId = await firm.staffType();
    const tasks = [{ name: 'T', taskTypeId, offsetDays: 3, budgetHours: '0.00', defaultStaffTypeId }];
    const [first, second] = [await firm.template({ tasks, name: 'Z' }), await firm.template({ name: 'A' })];
    const { data } = (await listJobTemplates({ pageSize: 1000 })).body;
    expect(data.map((row) => row.id).slice(-2)).toEqual([first, second]);
    expect(data.at(-2)).toMatchObject({ tasks });
  });
});

describe('searchProjects', () => {
  test('filters by columns of the job, its figures and its client, and sorts by figures', async () => {
    const ofSearch = await firm.client({ name: 'Searched' });
    const jobs = await Promise.all(
      ['10.00', '300.00', '20.00'].map(async (budgetAmount) => firm.job({ clientId: ofSearch, budgetAmount })),
    );
    await newWip(jobs[0] ?? '', { clientId: ofSearch, amount: '7.00' });
    const where = { client: { name: { _eq: 'Searched' } } };
    const found = async (body: object) => (await searchProjects(body)).body.data.map((row) => jobs.indexOf(row.id));
    expect(await found({ where, orderBy: [{ budgetAmount: 'desc' }] })).toEqual([1, 2, 0]);
    expect(await found({ where: { ...where, wipAmount: { _gt: '0' } } })).toEqual([0]);
    expect(
      await found({ where: { ...where, budgetAmount: { _lt: '21.5' } }, orderBy: [{ budgetAmount: 'asc' }] }),
    ).toEqual([0, 2]);
    const { body } = await searchProjects({ where, pageSize: 1, includeTotal: true });
    expect(body.total).toBe(3);
  });
});
