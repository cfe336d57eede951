import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { only, recordsOf, type WriteItem } from '../../../test/modules/records.ts';
import { failureOf, firmOf, operationsOf, unknownId } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';
import { setTenantSetting } from '../../operator/tenant-settings.ts';

const service = await sharedService();
const firm = firmOf(service);
const { getTask, searchTasks, searchTaskTypes, listTaskTypes, getJob, getProject, removeStaff } = operationsOf(service);
const { upsert, update, remove, make } = recordsOf(service);

const taskTypeId = await firm.taskType();
const newTask = async (fields: object = {}) => firm.task({ taskTypeId, ...fields });
const write = async (id: string, attributes: object): Promise<WriteItem> =>
  only(await update([{ type: 'Task', systemRef: id, attributes }]));
async function move(id: string, ...states: string[]): Promise<WriteItem | undefined> {
  return (await update(states.map((status) => ({ type: 'Task', systemRef: id, attributes: { status } })))).at(-1);
}
const toCompleted = ['IN_PROGRESS', 'IN_REVIEW', 'COMPLETED'];
const assignmentsTo = (taskId: string) =>
  firm.rows<{ staffId: string; active: boolean }>(sql`
    select staff_id as "staffId", active from staff_task_assignment where task_id = ${taskId} order by id`);

describe('listTaskTypes', () => {
  test('returns every task type, including inactive ones, by display name ignoring case', async () => {
    const names = ['zebra', 'Ärger', 'apple', 'Zebra', 'Apple', '10', 'éclair'];
    for (const displayName of names)
      await make(
        'TaskType',
        { displayName, code: `L-${displayName}`, isBillable: true, billingMethod: 'FIXED' },
        displayName,
      );
    await remove([{ type: 'TaskType', systemRef: 'apple' }]);
    const { status, body } = await listTaskTypes();
    expect(status).toBe(200);
    expect(body).toMatchObject({ page: 0, hasMore: false, nextCursor: null });
    const listed = body.data.map((row) => String(row.displayName)).filter((name) => names.includes(name));
    // By code point after case folding, and by creation if equal.
    expect(listed).toEqual(['10', 'apple', 'Apple', 'zebra', 'Zebra', 'Ärger', 'éclair']);
    expect(body.data.find((row) => row.displayName === 'apple')).toMatchObject({ active: false });
  });

  test('returns more rows than a page of other lists can contain', async () => {
    await firm.change(sql`
      insert into task_type (tenant_id, id, system_ref, display_name, code, is_billable, billing_method)
      select ${service.tenant.id}, uuidv7(), 'many-' || n, 'Many ' || n, 'M' || n, true, 'FIXED' from generate_series(1, 1200) n`);
    expect((await listTaskTypes()).body.data.length).toBeGreaterThan(1200);
    await firm.change(sql`update task_type set active = false where display_name like 'Many %'`);
  });

  test('requires TASK_R, and accepts no query parameters', async () => {
    const stranger = await service.signIn({ roles: ['JOB_R'] });
    expect(await failureOf(operationsOf(stranger).listTaskTypes())).toEqual([403, 'FORBIDDEN']);
    expect((await failureOf(service.call('GET', '/v1/task-types?page=1'))).slice(0, 2)).toEqual([
      400,
      'VALIDATION_ERROR',
    ]);
  });
});

describe('searchTaskTypes', () => {
  test('filters by columns and sorts', async () => {
    const serviceLine = await make('ServiceLine', { name: 'Audit', code: 'AUD' });
    const settings = { isBillable: false, billingMethod: 'NON_BILLABLE', serviceLineId: serviceLine.id };
    for (const [displayName, code] of [
      ['Planning', 'S2'],
      ['Fieldwork', 'S1'],
    ])
      await make('TaskType', { displayName, code, ...settings });
    const where = { serviceLineId: { _eq: serviceLine.id }, billingMethod: { _eq: 'NON_BILLABLE' } };
    const codes = async (orderBy: object[]) =>
      (await searchTaskTypes({ where, orderBy })).body.data.map((row) => row.code);
    expect(await codes([{ displayName: 'asc' }])).toEqual(['S1', 'S2']);
    expect(await codes([{ code: 'desc' }])).toEqual(['S2', 'S1']);
  });
});

