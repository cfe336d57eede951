import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { only, recordsOf } from '../../../test/modules/records.ts';
import { atOnce, failureOf, firmOf, operationsOf, unknownId } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const firm = firmOf(service);
const { createProjectsFromTemplate, getJob, getTask, getProject, updateStaff } = operationsOf(service);
const { make, update, remove } = recordsOf(service);

const clientId = await firm.client();
const taskTypeId = await firm.taskType();
const defaultStaffTypeId = await firm.staffType();
const templateTask = (name: string, offsetDays: number) => ({
  name,
  taskTypeId,
  offsetDays,
  budgetHours: '3.00',
  defaultStaffTypeId,
});
const jobTemplateId = await firm.template({
  name: 'Partnership return',
  budgetHours: '16.00',
  durationDays: 18,
  tasks: [templateTask('Prepare', 0), templateTask('Review', 14)],
});

const today = () => Temporal.Now.plainDateISO(service.tenant.timeZone).toString();
const create = (entry: object, more: object = {}) =>
  createProjectsFromTemplate({ clientId, jobTemplates: [{ jobTemplateId, ...entry }], ...more });
/** The number of rows that a request could have written. */
async function written(): Promise<unknown> {
  const tables = ['job', 'task', 'staff_job_assignment', 'audit_log', 'recorded_event', 'tenant_counter'];
  return firm.rows(sql.raw(`select ${tables.map((one) => `(select count(*) from ${one}) as ${one}`).join(', ')}`));
}

