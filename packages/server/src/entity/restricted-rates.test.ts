import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { recordsOf, type WriteResult } from '../../test/modules/records.ts';
import { firmOf, type Row, unique } from '../../test/modules/time.ts';
import { sharedService, type TestCaller } from '../../test/service.ts';
import { allOperations, contract, schemaOf } from '../contract/contract.ts';
import { holdsField, membersOf } from '../contract/fields.ts';
import { type TypeExtension, typesWith } from '../modules/bulk/index.ts';
import type { AnyEntity } from './entity.ts';
import { allEntities } from './registry.ts';

const base = await sharedService();
const tenant = await base.addTenant('rated');
const service = { ...base, ...(await base.signIn({ roles: ['API_ADMIN'], tenant })) };
const firm = await firmOf(service);
const { make } = recordsOf(service);

const roles = (schemaOf('Role').enum ?? []).filter((role) => role !== 'API_ADMIN' && role !== 'RATE_W');
const withoutRates = await service.signIn({ roles: roles.filter((role) => role !== 'RATE_R'), tenant });
const withRates = await service.signIn({ roles, tenant });

type FieldOf = Parameters<typeof holdsField>[0];
const isRate = ({ readRoles }: FieldOf) => readRoles.includes('RATE_R');
const ratesIn = (field: FieldOf): string[] => (isRate(field) ? [field.name] : membersOf(field).flatMap(ratesIn));
const hasRates = ({ shown }: AnyEntity) => shown.some((field) => holdsField(field, isRate));
const rated = [...allEntities()].filter(hasRates);
const rateNames = new Set(rated.flatMap(({ shown }) => shown.flatMap(ratesIn)));
const ratedTypes = (extension: TypeExtension) =>
  [...typesWith(extension).values()].filter(({ entity }) => hasRates(entity));

/** Whether a part of the contract leads to a property that only RATE_R shows. */
function showsRates(part: unknown, seen = new Set<unknown>()): boolean {
  if (typeof part !== 'object' || part === null || seen.has(part)) return false;
  seen.add(part);
  return Object.entries(part).some(([key, value]) => {
    if (key === 'x-read-roles') return Array.isArray(value) && value.includes('RATE_R');
    if (key !== '$ref') return showsRates(value, seen);
    const steps = String(value).split('/').slice(1);
    return showsRates(
      steps.reduce<unknown>((node, step) => Reflect.get(Object(node), step), contract),
      seen,
    );
  });
}

/** The values of all rates in a response or an event. */
function ratesOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => (rateNames.has(name) ? [part] : ratesOf(part)));
}

const rate = '123.45';
const workDate = '2026-03-02';

/** Creates a row of each type with all of its rates. `refs` has its `systemRef`, and a change of another field. */
async function rows() {
  const rateCardAssignment = { billingRate: rate, averageRate: rate, currency: 'USD', effectiveFromDate: '2020-01-01' };
  const staffTypeId = await firm.staffType({ defaultBillingRate: rate, defaultAverageRate: rate });
  const taskTypeId = await firm.taskType({ defaultRate: rate });
  const [staffId, jobId] = [await firm.person({ rateCardAssignment, staffTypeId }), await firm.job()];
  const taskId = await firm.task(jobId, { taskTypeId });
  const assignment = { staffId, jobId, role: 'OTHER' };
  await service.call('POST', '/api/v1/projects/assign_staff', {
    staffJobAssignments: [{ ...assignment, billingRateOverride: rate }],
  });
  const hourly = { hours: '2.00', billingRate: rate, amount: '246.90' };
  const { clientId } = firm;
  const wip = await make('WipEntry', { wipType: 'ADJUSTMENT', clientId, jobId, workDate, ...hourly });
  const entry = unique('entry');
  const attributes = { staffId, jobId, taskId, workDate, hours: '1.00', isBillable: true };
  const written = await service.call<{ records: readonly Row[] }>('POST', '/api/v1/entries', {
    records: [{ type: 'TimeEntry', systemRef: entry, attributes }],
  });
  const entryId = written.body.records[0]?.id;
  const ratedCode = { defaultRate: rate };
  const change = { description: unique('Changed') };
  const refs: Readonly<Record<string, readonly [systemRef: string, attributes: object]>> = {
    StaffType: [staffTypeId, change],
    Staff: [staffId, { title: change.description }],
    TaskType: [taskTypeId, { invoiceDescription: change.description }],
    Task: [taskId, change],
    WipEntry: [wip.id, { workDate: '2026-03-03' }],
    TimeEntry: [entry, change],
    WorkCode: [await firm.workCode(ratedCode), change],
    NonWorkCode: [await firm.nonWorkCode(ratedCode), change],
    ExpenseCode: [await firm.expenseCode(ratedCode), change],
  };
  return { refs, staffId, jobId, taskId, taskTypeId, staffTypeId, wipId: wip.id, entry, entryId, assignment };
}

