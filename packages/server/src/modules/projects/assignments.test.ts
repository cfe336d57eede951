import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../../test/modules/records.ts';
import { atOnce, failureOf, firmOf, operationsOf, unknownId } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const firm = firmOf(service);
const { assignStaff, removeStaff, getProject, getTask, updateStaff, searchProjects } = operationsOf(service);
const { update, remove } = recordsOf(service);
const assigner = operationsOf(await service.signIn({ roles: ['JOB_ASGN'] }));

const taskTypeId = await firm.taskType();
const clientId = await firm.client();
const newJob = () => firm.job({ clientId });
const newTask = (jobId: string, fields: object = {}) => firm.task({ jobId, taskTypeId, ...fields });

const toJob = (staffId: string, jobId: string, fields: object = {}) => ({
  staffJobAssignments: [{ staffId, jobId, role: 'PREPARER', ...fields }],
});
const toTask = (staffId: string, taskId: string, fields: object = {}) => ({
  staffTaskAssignments: [{ staffId, taskId, ...fields }],
});
/** The people on a job: person and role. */
const onJob = async (jobId: string) =>
  ((await getProject(jobId)).body.staffAssignments as { staffId: string; role: string }[]).map(
    ({ staffId, role }) => `${staffId} ${role}`,
  );
/** The people on a task. */
const onTask = async (taskId: string) =>
  (
    await firm.rows<{ staffId: string }>(sql`
      select staff_id as "staffId" from staff_task_assignment where task_id = ${taskId} and active order by id`)
  ).map((row) => row.staffId);