describe('createProjectsFromTemplate', () => {
  test('creates a job with the values of the template and the client, and its tasks', async () => {
    const partner = await firm.person();
    const manager = await firm.person();
    const ofPartner = await firm.client({ partnerId: partner.id, managerId: manager.id, currency: 'CAD' });
    const { status, body } = await createProjectsFromTemplate({
      clientId: ofPartner,
      jobTemplates: [{ jobTemplateId }],
    });
    expect(status).toBe(200);
    const [created] = body.jobs;
    expect(created).toMatchObject({ index: 0, name: 'Partnership return', status: 'PLANNED' });
    expect(created?.jobRef).toMatch(new RegExp(`^J-${today().slice(0, 4)}-\\d{5}$`));
    const due = Temporal.PlainDate.from(today()).add({ days: 18 }).toString();
    expect((await getJob(created?.id ?? '')).body).toMatchObject({
      clientId: ofPartner,
      jobTemplateId,
      jobRef: created?.jobRef,
      pmsRef: created?.jobRef,
      partnerId: partner.id,
      managerId: manager.id,
      inChargeId: null,
      currency: 'CAD',
      billingType: 'TIME_AND_MATERIALS',
      feeAmount: null,
      budgetHours: '16.00',
      startDate: today(),
      dueDate: due,
      priority: 'NORMAL',
      version: 1,
    });
    const tasks = await Promise.all((created?.taskIds ?? []).map(async (id) => (await getTask(id)).body));
    const common = { jobId: created?.id, taskTypeId, status: 'NOT_STARTED', isBillable: true, assigneeId: null };
    expect(tasks).toMatchObject([
      { ...common, name: 'Prepare', sequence: 0, budgetHours: '3.00', startDate: today(), dueDate: due },
      { ...common, name: 'Review', sequence: 1, dueDate: due },
    ]);
  });

  test.each([
    ['within the job', { startDate: '2026-03-02' }, ['2026-03-02', '2026-03-20'], ['2026-03-16', '2026-03-20']],
    [
      'after their duration, if the job is longer',
      { startDate: '2026-03-02', dueDate: '2026-12-31' },
      ['2026-03-02', '2026-03-20'],
      ['2026-03-16', '2026-04-03'],
    ],
    [
      'not before they start, if the job is shorter',
      { startDate: '2026-03-02', dueDate: '2026-03-09' },
      ['2026-03-02', '2026-03-09'],
      ['2026-03-16', '2026-03-16'],
    ],
    ['never, if neither has dates', { startDate: null }, [null, null], [null, null]],
    [
      'with the job, if only its date is known',
      { startDate: null, dueDate: '2026-03-09' },
      [null, '2026-03-09'],
      [null, '2026-03-09'],
    ],
  ])('tasks are due %s', async (_when, entry, ...expected) => {
    const { body } = await create(entry);
    const tasks = await Promise.all((body.jobs[0]?.taskIds ?? []).map(async (id) => (await getTask(id)).body));
    expect(tasks.map((task) => [task.startDate, task.dueDate])).toEqual(expected);
  });

  test('accepts overrides, including null, and staff', async () => {
    const person = await firm.person();
    const { body } = await create({
      name: 'Own name',
      jobRef: 'OWN-1',
      systemRef: 'crm-1',
      fiscalYear: 2027,
      budgetHours: null,
      dueDate: null,
      partnerId: null,
      staffAssignments: [
        { staffId: person.id, role: 'MANAGER', allocatedHours: '4.00', billingRateOverride: '240.00' },
        { staffId: person.id, role: 'REVIEWER' },
      ],
    });
    const { id = '' } = body.jobs[0] ?? {};
    expect((await getJob(id)).body).toMatchObject({
      name: 'Own name',
      jobRef: 'OWN-1',
      pmsRef: 'OWN-1',
      systemRef: 'crm-1',
      fiscalYear: 2027,
      budgetHours: null,
      dueDate: null,
    });
    const assignments = [
      { staffId: person.id, role: 'MANAGER', allocatedHours: '4.00', billingRateOverride: '240.00', active: true },
      { staffId: person.id, role: 'REVIEWER', allocatedHours: null, billingRateOverride: null },
    ];
    expect((await getProject(id)).body).toMatchObject({ staffAssignments: assignments });
  });

  test('takes the fee from the template or from the entry', async () => {
    const fixed = await firm.template({ billingType: 'FIXED_FEE', defaultFee: '900.00' });
    const without = await firm.template({ billingType: 'RECURRING' });
    const { body } = await createProjectsFromTemplate({
      clientId,
      jobTemplates: [{ jobTemplateId: fixed }, { jobTemplateId: without, feeAmount: '50.00' }],
    });
    const fees = await Promise.all(body.jobs.map(async ({ id }) => (await getJob(id)).body.feeAmount));
    expect(fees).toEqual(['900.00', '50.00']);
    const missing = createProjectsFromTemplate({ clientId, jobTemplates: [{ jobTemplateId: without }] });
    expect(await failureOf(missing)).toEqual([400, 'VALIDATION_ERROR', '/jobTemplates/0/feeAmount']);
    const needless = create({ feeAmount: '1.00' });
    expect(await failureOf(needless)).toEqual([400, 'VALIDATION_ERROR', '/jobTemplates/0/feeAmount']);
  });

  test('finds the client by clientRef, and requires exactly one key', async () => {
    const [{ clientRef = '' } = {}] = await firm.rows<{ clientRef: string }>(
      sql`select client_ref as "clientRef" from client where id = ${clientId}`,
    );
    const byRef = await createProjectsFromTemplate({ clientRef, jobTemplates: [{ jobTemplateId }] });
    expect((await getJob(byRef.body.jobs[0]?.id ?? '')).body.clientId).toBe(clientId);
    for (const clients of [{}, { clientId, clientRef }]) {
      const [status, code] = await failureOf(
        createProjectsFromTemplate({ ...clients, jobTemplates: [{ jobTemplateId }] }),
      );
      expect([status, code]).toEqual([400, 'VALIDATION_ERROR']);
    }
  });

  test('omits a partner and a manager who are terminated', async () => {
    const partner = await firm.person();
    const manager = await firm.person();
    const ofPartner = await firm.client({ partnerId: partner.id, managerId: manager.id });
    await updateStaff(partner.id, { status: 'TERMINATED' });
    await remove([{ type: 'Staff', systemRef: manager.systemRef }]);
    const { body } = await createProjectsFromTemplate({ clientId: ofPartner, jobTemplates: [{ jobTemplateId }] });
    expect((await getJob(body.jobs[0]?.id ?? '')).body).toMatchObject({ partnerId: null, managerId: null });
  });

  test('rejects unknown clients, templates, engagements and staff with pointers', async () => {
    const gone = await make('JobTemplate', { name: 'Gone', billingType: 'NON_BILLABLE' }, 'gone');
    await remove([{ type: 'JobTemplate', systemRef: 'gone' }]);
    const entries = [{ jobTemplateId }, { jobTemplateId: unknownId }, { jobTemplateId: gone.id }];
    const unknownClient = createProjectsFromTemplate({ clientRef: 'nobody', jobTemplates: entries });
    expect(await failureOf(unknownClient)).toEqual([404, 'NOT_FOUND', '/clientRef']);
    const unknownEngagement = create({}, { engagementId: unknownId });
    expect(await failureOf(unknownEngagement)).toEqual([400, 'REFERENCE_NOT_FOUND', '/engagementId']);
    const others = createProjectsFromTemplate({
      clientId,
      jobTemplates: [
        ...entries,
        { jobTemplateId, partnerId: unknownId },
        { jobTemplateId, staffAssignments: [{ staffId: unknownId, role: 'OTHER' }] },
      ],
    });
    expect(await failureOf(others)).toEqual([
      400,
      'REFERENCE_NOT_FOUND',
      '/jobTemplates/1/jobTemplateId',
      '/jobTemplates/2/jobTemplateId',
      '/jobTemplates/3/partnerId',
      '/jobTemplates/4/staffAssignments/0/staffId',
    ]);
  });

  test('points at the template if its values cannot be used', async () => {
    const retired = await make(
      'TaskType',
      { displayName: 'Old', code: 'OLD', isBillable: true, billingMethod: 'HOURLY' },
      'old',
    );
    const tasks = [templateTask('New', 0), { ...templateTask('Old', 0), taskTypeId: retired.id }];
    const template = await firm.template({ name: 'Half old', tasks });
    await remove([{ type: 'TaskType', systemRef: 'old' }]);
    const response = createProjectsFromTemplate({
      clientId,
      jobTemplates: [{ jobTemplateId }, { jobTemplateId: template }],
    });
    expect(await failureOf(response)).toEqual([400, 'REFERENCE_NOT_FOUND', '/jobTemplates/1/jobTemplateId']);
    expect((await response).body).toMatchObject({ detail: expect.stringContaining('The template cannot be used.') });
  });

  test.each([
    ['startDate', { startDate: '2026-03-02', dueDate: '2026-03-01' }, 'dueDate'],
    ['dates beyond the calendar', { startDate: '2199-12-30' }, 'startDate'],
    ['fiscalYear', { fiscalYear: 1999 }, 'fiscalYear'],
    ['status', { status: 'READY' }, 'status'],
  ])('rejects a wrong %s', async (_what, entry, field) => {
    const [status, code, pointer] = await failureOf(create(entry));
    expect([status, code, pointer]).toEqual([400, 'VALIDATION_ERROR', `/jobTemplates/0/${field}`]);
  });

  test('rejects duplicate references, and a role that a person has twice', async () => {
    const person = await firm.person();
    await create({ jobRef: 'TAKEN', systemRef: 'TAKEN' });
    await make('Job', { name: 'X', clientId, billingType: 'NON_BILLABLE', pmsRef: 'KEY' });
    const twice = { staffId: person.id, role: 'OTHER' };
    const response = createProjectsFromTemplate({
      clientId,
      jobTemplates: [
        { jobTemplateId, jobRef: 'TAKEN' },
        { jobTemplateId, systemRef: 'TAKEN' },
        { jobTemplateId, jobRef: 'NEW' },
        { jobTemplateId, jobRef: 'NEW' },
        { jobTemplateId, jobRef: 'KEY' },
      ],
    });
    expect(await failureOf(response)).toEqual([
      409,
      'DUPLICATE_REF',
      '/jobTemplates/0/jobRef',
      '/jobTemplates/1/systemRef',
      '/jobTemplates/3/jobRef',
      '/jobTemplates/4/jobRef',
    ]);
    const people = create({ staffAssignments: [{ staffId: person.id, role: 'MANAGER' }, twice, twice] });
    expect(await failureOf(people)).toEqual([409, 'DUPLICATE_REF', '/jobTemplates/0/staffAssignments/2/role']);
  });

  test('rejects terminated staff', async () => {
    const person = await firm.person({ status: 'TERMINATED' });
    const response = create({ staffAssignments: [{ staffId: person.id, role: 'OTHER' }] });
    expect(await failureOf(response)).toEqual([409, 'INVALID_STATE', '/jobTemplates/0/staffAssignments/0/staffId']);
  });

  test('requires JOB_C, and RATE_W for rates', async () => {
    const person = await firm.person();
    const reader = operationsOf(await service.signIn({ roles: ['JOB_R'] }));
    const body = (billingRateOverride: string | null) => ({
      clientId,
      jobTemplates: [{ jobTemplateId, staffAssignments: [{ staffId: person.id, role: 'OTHER', billingRateOverride }] }],
    });
    expect(await failureOf(reader.createProjectsFromTemplate(body(null)))).toEqual([403, 'FORBIDDEN']);
    const creator = operationsOf(await service.signIn({ roles: ['JOB_C'] }));
    const pointer = '/jobTemplates/0/staffAssignments/0/billingRateOverride';
    expect(await failureOf(creator.createProjectsFromTemplate(body('1')))).toEqual([403, 'FORBIDDEN', pointer]);
    expect((await creator.createProjectsFromTemplate(body(null))).status).toBe(200);
  });

  test('writes nothing if one entry is invalid', async () => {
    const before = await written();
    const entries = Array.from({ length: 100 }, (_, index) => ({
      jobTemplateId: index === 99 ? unknownId : jobTemplateId,
    }));
    const response = createProjectsFromTemplate({ clientId, jobTemplates: entries });
    expect(await failureOf(response)).toEqual([400, 'REFERENCE_NOT_FOUND', '/jobTemplates/99/jobTemplateId']);
    expect(await written()).toEqual(before);
  });

  test('creates 100 jobs of one request in order, with consecutive numbers', async () => {
    const entries = Array.from({ length: 100 }, (_, index) => ({ jobTemplateId, name: `Job ${index}` }));
    const { status, body } = await createProjectsFromTemplate({ clientId, jobTemplates: entries });
    expect(status).toBe(200);
    expect(body.jobs.map(({ index, name }) => `${index} ${name}`)).toEqual(
      entries.map(({ name }, index) => `${index} ${name}`),
    );
    expect(new Set(body.jobs.map(({ jobRef }) => jobRef)).size).toBe(100);
    expect(body.jobs.map(({ jobRef }) => jobRef)).toEqual(body.jobs.map(({ jobRef }) => jobRef).toSorted());
    const tooMany = createProjectsFromTemplate({ clientId, jobTemplates: [...entries, { jobTemplateId }] });
    expect(await failureOf(tooMany)).toEqual([400, 'VALIDATION_ERROR', '/jobTemplates']);
  });

  test('assigns 20 different numbers to the jobs of 20 concurrent requests', async () => {
    const responses = await atOnce(20, () => create({}));
    expect(responses.map((response) => response.status)).toEqual(responses.map(() => 200));
    expect(new Set(responses.map((response) => response.body.jobs[0]?.jobRef)).size).toBe(20);
  });

  test('skips numbers that callers have used as jobRef or as pmsRef', async () => {
    const { body } = await create({});
    const last = body.jobs[0]?.jobRef ?? '';
    const [next, afterNext, third] = [1, 2, 3].map(
      (more) => `${last.slice(0, 7)}${String(Number(last.slice(7)) + more).padStart(5, '0')}`,
    );
    await make('Job', { name: 'By hand', clientId, billingType: 'NON_BILLABLE', jobRef: next });
    await make('Job', { name: 'By hand', clientId, billingType: 'NON_BILLABLE', jobRef: 'HAND', pmsRef: afterNext });
    expect((await create({})).body.jobs[0]?.jobRef).toBe(third);
  });

  test('creates jobs once for an idempotency key, also for a concurrent request', async () => {
    const body = { clientId, jobTemplates: [{ jobTemplateId, name: 'Only one' }] };
    const responses = await atOnce(3, () => createProjectsFromTemplate(body, { 'Idempotency-Key': 'season-27' }));
    expect(responses.filter((response) => response.status === 200).length).toBeGreaterThan(0);
    for (const response of responses) expect([200, 409]).toContain(response.status);
    expect(await firm.rows(sql`select 1 from job where name = 'Only one'`)).toHaveLength(1);
  });

  test('adds an audit row and an event for each job, task and assignment', async () => {
    const person = await firm.person();
    const { body } = await create({
      staffAssignments: [{ staffId: person.id, role: 'OTHER', billingRateOverride: '9' }],
    });
    const { id = '', taskIds = [] } = body.jobs[0] ?? {};
    const [assignment] = await firm.rows<{ id: string }>(sql`select id from staff_job_assignment where job_id = ${id}`);
    for (const [entityId, entityType] of [
      [id, 'Job'],
      [taskIds[0] ?? '', 'Task'],
      [assignment?.id ?? '', 'StaffJobAssignment'],
    ] as const) {
      const { audit, events } = await firm.trace(entityId);
      expect(audit).toMatchObject([{ operation: 'createProjectsFromTemplate', before: null }]);
      expect(events).toMatchObject([{ entityType, operation: 'CREATE', sequence: 1 }]);
      if (entityType === 'StaffJobAssignment') expect(events[0]?.data.billingRateOverride).toBeNull();
    }
  });
});