type Call = readonly [method: string, path: string, body?: object];

/** Calls of all operations whose responses have rates, by operation; deletions come last. */
async function calls(): Promise<Readonly<Record<string, readonly Call[]>>> {
  const { refs, staffId, jobId, taskId, wipId, entry, entryId, assignment } = await rows();
  const item = (type: string, operation: 'write' | 'delete') => {
    const [systemRef, attributes] = refs[type] ?? [];
    if (systemRef === undefined) throw new Error(`Create a ${type} with rates here.`);
    return operation === 'delete' ? { type, systemRef } : { type, systemRef, attributes };
  };
  const writes = (extension: TypeExtension, method: string, path: string, operation: 'UPSERT' | 'UPDATE' | 'DELETE') =>
    ratedTypes(extension)
      .filter(({ operations }) => operations.includes(operation))
      .map(({ name }): Call => [method, path, { records: [item(name, operation === 'DELETE' ? 'delete' : 'write')] }]);
  const lookups = (extension: TypeExtension, path: string) =>
    ratedTypes(extension).map(({ name }): Call => ['POST', `${path}/${name}`, {}]);
  const staffAssignments = { staffJobAssignments: [{ ...assignment, allocatedHours: '3.00' }] };
  const newest = { pageSize: 1000 };
  return {
    getStaff: [['GET', `/gql/v1/staff/${staffId}`]],
    listStaff: [['POST', '/gql/v1/staff', newest]],
    searchStaff: [['POST', '/gql/v1/staff/search', newest]],
    updateStaff: [['PUT', `/api/v1/staff/${staffId}`, { title: unique('Title') }]],
    lookupStaffTypes: [['POST', '/api/v1/staff/type/batch/lookup', {}]],
    getProject: [['GET', `/gql/v1/project/${jobId}`]],
    listProjects: [['POST', '/gql/v1/projects', newest]],
    searchProjects: [['POST', '/gql/v1/projects/search', newest]],
    assignStaff: [['POST', '/api/v1/projects/assign_staff', staffAssignments]],
    getTask: [['GET', `/v1/task/${taskId}`]],
    searchTasks: [['POST', '/v1/tasks/search', newest]],
    listTaskTypes: [['GET', '/v1/task-types']],
    searchTaskTypes: [['POST', '/v1/task-types/search', newest]],
    getTimeEntry: [['GET', `/gql/v1/time_entry/${entryId}`]],
    listTimeEntries: [['POST', '/gql/v1/time_entries', newest]],
    searchTimeEntries: [['POST', '/gql/v1/time_entries/search', newest]],
    getWip: [['GET', `/gql/v1/wip/${wipId}`]],
    listWip: [['POST', '/gql/v1/wip', newest]],
    searchWip: [['POST', '/gql/v1/wips/search', newest]],
    lookupCodes: lookups('x-code-type', '/api/v1/codes/batch'),
    lookupEntries: lookups('x-entry-type', '/api/v1/entries/batch'),
    lookupRecords: lookups('x-record', '/api/v1/records/batch'),
    getRecord: ratedTypes('x-record').map(({ name }) => [
      'GET',
      `/api/v1/records/by-ref/${name}?ref=${item(name, 'delete').systemRef}`,
    ]),
    upsertCodes: writes('x-code-type', 'POST', '/api/v1/codes', 'UPSERT'),
    upsertEntries: writes('x-entry-type', 'POST', '/api/v1/entries', 'UPSERT'),
    upsertRecords: writes('x-record', 'POST', '/api/v1/records', 'UPSERT'),
    updateRecords: writes('x-record', 'PUT', '/api/v1/records', 'UPDATE'),
    removeStaff: [['POST', '/api/v1/projects/remove_staff', { staffJobAssignments: [assignment] }]],
    deleteRecords: [
      // Staff and tasks with an entry that can still be approved cannot be deleted.
      ['POST', '/api/v1/entries', { records: [{ type: 'TimeEntry', systemRef: entry, active: false }] }],
      ...writes('x-record', 'DELETE', '/api/v1/records', 'DELETE'),
    ],
  };
}