describe('assignStaff', () => {
  test('rejects the 101st active assignment to a job, also concurrently', async () => {
    const jobId = await newJob();
    const people = await Promise.all(Array.from({ length: 34 }, () => firm.person()));
    const entries = ['PREPARER', 'REVIEWER', 'OTHER'].flatMap((role) =>
      people.map(({ id: staffId }) => ({ staffId, jobId, role })),
    );
    const assign = (from: number, to?: number) => assignStaff({ staffJobAssignments: entries.slice(from, to) });
    expect((await assign(0, 99)).status).toBe(200);
    const responses = await atOnce(2, (index) => assign(99 + index, 100 + index));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(responses.find(({ status }) => status === 400)?.body).toMatchObject({
      errors: [
        {
          pointer: '/staffJobAssignments/0/jobId',
          code: 'VALIDATION_ERROR',
          detail: 'The job must have at most 100 active assignments. Remove one first.',
        },
      ],
    });
    expect(await onJob(jobId)).toHaveLength(100);
    const [first] = people;
    expect((await removeStaff(toJob(first?.id ?? '', jobId))).status).toBe(200);
    expect((await assign(101, 102)).status).toBe(200);
  });

  test('assigns people to jobs and tasks, and reports the index of each entry', async () => {
    const [first, second] = [await firm.person(), await firm.person()];
    const jobId = await newJob();
    const taskId = await newTask(jobId);
    const values = { allocatedHours: '4.00', billingRateOverride: '240', startDate: '2026-03-01', endDate: null };
    const { status, body } = await assignStaff({
      staffJobAssignments: [
        { staffId: first.id, jobId, role: 'MANAGER', ...values },
        { staffId: second.id, jobId, role: 'PREPARER' },
      ],
      staffTaskAssignments: [{ staffId: second.id, taskId, allocatedHours: '3.50' }],
    });
    expect(status).toBe(200);
    const common = { active: true, version: 1, deactivatedAt: null };
    expect(body.assigned.staffJobAssignments).toMatchObject([
      { index: 0, staffId: first.id, jobId, role: 'MANAGER', ...values, ...common },
      { index: 1, staffId: second.id, jobId, role: 'PREPARER', billingRateOverride: null, ...common },
    ]);
    expect(body.assigned.staffTaskAssignments).toMatchObject([
      { index: 0, staffId: second.id, taskId, allocatedHours: '3.50', ...common },
    ]);
    expect((await getTask(taskId)).body).toMatchObject({ assigneeId: second.id, assignee: { id: second.id } });
  });

  test('assigns a person on a task to its job as well', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const [one, other] = [await newTask(jobId), await newTask(jobId)];
    const { body } = await assignStaff({
      staffTaskAssignments: [
        { staffId: person.id, taskId: one },
        { staffId: person.id, taskId: other },
      ],
    });
    expect(body.assigned.staffJobAssignments).toMatchObject([{ index: null, staffId: person.id, role: 'OTHER' }]);
    expect(body.assigned.staffTaskAssignments.map(({ index }) => index)).toEqual([0, 1]);
    const again = await assignStaff(toTask(person.id, await newTask(jobId)));
    expect(again.body.assigned.staffJobAssignments).toEqual([]);
  });

  test('keeps the existing assignee of a task, and uses the first of concurrent requests', async () => {
    const people = await atOnce(4, () => firm.person());
    const taskId = await newTask(await newJob());
    await atOnce(4, (index) => assignStaff(toTask(people[index]?.id ?? '', taskId)));
    expect((await onTask(taskId)).toSorted()).toEqual(people.map(({ id }) => id).toSorted());
    const { assigneeId, version } = (await getTask(taskId)).body;
    expect(people.map(({ id }) => id)).toContain(assigneeId);
    expect(version).toBe(2);
  });

  test('updates an existing assignment with the provided values, and keeps the others', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const { body } = await assignStaff(toJob(person.id, jobId, { allocatedHours: '4.00', startDate: '2026-03-01' }));
    const [created] = body.assigned.staffJobAssignments;
    const changed = await assignStaff(toJob(person.id, jobId, { allocatedHours: '5.00' }));
    expect(changed.body.assigned.staffJobAssignments).toMatchObject([
      { id: created?.id, version: 2, allocatedHours: '5.00', startDate: '2026-03-01' },
    ]);
    const other = await assignStaff(toJob(person.id, jobId, { role: 'REVIEWER' }));
    expect(other.body.assigned.staffJobAssignments[0]?.id).not.toBe(created?.id);
    // The catalog has no UPDATE event for assignments.
    const { audit, events } = await firm.trace(created?.id ?? '');
    expect([audit.length, events.map((event) => event.operation)]).toEqual([2, ['CREATE']]);
  });

  test('changes nothing when it is repeated', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const request = {
      ...toJob(person.id, jobId),
      ...toTask(person.id, await newTask(jobId), { allocatedHours: '1.00' }),
    };
    const first = await assignStaff(request);
    expect((await assignStaff(request)).body).toEqual(first.body);
  });

  test('assigns a person to a job in a role once, however many concurrent requests do so', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const taskId = await newTask(jobId);
    const responses = await atOnce(8, (index) =>
      assignStaff({ ...toJob(person.id, jobId, { allocatedHours: `${index}.00` }), ...toTask(person.id, taskId) }),
    );
    expect(responses.map((response) => response.status)).toEqual(responses.map(() => 200));
    expect(new Set(responses.map(({ body }) => body.assigned.staffJobAssignments[0]?.id)).size).toBe(1);
    expect(await onJob(jobId)).toEqual([`${person.id} PREPARER`]);
    expect(await onTask(taskId)).toEqual([person.id]);
  });

  test('writes nothing if one entry is invalid, and points at each', async () => {
    const [person, left] = [await firm.person(), await firm.person({ status: 'TERMINATED' })];
    const [jobId, taskOfGone] = [await newJob(), await newTask(await newJob())];
    await remove([{ type: 'Task', systemRef: taskOfGone }]);
    const job = { jobId, role: 'OTHER' };
    const response = assignStaff({
      staffJobAssignments: [
        { staffId: person.id, ...job },
        { staffId: unknownId, ...job },
        { staffId: person.id, jobId: unknownId, role: 'OTHER' },
        { staffId: left.id, ...job },
        { staffId: person.id, jobId, role: 'MANAGER', startDate: '2026-03-02', endDate: '2026-03-01' },
      ],
      staffTaskAssignments: [
        { staffId: person.id, taskId: unknownId },
        { staffId: person.id, taskId: taskOfGone },
      ],
    });
    expect(await failureOf(response)).toEqual([
      400,
      'REFERENCE_NOT_FOUND',
      '/staffJobAssignments/1/staffId',
      '/staffJobAssignments/2/jobId',
      '/staffJobAssignments/3/staffId',
      '/staffJobAssignments/4/endDate',
      '/staffTaskAssignments/0/taskId',
      '/staffTaskAssignments/1/taskId',
    ]);
    expect(await onJob(jobId)).toEqual([]);
  });

  test('rejects terminated staff, and accepts staff on leave', async () => {
    const jobId = await newJob();
    const taskId = await newTask(jobId);
    const left = await firm.person({ status: 'TERMINATED' });
    const away = await firm.person({ status: 'ON_LEAVE' });
    const failure = [409, 'INVALID_STATE', '/staffTaskAssignments/0/staffId'];
    expect(await failureOf(assignStaff(toTask(left.id, taskId)))).toEqual(failure);
    expect((await assignStaff(toTask(away.id, taskId))).status).toBe(200);
  });

  test('rejects cancelled jobs and completed tasks', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const before = await assignStaff(toJob(person.id, jobId, { role: 'MANAGER' }));
    const [ofCancelled, done] = [await newTask(jobId), await newTask(await newJob())];
    await update([{ type: 'Job', systemRef: jobId, attributes: { status: 'CANCELLED' } }]);
    await update([{ type: 'Task', systemRef: done, attributes: { status: 'CANCELLED' } }]);
    const failures = [toJob(person.id, jobId), toTask(person.id, ofCancelled), toTask(person.id, done)];
    const pointers = [
      '/staffJobAssignments/0/jobId',
      '/staffTaskAssignments/0/taskId',
      '/staffTaskAssignments/0/taskId',
    ];
    for (const [index, body] of failures.entries())
      expect(await failureOf(assignStaff(body))).toEqual([409, 'INVALID_STATE', pointers[index]]);
    // Only what changes nothing can be repeated.
    expect((await assignStaff(toJob(person.id, jobId, { role: 'MANAGER' }))).body).toEqual(before.body);
    const other = toJob(person.id, jobId, { role: 'MANAGER', allocatedHours: '3.00' });
    expect(await failureOf(assignStaff(other))).toEqual([409, 'INVALID_STATE', pointers[0]]);
  });

  test.each([
    [{}],
    [{ staffJobAssignments: [] }],
    [{ staffJobAssignments: [], staffTaskAssignments: [] }],
    [{ staffJobAssignments: [{ staffId: unknownId, jobId: unknownId }] }],
    [{ staffJobAssignments: [{ staffId: unknownId, jobId: unknownId, role: 'CHEF' }] }],
    [{ staffTaskAssignments: [{ staffId: unknownId, taskId: unknownId, role: 'OTHER' }] }],
    [toJob(unknownId, unknownId, { allocatedHours: '-1.00' })],
    [{ staffTaskAssignments: Array.from({ length: 101 }, () => ({ staffId: unknownId, taskId: unknownId })) }],
  ])('rejects %j', async (body) => {
    expect((await failureOf(assignStaff(body))).slice(0, 2)).toEqual([400, 'VALIDATION_ERROR']);
  });

  test('requires JOB_ASGN, and RATE_W to write or to clear a rate', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const reader = operationsOf(await service.signIn({ roles: ['JOB_R'] }));
    expect(await failureOf(reader.assignStaff(toJob(person.id, jobId)))).toEqual([403, 'FORBIDDEN']);
    const failure = [403, 'FORBIDDEN', '/staffJobAssignments/0/billingRateOverride'];
    const rated = toJob(person.id, jobId, { billingRateOverride: '99' });
    expect(await failureOf(assigner.assignStaff(rated))).toEqual(failure);
    await assignStaff(rated);
    const cleared = toJob(person.id, jobId, { billingRateOverride: null });
    expect(await failureOf(assigner.assignStaff(cleared))).toEqual(failure);
    // The response also omits fields that the caller cannot read.
    const other = await assigner.assignStaff(toJob(person.id, jobId, { allocatedHours: '2.00' }));
    expect(other.body.assigned.staffJobAssignments).toMatchObject([
      { allocatedHours: '2.00', billingRateOverride: null },
    ]);
    expect((await getProject(jobId)).body.staffAssignments).toMatchObject([{ billingRateOverride: '99' }]);
    // An assignment without a rate has nothing to clear, so the request can be repeated.
    const plain = toJob((await firm.person()).id, jobId, { billingRateOverride: null });
    for (const { status } of [await assigner.assignStaff(plain), await assigner.assignStaff(plain)])
      expect(status).toBe(200);
  });

  test('keeps the rate of a person who returns to a job, or gets another role, for a caller without RATE_W', async () => {
    const { id: staffId } = await firm.person();
    const jobId = await newJob();
    const rates = async () => {
      const { staffAssignments } = (await getProject(jobId)).body;
      return (staffAssignments as { billingRateOverride: unknown }[]).map((one) => one.billingRateOverride);
    };
    await assignStaff(toJob(staffId, jobId, { billingRateOverride: '99' }));
    await assigner.removeStaff(toJob(staffId, jobId));
    const cleared = assigner.assignStaff(toJob(staffId, jobId, { billingRateOverride: null }));
    expect(await failureOf(cleared)).toEqual([403, 'FORBIDDEN', '/staffJobAssignments/0/billingRateOverride']);
    const { body } = await assigner.assignStaff(toJob(staffId, jobId));
    expect(body.assigned.staffJobAssignments).toMatchObject([{ billingRateOverride: null }]);
    expect(await rates()).toEqual(['99']);
    await assigner.assignStaff(toJob(staffId, jobId, { role: 'REVIEWER' }));
    await assigner.removeStaff(toJob(staffId, jobId));
    expect(await rates()).toEqual(['99']);
    await removeStaff(toJob(staffId, jobId, { role: 'REVIEWER' }));
    await assigner.assignStaff(toTask(staffId, await newTask(jobId)));
    expect(await rates()).toEqual(['99']);
    await assignStaff(toJob(staffId, jobId));
    expect(await rates()).toEqual(['99', null]);
  });

  test('does not affect jobs of another tenant', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const elsewhere = operationsOf(
      await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('elsewhere') }),
    );
    const response = elsewhere.assignStaff(toJob(person.id, jobId));
    expect(await failureOf(response)).toEqual([400, 'REFERENCE_NOT_FOUND', '/staffJobAssignments/0/jobId']);
    const removed = await elsewhere.removeStaff({ staffJobAssignments: [{ staffId: person.id, jobId }] });
    expect(removed.body.notFound).toHaveLength(1);
  });
});