describe('records of the type JobTemplate', () => {
  test('replace all tasks, in their order', async () => {
    const staffTypeId = await firm.staffType();
    const tasks = [templateTask('A', 0), templateTask('B', 3)];
    const created = await make('JobTemplate', { name: 'Reordered', billingType: 'NON_BILLABLE', tasks }, 'reordered');
    expect(created.attributes).toMatchObject({ tasks });
    const reversed = [
      { ...templateTask('B', 3), defaultStaffTypeId: staffTypeId },
      templateTask('C', 9),
      templateTask('A', 0),
    ];
    const write = async (attributes: object) =>
      only(await update([{ type: 'JobTemplate', systemRef: 'reordered', attributes }]));
    expect(await write({ tasks: reversed })).toMatchObject({
      status: 'UPDATED',
      version: 2,
      attributes: { tasks: reversed },
    });
    expect(await write({ tasks: reversed })).toMatchObject({ status: 'UNCHANGED', version: 2 });
    expect(await write({ code: 'R' })).toMatchObject({ attributes: { tasks: reversed } });
    const wrong = await write({ tasks: [templateTask('A', 0), { ...templateTask('B', 0), taskTypeId: unknownId }] });
    expect(wrong.error).toMatchObject({
      code: 'REFERENCE_NOT_FOUND',
      pointer: '/records/0/attributes/tasks/1/taskTypeId',
    });
    expect(await write({ tasks: [] })).toMatchObject({ attributes: { tasks: [] } });
  });

  test('add no event, because the catalog has none for them', async () => {
    const id = await firm.template();
    const { audit, events } = await firm.trace(id);
    expect([audit.length, events.length]).toEqual([1, 0]);
  });
});
