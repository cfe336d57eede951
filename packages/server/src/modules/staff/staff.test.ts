import { describe, expect, test } from 'vitest';
import { only, recordsOf } from '../../../test/modules/records.ts';
import { atOnce, failureOf, firmOf, operationsOf, unknownId } from '../../../test/modules/staff.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const firm = firmOf(service);
const { createStaff, updateStaff, getStaff, searchStaff } = operationsOf(service);
const { upsert, update, remove, make } = recordsOf(service);
const writer = operationsOf(await service.signIn({ roles: ['STAFF_W'] }));
const reader = operationsOf(await service.signIn({ roles: ['STAFF_R'] }));

const today = () => Temporal.Now.plainDateISO(service.tenant.timeZone).toString();
const pair = { billingRate: '190.00', averageRate: '155.8', currency: 'USD' };

describe('createStaff', () => {
  test('stores a staff member with the defaults of the contract', async () => {
    const fields = await firm.newPerson({ firstName: 'Priya', lastName: 'Nair', email: 'Priya.Nair@Example.com' });
    const { status, headers, body } = await createStaff(fields);
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/gql/v1/staff/${body.id}`);
    expect(body).toMatchObject({
      displayName: 'Priya Nair',
      email: 'priya.nair@example.com',
      pmsRef: fields.staffRef,
      status: 'ACTIVE',
      weeklyCapacityHours: '40.00',
      targetUtilizationPercent: null,
      rateCardAssignment: null,
      systemRef: body.id,
      sysRefs: [],
      version: 1,
      active: true,
    });
    const read = await getStaff(body.id);
    expect(read.body).toEqual(body);
    expect(read.headers.get('etag')).toBe(headers.get('etag'));
  });

  test('stores rates in the same request', async () => {
    const { body } = await createStaff(await firm.newPerson({ rateCardAssignment: pair }));
    const none = { rateCardId: null, rateCardName: null, effectiveToDate: null };
    expect(body.rateCardAssignment).toEqual({ ...pair, ...none, effectiveFromDate: today() });
    expect(body.version).toBe(1);
  });

  test('keeps the systemRef and the pmsRef of the caller', async () => {
    const { body } = await createStaff(await firm.newPerson({ systemRef: 'HR-17', pmsRef: null }));
    expect(body).toMatchObject({ systemRef: 'HR-17', pmsRef: null, sysRefs: [{ ref: 'HR-17' }] });
  });

  test('rejects rates without RATE_W', async () => {
    const body = await firm.newPerson({ rateCardAssignment: pair });
    expect(await failureOf(writer.createStaff(body))).toEqual([403, 'FORBIDDEN', '/rateCardAssignment']);
    const without = await writer.createStaff({ ...body, rateCardAssignment: null });
    expect(without.status).toBe(201);
  });

  test('returns rates to a caller with RATE_W, who wrote them', async () => {
    const paymaster = operationsOf(await service.signIn({ roles: ['STAFF_W', 'RATE_W'] }));
    const { status, body } = await paymaster.createStaff(await firm.newPerson({ rateCardAssignment: pair }));
    expect(status).toBe(201);
    expect(body.rateCardAssignment).toMatchObject(pair);
  });

  test('requires STAFF_W', async () => {
    expect(await failureOf(reader.createStaff(await firm.newPerson()))).toEqual([403, 'FORBIDDEN']);
  });

  test.each([
    ['staffRef', { staffRef: undefined }],
    ['rateCardAssignment/averageRate', { rateCardAssignment: { billingRate: '1', currency: 'USD' } }],
    ['rateCardAssignment/billingRate', { rateCardAssignment: { averageRate: '1', currency: 'USD' } }],
    ['rateCardAssignment/billingRate', { rateCardAssignment: { ...pair, billingRate: '1.12345' } }],
    ['rateCardAssignment/billingRate', { rateCardAssignment: { ...pair, billingRate: null } }],
    ['rateCardAssignment/billingRate', { rateCardAssignment: { ...pair, billingRate: '-1' } }],
    ['rateCardAssignment/effectiveToDate', { rateCardAssignment: { ...pair, effectiveToDate: '2030-01-01' } }],
    ['weeklyCapacityHours', { weeklyCapacityHours: '168.01' }],
    ['targetUtilizationPercent', { targetUtilizationPercent: '100.1' }],
    ['displayName', { displayName: 'Ada' }],
    ['terminationDate', { hireDate: '2026-02-01', terminationDate: '2026-01-31' }],
  ])('rejects an invalid %s', async (field, fields) => {
    const [status, code, ...pointers] = await failureOf(createStaff(await firm.newPerson(fields)));
    expect([status, code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(pointers).toContain(`/${field}`);
  });

  test.each(['staffTypeId', 'departmentId', 'officeId', 'orgId', 'managerId'])(
    'rejects an unknown %s',
    async (field) => {
      const body = await firm.newPerson({ [field]: unknownId });
      expect(await failureOf(createStaff(body))).toEqual([400, 'REFERENCE_NOT_FOUND', `/${field}`]);
    },
  );

  test('rejects an inactive staff type', async () => {
    const type = await make('StaffType', { name: 'Retired', code: 'RET', rank: 9, isBillable: false }, 'retired');
    only(await remove([{ type: 'StaffType', systemRef: 'retired' }]));
    const body = await firm.newPerson({ staffTypeId: type.id });
    expect(await failureOf(createStaff(body))).toEqual([400, 'REFERENCE_NOT_FOUND', '/staffTypeId']);
  });

  test.each(['staffRef', 'pmsRef', 'email', 'systemRef'])('rejects a duplicate %s', async (field) => {
    const first = { pmsRef: `P-${field}`, systemRef: `R-${field}` };
    const taken = await createStaff(await firm.newPerson(first));
    const body = await firm.newPerson({ pmsRef: null, [field]: taken.body[field] });
    expect(await failureOf(createStaff(body))).toEqual([409, 'DUPLICATE_REF', `/${field}`]);
  });

  test('creates one staff member for requests with one idempotency key, and for equal concurrent requests', async () => {
    const fields = await firm.newPerson({ rateCardAssignment: pair });
    const key = { 'Idempotency-Key': 'hire-1' };
    const first = await createStaff(fields, key);
    const again = await createStaff(fields, key);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await failureOf(createStaff({ ...fields, title: 'Other' }, key))).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);

    const other = await firm.newPerson();
    const responses = await atOnce(6, () => createStaff(other));
    expect(responses.map((response) => response.status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
  });

  test('adds an audit row, and an event without rates', async () => {
    const { body } = await createStaff(await firm.newPerson({ rateCardAssignment: pair }));
    const { audit, events } = await firm.trace(body.id);
    expect(audit).toMatchObject([{ operation: 'createStaff', before: null, after: { rateCardAssignment: pair } }]);
    expect(events).toMatchObject([
      {
        entityType: 'Staff',
        operation: 'CREATE',
        sequence: 1,
        changedFields: [],
        data: { rateCardAssignment: null },
      },
    ]);
  });
});

describe('updateStaff', () => {
  test('updates provided fields, keeps the others, and clears null ones', async () => {
    const { id } = await firm.person({ title: 'Senior', phone: '+15035550100' });
    const { status, body } = await updateStaff(id, { lastName: 'Married', title: null });
    expect(status).toBe(200);
    expect(body).toMatchObject({ displayName: 'Ada Married', title: null, phone: '+15035550100', version: 2 });
  });

  test('writes nothing if nothing changes', async () => {
    const { id } = await firm.person({ rateCardAssignment: pair });
    const { body, headers } = await updateStaff(id, { firstName: 'Ada', rateCardAssignment: pair });
    expect(body.version).toBe(1);
    expect(headers.get('etag')).toMatch(/-1"$/);
    expect((await firm.trace(id)).events).toHaveLength(1);
  });

  test.each([[{}], [{ displayName: 'Ada' }], [{ staffRef: null }], [{ active: false }], [{ version: 1 }]])(
    'rejects the body %j',
    async (body) => {
      const { id } = await firm.person();
      expect((await failureOf(updateStaff(id, body))).slice(0, 2)).toEqual([400, 'VALIDATION_ERROR']);
    },
  );

  test('returns not found for unknown staff and those of another tenant', async () => {
    const { id } = await firm.person();
    const elsewhere = await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('elsewhere') });
    expect(await failureOf(updateStaff(unknownId, { title: 'X' }))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(operationsOf(elsewhere).updateStaff(id, { title: 'X' }))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(operationsOf(elsewhere).getStaff(id))).toEqual([404, 'NOT_FOUND']);
  });

  test('rejects a stale If-Match, and one of two concurrent updates of a version', async () => {
    const { id } = await firm.person();
    const etag = (await getStaff(id)).headers.get('etag') ?? '';
    const responses = await atOnce(2, (index) => updateStaff(id, { title: `Title ${index}` }, { 'If-Match': etag }));
    expect(responses.map((response) => response.status).sort()).toEqual([200, 412]);
    expect(await failureOf(updateStaff(id, { title: 'Late' }, { 'If-Match': etag }))).toEqual([
      412,
      'PRECONDITION_FAILED',
    ]);
  });

  test('rejects duplicate keys, a person as their own manager, and dates in the wrong order', async () => {
    const other = await firm.person();
    const { id } = await firm.person({ hireDate: '2020-01-01' });
    const conflict = await failureOf(updateStaff(id, { email: String(other.email).toUpperCase() }));
    expect(conflict).toEqual([409, 'DUPLICATE_REF', '/email']);
    expect(await failureOf(updateStaff(id, { managerId: id }))).toEqual([400, 'VALIDATION_ERROR', '/managerId']);
    const early = await failureOf(updateStaff(id, { terminationDate: '2019-12-31' }));
    expect(early).toEqual([400, 'VALIDATION_ERROR', '/terminationDate']);
    await updateStaff(id, { terminationDate: '2021-01-01', status: 'TERMINATED' });
    const late = await failureOf(updateStaff(id, { hireDate: '2021-01-02' }));
    expect(late).toEqual([400, 'VALIDATION_ERROR', '/hireDate']);
  });

  test('keeps a reference to a row that was deactivated since, and rejects a new one', async () => {
    const type = await make('StaffType', { name: 'Interns', code: 'INT', rank: 9, isBillable: false }, 'interns');
    const { id } = await firm.person({ staffTypeId: type.id });
    const other = await firm.person();
    await remove([{ type: 'StaffType', systemRef: 'interns' }]);
    expect(await updateStaff(id, { staffTypeId: type.id, title: 'Intern' })).toMatchObject({ status: 200 });
    const failure = await failureOf(updateStaff(other.id, { staffTypeId: type.id }));
    expect(failure).toEqual([400, 'REFERENCE_NOT_FOUND', '/staffTypeId']);
  });

  test('adds an audit row and an event with the changed fields', async () => {
    const { id } = await firm.person();
    await updateStaff(id, { title: 'Senior', rateCardAssignment: pair });
    const { audit, events } = await firm.trace(id);
    expect(audit[1]).toMatchObject({ operation: 'updateStaff', before: audit[0]?.after, after: { title: 'Senior' } });
    expect(events[1]).toMatchObject({ operation: 'UPDATE', sequence: 2, data: { rateCardAssignment: null } });
    expect(events[1]?.changedFields).toEqual(['title', 'rateCardAssignment']);
  });
});

describe('getStaff, listStaff and searchStaff', () => {
  test('only return rates to readers with RATE_R', async () => {
    const { id } = await firm.person({ rateCardAssignment: pair });
    const auditor = operationsOf(await service.signIn({ roles: ['STAFF_R', 'RATE_R'] }));
    const hidden = { billingRate: null, averageRate: null, currency: 'USD', effectiveFromDate: today() };
    for (const [user, rates] of [
      [reader, hidden],
      [auditor, pair],
    ] as const) {
      const where = { id: { _eq: id } };
      const rows = [
        (await user.getStaff(id)).body,
        (await user.listStaff({ pageSize: 1000 })).body.data.find((row) => row.id === id),
        (await user.searchStaff({ where })).body.data[0],
      ];
      for (const row of rows) expect(row?.rateCardAssignment).toMatchObject(rates);
    }
  });

  test('require STAFF_R', async () => {
    const { id } = await firm.person();
    for (const response of [writer.getStaff(id), writer.listStaff(), writer.searchStaff()])
      expect(await failureOf(response)).toEqual([403, 'FORBIDDEN']);
  });

  test('searchStaff filters by columns and by related rows, and sorts', async () => {
    const department = await make('Department', { name: 'Tax', code: 'TAX' });
    const inTax = { departmentId: department.id, title: 'Sorted' };
    await firm.person({ ...inTax, lastName: 'Zeta', hireDate: '2020-01-01' });
    await firm.person({ ...inTax, lastName: 'alpha', hireDate: null });
    await firm.person({ ...inTax, lastName: 'Beta', hireDate: '2024-05-01', status: 'ON_LEAVE' });
    const where = { department: { code: { _eq: 'TAX' } } };
    const names = async (body: object) => (await searchStaff(body)).body.data.map((row) => row.lastName);
    expect(await names({ where, orderBy: [{ lastName: 'asc' }] })).toEqual(['Beta', 'Zeta', 'alpha']);
    expect(await names({ where, orderBy: [{ hireDate: 'desc_nulls_last' }] })).toEqual(['Beta', 'Zeta', 'alpha']);
    expect(await names({ where: { ...where, status: { _in: ['ON_LEAVE'] } } })).toEqual(['Beta']);
    expect(await names({ where: { ...where, lastName: { _ilike: 'ALPH%' } } })).toEqual(['alpha']);
  });

  test('searchStaff rejects rates as a filter', async () => {
    const [status, code] = await failureOf(searchStaff({ where: { rateCardAssignment: { _is_null: true } } }));
    expect([status, code]).toEqual([400, 'VALIDATION_ERROR']);
  });
});

describe('records of the type Staff', () => {
  test('create, update, deactivate and reactivate a staff member, without rates', async () => {
    const attributes = await firm.newPerson();
    const created = only(await upsert([{ type: 'Staff', systemRef: 'rec-1', attributes }]));
    expect(created).toMatchObject({ status: 'CREATED', attributes: { displayName: expect.any(String) } });
    const renamed = only(await update([{ type: 'Staff', systemRef: 'rec-1', attributes: { firstName: 'Grace' } }]));
    expect(renamed).toMatchObject({ status: 'UPDATED', version: 2 });
    expect(only(await remove([{ type: 'Staff', systemRef: 'rec-1' }]))).toMatchObject({ status: 'DELETED' });
    expect((await getStaff(created.id ?? '')).body).toMatchObject({ active: false });
    const back = only(await upsert([{ type: 'Staff', systemRef: 'rec-1', attributes: {} }]));
    expect(back).toMatchObject({ status: 'UPDATED', active: true });
    const { events } = await firm.trace(created.id ?? '');
    expect(events.map((event) => event.operation)).toEqual(['CREATE', 'UPDATE', 'DELETE', 'UPDATE']);
  });

  test('reject rates, missing fields, and a staff type by an unknown key', async () => {
    const { email: _, ...withoutEmail } = await firm.newPerson();
    const items = await upsert([
      { type: 'Staff', attributes: await firm.newPerson({ rateCardAssignment: pair }) },
      { type: 'Staff', attributes: withoutEmail },
      { type: 'Staff', attributes: await firm.newPerson({ staffTypeId: { systemRef: 'nobody' } }) },
    ]);
    expect(items.map(({ error }) => [error?.code, error?.pointer])).toEqual([
      ['VALIDATION_ERROR', '/records/0/attributes/rateCardAssignment'],
      ['VALIDATION_ERROR', '/records/1/attributes/email'],
      ['REFERENCE_NOT_FOUND', '/records/2/attributes/staffTypeId'],
    ]);
  });

  test('do not deactivate staff who are assigned to an open job', async () => {
    const { id, systemRef } = await firm.person();
    const jobId = await firm.job();
    const { assignStaff, removeStaff } = operationsOf(service);
    await assignStaff({ staffJobAssignments: [{ staffId: id, jobId, role: 'PREPARER' }] });
    const rejected = only(await remove([{ type: 'Staff', systemRef }]));
    expect(rejected.error).toMatchObject({ code: 'INVALID_STATE', detail: expect.stringContaining('open jobs') });
    await removeStaff({ staffJobAssignments: [{ staffId: id, jobId }] });
    expect(only(await remove([{ type: 'Staff', systemRef }]))).toMatchObject({ status: 'DELETED' });
  });

  test('deactivate staff whose jobs are all cancelled', async () => {
    const { id, systemRef } = await firm.person();
    const job = await make('Job', { name: 'Gone', billingType: 'NON_BILLABLE', clientId: await firm.client() }, 'gone');
    const { assignStaff } = operationsOf(service);
    await assignStaff({ staffJobAssignments: [{ staffId: id, jobId: job.id, role: 'PREPARER' }] });
    only(await update([{ type: 'Job', systemRef: 'gone', attributes: { status: 'CANCELLED' } }]));
    expect(only(await remove([{ type: 'Staff', systemRef }]))).toMatchObject({ status: 'DELETED' });
  });
});