describe('getTask and searchTasks', () => {
  test('return a task with its complete type, and summaries of its job and assignee', async () => {
    const person = await firm.person();
    const id = await newTask({ assigneeId: person.id, description: 'Look twice' });
    const { body, headers } = await getTask(id);
    const [type] = (await listTaskTypes()).body.data.filter((row) => row.id === taskTypeId);
    const job = (await getJob(String(body.jobId))).body;
    expect(body).toMatchObject({
      taskType: type,
      job: { id: job.id, jobRef: job.jobRef, name: job.name },
      assignee: { id: person.id, displayName: person.displayName },
      actualHours: '0.00',
      priority: 'NORMAL',
    });
    expect(headers.get('etag')).toMatch(/-1"$/);
    const where = { assignee: { email: { _eq: person.email } }, job: { status: { _eq: 'PLANNED' } } };
    expect((await searchTasks({ where })).body.data).toEqual([body]);
    expect((await searchTasks({ where: { ...where, taskType: { code: { _eq: 'none' } } } })).body.data).toEqual([]);
    expect(await failureOf(getTask(unknownId))).toEqual([404, 'NOT_FOUND']);
  });

  test('sort by due date, with null last', async () => {
    const jobId = await firm.job();
    const dates = ['2026-05-01', null, '2026-04-01'];
    for (const [sequence, dueDate] of dates.entries()) await newTask({ jobId, dueDate, sequence });
    const sorted = async (orderBy: object[]) =>
      (await searchTasks({ where: { jobId: { _eq: jobId } }, orderBy })).body.data.map((row) => row.sequence);
    expect(await sorted([{ dueDate: 'asc' }])).toEqual([2, 0, 1]);
    expect(await sorted([{ dueDate: 'desc_nulls_last' }])).toEqual([0, 2, 1]);
    expect(await sorted([{ dueDate: 'desc' }])).toEqual([0, 2, 1]);
    expect(await sorted([{ sequence: 'desc' }])).toEqual([2, 1, 0]);
  });

  test('require TASK_R', async () => {
    const stranger = operationsOf(await service.signIn({ roles: ['JOB_R'] }));
    for (const response of [stranger.getTask(unknownId), stranger.searchTasks(), stranger.searchTaskTypes()])
      expect(await failureOf(response)).toEqual([403, 'FORBIDDEN']);
  });
});

describe('records of the type Task', () => {
  test('create a task that is billable like its type, unless specified otherwise', async () => {
    const free = await firm.taskType({ isBillable: false });
    const ids = [
      await newTask(),
      await newTask({ taskTypeId: free }),
      await newTask({ taskTypeId: free, isBillable: true }),
    ];
    const tasks = await Promise.all(ids.map(async (id) => (await getTask(id)).body.isBillable));
    expect(tasks).toEqual([true, false, true]);
  });

  test('reject missing and invalid fields', async () => {
    const jobId = await firm.job();
    const base = { name: 'X', jobId, taskTypeId, sequence: 0 };
    const items = await upsert(
      [
        { name: 'X', jobId, taskTypeId },
        { name: 'X', jobId, sequence: 0 },
        { ...base, jobId: unknownId },
        { ...base, assigneeId: unknownId },
        { ...base, status: 'COMPLETED' },
        { ...base, sequence: -1 },
        { ...base, budgetHours: '-1.00' },
        { ...base, actualHours: '1.00' },
        { ...base, job: { id: jobId } },
      ].map((attributes) => ({ type: 'Task', attributes })),
    );
    expect(items.map(({ error }) => `${error?.code} ${error?.pointer?.split('/').at(-1)}`)).toEqual([
      'VALIDATION_ERROR sequence',
      'VALIDATION_ERROR taskTypeId',
      'REFERENCE_NOT_FOUND jobId',
      'REFERENCE_NOT_FOUND assigneeId',
      'INVALID_STATE status',
      'VALIDATION_ERROR sequence',
      'VALIDATION_ERROR budgetHours',
      'VALIDATION_ERROR actualHours',
      'VALIDATION_ERROR job',
    ]);
  });

  test('move a task through its states, and record when it was completed', async () => {
    const id = await newTask();
    expect((await move(id, 'COMPLETED'))?.error?.detail).toMatch(/NOT_STARTED.*IN_PROGRESS or CANCELLED/);
    const done = await move(id, 'IN_PROGRESS', 'WAITING', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED');
    expect(done?.attributes).toMatchObject({ status: 'COMPLETED', completedAt: expect.any(String) });
    expect((await move(id, 'IN_PROGRESS'))?.attributes).toMatchObject({ completedAt: null });
    expect((await move(id, 'CANCELLED'))?.attributes).toMatchObject({ completedAt: null });
  });

  test('reject moving a task to another job', async () => {
    const id = await newTask();
    const other = await firm.job();
    expect((await write(id, { jobId: other })).error).toMatchObject({
      code: 'INVALID_STATE',
      pointer: expect.stringMatching(/jobId$/),
    });
  });

  test('neither create nor reopen a task on a closed job', async () => {
    const jobId = await firm.job();
    const [open, done, gone] = [await newTask({ jobId }), await newTask({ jobId }), await newTask({ jobId })];
    await move(done, ...toCompleted);
    await remove([{ type: 'Task', systemRef: gone }]);
    await update([{ type: 'Job', systemRef: jobId, attributes: { status: 'CANCELLED' } }]);
    const attributes = { name: 'New', jobId, taskTypeId, sequence: 0 };
    const failures = [
      only(await upsert([{ type: 'Task', attributes }])),
      await write(done, { status: 'IN_PROGRESS' }),
      only(await upsert([{ type: 'Task', systemRef: gone, attributes: {} }])),
    ];
    for (const { error } of failures)
      expect(error).toMatchObject({ code: 'INVALID_STATE', detail: expect.stringContaining('The job is CANCELLED') });
    expect(await write(open, { status: 'CANCELLED' })).toMatchObject({ status: 'UPDATED' });
  });

  test('assign the assignee to the task and to its job', async () => {
    const [first, second] = [await firm.person(), await firm.person()];
    const jobId = await firm.job();
    const id = await newTask({ jobId, assigneeId: first.id });
    await write(id, { assigneeId: second.id });
    expect((await assignmentsTo(id)).map((one) => one.staffId)).toEqual([first.id, second.id]);
    const people = (await getProject(jobId)).body.staffAssignments as { staffId: string; role: string }[];
    expect(people.map(({ staffId, role }) => [staffId, role])).toEqual([
      [first.id, 'OTHER'],
      [second.id, 'OTHER'],
    ]);
    // The first one is the assignee again when the other one leaves the job.
    await removeStaff({ staffJobAssignments: [{ staffId: second.id, jobId }] });
    expect((await getTask(id)).body.assigneeId).toBe(first.id);
    expect(await write(id, { assigneeId: null })).toMatchObject({ status: 'UPDATED' });
    expect((await assignmentsTo(id)).filter((one) => one.active)).toHaveLength(1);
  });

  test('reject a terminated assignee', async () => {
    const left = await firm.person({ status: 'TERMINATED' });
    const { error } = await write(await newTask(), { assigneeId: left.id });
    expect(error).toMatchObject({ code: 'INVALID_STATE', pointer: '/records/0/attributes/assigneeId' });
  });

  test('end the assignments to a deactivated task, and create them again when it is reactivated', async () => {
    const person = await firm.person();
    const id = await newTask({ assigneeId: person.id });
    await remove([{ type: 'Task', systemRef: id }]);
    expect(await assignmentsTo(id)).toEqual([{ staffId: person.id, active: false }]);
    await upsert([{ type: 'Task', systemRef: id, attributes: {} }]);
    expect((await assignmentsTo(id)).map((one) => one.active)).toEqual([false, true]);
  });

  test('add an audit row and an event with the changed fields', async () => {
    const id = await newTask();
    await move(id, 'IN_PROGRESS');
    await remove([{ type: 'Task', systemRef: id }]);
    const { audit, events } = await firm.trace(id);
    expect(audit).toHaveLength(3);
    expect(events.map(({ operation, changedFields }) => [operation, changedFields])).toEqual([
      ['CREATE', []],
      ['UPDATE', ['status']],
      ['DELETE', ['active']],
    ]);
  });

  test('keep the version of a task when its job, type or assignee is renamed', async () => {
    const person = await firm.person();
    const jobId = await firm.job();
    const id = await newTask({ jobId, assigneeId: person.id });
    const { version } = (await getTask(id)).body;
    await update([{ type: 'Job', systemRef: jobId, attributes: { name: 'Renamed' } }]);
    await update([{ type: 'Staff', systemRef: person.systemRef, attributes: { lastName: 'Renamed' } }]);
    expect((await getTask(id)).body).toMatchObject({
      version,
      job: { name: 'Renamed' },
      assignee: { displayName: 'Ada Renamed' },
    });
  });
});

describe('a tenant that reviews jobs when all tasks are completed', async () => {
  const tenant = await service.addTenant('reviewer');
  await setTenantSetting(service, { tenant: tenant.name, setting: 'reviewCompletedJobs', value: 'on' });
  const reviewer = await service.signIn({ roles: ['API_ADMIN'], tenant });
  const own = firmOf({ ...service, ...reviewer, tenant });
  const records = recordsOf(reviewer);
  const set = (type: string, id: string, ...states: string[]) =>
    records.update(states.map((status) => ({ type, systemRef: id, attributes: { status } })));
  const statusOf = async (jobId: string) => (await operationsOf(reviewer).getJob(jobId)).body.status;

  test('moves a job in progress to review with its last task, also if two tasks are completed concurrently', async () => {
    const jobId = await own.job();
    const tasks = [await own.task({ jobId }), await own.task({ jobId }), await own.task({ jobId })];
    await set('Job', jobId, 'READY', 'IN_PROGRESS');
    await set('Task', tasks[0] ?? '', 'CANCELLED');
    for (const id of tasks.slice(1)) await set('Task', id, 'IN_PROGRESS', 'IN_REVIEW');
    expect(await statusOf(jobId)).toBe('IN_PROGRESS');
    await Promise.all(tasks.slice(1).map((id) => set('Task', id, 'COMPLETED')));
    expect(await statusOf(jobId)).toBe('IN_REVIEW');
    const { events } = await own.trace(jobId);
    expect(events.at(-1)).toMatchObject({ operation: 'UPDATE', changedFields: ['status'] });
  });

  test('moves a job to review when its last open task is deleted', async () => {
    const jobId = await own.job();
    const [done, open] = [await own.task({ jobId }), await own.task({ jobId })];
    await set('Job', jobId, 'READY', 'IN_PROGRESS');
    await set('Task', done, 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED');
    await records.remove([{ type: 'Task', systemRef: open }]);
    expect(await statusOf(jobId)).toBe('IN_REVIEW');
  });

  test('does not move a job that is not in progress, or whose tasks were all cancelled', async () => {
    const [planned, cancelled] = [await own.job(), await own.job()];
    await set('Job', cancelled, 'READY', 'IN_PROGRESS');
    await set('Task', await own.task({ jobId: planned }), 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED');
    await set('Task', await own.task({ jobId: cancelled }), 'CANCELLED');
    expect([await statusOf(planned), await statusOf(cancelled)]).toEqual(['PLANNED', 'IN_PROGRESS']);
  });
});