describe('removeStaff', () => {
  test('ends one role, or all of them', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    for (const role of ['MANAGER', 'PREPARER', 'OTHER']) await assignStaff(toJob(person.id, jobId, { role }));
    const one = await removeStaff({ staffJobAssignments: [{ staffId: person.id, jobId, role: 'MANAGER' }] });
    expect(one.body).toMatchObject({
      removed: {
        staffJobAssignments: [{ index: 0, role: 'MANAGER', active: false, deactivatedAt: expect.any(String) }],
      },
      notFound: [],
    });
    expect(await onJob(jobId)).toEqual([`${person.id} PREPARER`, `${person.id} OTHER`]);
    const all = await removeStaff({ staffJobAssignments: [{ staffId: person.id, jobId }] });
    expect(all.body.removed.staffJobAssignments.map(({ index, role }) => [index, role])).toEqual([
      [0, 'PREPARER'],
      [0, 'OTHER'],
    ]);
    expect(await onJob(jobId)).toEqual([]);
  });

  test('ends the task assignments of people who leave the job, and passes their tasks on', async () => {
    const [first, second] = [await firm.person(), await firm.person()];
    const jobId = await newJob();
    const [shared, own] = [await newTask(jobId), await newTask(jobId)];
    await assignStaff(toTask(first.id, shared));
    await assignStaff(toTask(second.id, shared));
    await assignStaff(toTask(first.id, own));
    const elsewhere = await newTask(await newJob());
    await assignStaff(toTask(first.id, elsewhere));
    const { body } = await removeStaff({ staffJobAssignments: [{ staffId: first.id, jobId }] });
    expect(body.removed.staffTaskAssignments).toMatchObject([
      { index: null, taskId: shared, active: false },
      { index: null, taskId: own, active: false },
    ]);
    expect((await getTask(shared)).body.assigneeId).toBe(second.id);
    expect((await getTask(own)).body.assigneeId).toBeNull();
    expect((await getTask(elsewhere)).body.assigneeId).toBe(first.id);
  });

  test('keeps the tasks of people who still have a role on the job', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const taskId = await newTask(jobId);
    await assignStaff({ ...toJob(person.id, jobId), ...toTask(person.id, taskId) });
    await assignStaff(toJob(person.id, jobId, { role: 'REVIEWER' }));
    await removeStaff(toJob(person.id, jobId));
    expect(await onTask(taskId)).toEqual([person.id]);
  });

  test('does not pass a task on to terminated staff', async () => {
    const people = await atOnce(3, () => firm.person());
    const [first = '', left = '', third = ''] = people.map(({ id }) => id);
    const taskId = await newTask(await newJob());
    for (const id of [first, left, third]) await assignStaff(toTask(id, taskId));
    await updateStaff(left, { status: 'TERMINATED' });
    await removeStaff(toTask(first, taskId));
    expect((await getTask(taskId)).body.assigneeId).toBe(third);
    await removeStaff(toTask(third, taskId));
    expect((await getTask(taskId)).body.assigneeId).toBeNull();
  });

  test('finds the entries of both lists even if one would end the other', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const [one, other] = [await newTask(jobId), await newTask(jobId)];
    await assignStaff({ staffTaskAssignments: [one, other].map((taskId) => ({ staffId: person.id, taskId })) });
    const { body } = await removeStaff({
      staffJobAssignments: [{ staffId: person.id, jobId }],
      staffTaskAssignments: [{ staffId: person.id, taskId: other }],
    });
    expect(body.notFound).toEqual([]);
    expect(body.removed.staffTaskAssignments.map(({ index, taskId }) => [index, taskId])).toEqual([
      [0, other],
      [null, one],
    ]);
  });

  test('lists entries that match no active assignment, and ends the others', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    await assignStaff(toJob(person.id, jobId));
    const { status, body } = await removeStaff({
      staffJobAssignments: [
        { staffId: person.id, jobId: unknownId },
        { staffId: person.id, jobId },
        { staffId: person.id, jobId, role: 'MANAGER', allocatedHours: '9.00' },
      ],
      staffTaskAssignments: [{ staffId: unknownId, taskId: unknownId }],
    });
    expect(status).toBe(200);
    expect(body.removed.staffJobAssignments).toHaveLength(1);
    const common = { staffId: person.id, taskId: null };
    expect(new Set(body.notFound)).toEqual(
      new Set([
        { list: 'staffJobAssignments', index: 0, jobId: unknownId, role: null, ...common },
        { list: 'staffJobAssignments', index: 2, jobId, role: 'MANAGER', ...common },
        { list: 'staffTaskAssignments', index: 0, staffId: unknownId, jobId: null, taskId: unknownId, role: null },
      ]),
    );
    const again = await removeStaff(toJob(person.id, jobId));
    expect(again.body).toMatchObject({ removed: { staffJobAssignments: [] }, notFound: [{ index: 0 }] });
  });

  test('ends an assignment once, however many concurrent requests do so, and assigning again creates another one', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    const { body } = await assignStaff(toJob(person.id, jobId));
    const [created] = body.assigned.staffJobAssignments;
    const responses = await atOnce(6, () => removeStaff(toJob(person.id, jobId)));
    expect(responses.map((response) => response.status)).toEqual(responses.map(() => 200));
    expect(responses.flatMap((response) => response.body.removed.staffJobAssignments)).toHaveLength(1);
    const { audit, events } = await firm.trace(created?.id ?? '');
    expect(audit.map(({ operation }) => operation)).toEqual(['assignStaff', 'removeStaff']);
    expect(events.map(({ entityType, operation }) => `${entityType} ${operation}`)).toEqual([
      'StaffJobAssignment CREATE',
      'StaffJobAssignment DELETE',
    ]);
    const again = await assignStaff(toJob(person.id, jobId));
    expect(again.body.assigned.staffJobAssignments[0]?.id).not.toBe(created?.id);
  });

  test('keeps assignments, tasks and assignees consistent during concurrent requests', async () => {
    const people = await atOnce(3, () => firm.person());
    const jobId = await newJob();
    const tasks = [await newTask(jobId), await newTask(jobId)];
    const statuses = await atOnce(24, async (index) => {
      const staffId = people[index % 3]?.id ?? '';
      const taskId = tasks[index % 2] ?? '';
      if (index % 4 === 3) return (await removeStaff({ staffJobAssignments: [{ staffId, jobId }] })).status;
      return (await assignStaff(index % 4 === 1 ? toJob(staffId, jobId) : toTask(staffId, taskId))).status;
    });
    expect(statuses).toEqual(statuses.map(() => 200));
    for (const taskId of tasks) {
      const there = await onTask(taskId);
      expect(new Set(there).size).toBe(there.length);
      const { assigneeId } = (await getTask(taskId)).body;
      expect(assigneeId === null).toBe(there.length === 0);
      if (assigneeId !== null) expect(there).toContain(assigneeId);
      const staffIds = (await onJob(jobId)).map((one) => one.split(' ')[0]);
      for (const staffId of there) expect(staffIds).toContain(staffId);
    }
  });

  test('requires only JOB_ASGN', async () => {
    const person = await firm.person();
    const jobId = await newJob();
    await assignStaff(toJob(person.id, jobId, { billingRateOverride: '99' }));
    const reader = operationsOf(await service.signIn({ roles: ['JOB_R', 'JOB_W'] }));
    expect(await failureOf(reader.removeStaff(toJob(person.id, jobId)))).toEqual([403, 'FORBIDDEN']);
    const { body } = await assigner.removeStaff(toJob(person.id, jobId));
    expect(body.removed.staffJobAssignments).toMatchObject([{ billingRateOverride: null }]);
  });
});

test('searchProjects › filters by the people who are on a job', async () => {
  const person = await firm.person();
  const [stays, left] = [await newJob(), await newJob()];
  for (const jobId of [stays, left]) await assignStaff(toJob(person.id, jobId));
  await removeStaff(toJob(person.id, left));
  const where = { staffAssignments: { staffId: { _eq: person.id }, role: { _eq: 'PREPARER' } } };
  expect((await searchProjects({ where })).body.data.map((row) => row.id)).toEqual([stays]);
});