/** Returns the distinct rates in the response to each call. */
async function ratesSeenBy(caller: TestCaller): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const seen = new Map<string, readonly unknown[]>();
  for (const [operation, list] of Object.entries(await calls()))
    for (const [method, path, body] of list) {
      const response = await caller.call<Row>(method, path, body);
      const items = Reflect.get(response.body, 'records') ?? [];
      const failed = Array.isArray(items) && items.some((item) => Reflect.get(Object(item), 'status') === 'FAILED');
      if (response.status !== 200 || failed) throw new Error(`${operation}: ${JSON.stringify(response.body)}`);
      const what = `${operation} ${path} ${JSON.stringify(body)}`;
      const rates = [...new Set(ratesOf(response.body))];
      seen.set(what, rates);
    }
  return seen;
}

test('this test calls every operation whose responses show rates', async () => {
  const operations = allOperations.filter(({ method, path }) => {
    const responses: unknown = Reflect.get(Object(contract.paths[path]), method.toLowerCase())?.responses;
    return showsRates(Object.entries(Object(responses)).filter(([status]) => status.startsWith('2')));
  });
  // Whoever may not write rates cannot create a row with one.
  const creations = ['createStaff', 'createStaffTypes'];
  // Events have no rates, whoever reads them.
  const others = [...creations, 'listEvents'];
  expect(operations.map(({ id }) => id).toSorted()).toEqual([...Object.keys(await calls()), ...others].toSorted());
});

test('no response shows a rate without RATE_R, whatever other roles the caller has', async () => {
  for (const [call, rates] of await ratesSeenBy(withoutRates)) expect([call, rates]).toEqual([call, [null]]);
});

test('every response shows the rates with RATE_R', async () => {
  for (const [call, rates] of await ratesSeenBy(withRates))
    expect([call, rates]).toEqual([call, expect.arrayContaining([rate])]);
});

test('no event carries a rate', async () => {
  await ratesSeenBy(withRates);
  const events = await service.store.read(tenant.id, (session) =>
    session.all<{ entityType: string; data: Row }>(sql`select entity_type as "entityType", data from recorded_event`),
  );
  const types = new Set(rated.map(({ type }) => type));
  const announced = Object.values(contract.webhooks).map(({ post }) => post['x-event'].entityType);
  const expected = new Set(announced.filter((type) => types.has(type)));
  expect(new Set(events.map(({ entityType }) => entityType)).intersection(types)).toEqual(expected);
  for (const { entityType, data } of events)
    expect([entityType, ratesOf(data).filter((value) => value !== null)]).toEqual([entityType, []]);
  const listed = await withRates.call<{ data: readonly object[] }>('GET', '/api/v1/events?pageSize=1000');
  expect(listed.body.data.length).toBeGreaterThan(10);
  expect(ratesOf(listed.body).filter((value) => value !== null)).toEqual([]);
  // An event still shows the rest of a row that it embeds.
  expect(events.find(({ entityType }) => entityType === 'Task')?.data).toMatchObject({ taskType: { active: true } });
});

test('an import that repeats a rate says nothing of it without RATE_W', async () => {
  const name = unique('Imported');
  const attributes = { name, code: name, rank: 1, isBillable: true, defaultBillingRate: rate };
  const records = [{ type: 'StaffType', systemRef: name, source: 'IMPORT', attributes }];
  const statusFor = async (caller: Pick<TestCaller, 'call'>) =>
    (await caller.call<WriteResult>('POST', '/api/v1/records', { records })).body.records[0];
  expect(await statusFor(service)).toMatchObject({ status: 'CREATED' });
  expect(await statusFor(service)).toMatchObject({ status: 'UNCHANGED' });
  const error = { code: 'FORBIDDEN', pointer: '/records/0/attributes/defaultBillingRate' };
  expect(await statusFor(withRates)).toMatchObject({ status: 'FAILED', error });
});

test('a rate cannot be written without RATE_W, and null in its place cannot either', async () => {
  const { refs } = await rows();
  const doors = [
    ['x-record', '/api/v1/records'],
    ['x-code-type', '/api/v1/codes'],
    ['x-entry-type', '/api/v1/entries'],
  ] as const;
  let writable = 0;
  for (const [extension, path] of doors)
    for (const { name, entity } of ratedTypes(extension))
      for (const field of entity.shown.filter((one) => isRate(one) && !one.readOnly))
        for (const value of ['99', null]) {
          writable += 1;
          const records = [{ type: name, systemRef: refs[name]?.[0], attributes: { [field.name]: value } }];
          const { body } = await withRates.call('POST', path, { records });
          const error = { code: 'FORBIDDEN', pointer: `/records/0/attributes/${field.name}` };
          expect(body).toMatchObject({ records: [{ type: name, status: 'FAILED', error }] });
        }
  expect(writable).toBeGreaterThan(10);
});
