import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type RawBuilder, sql } from 'kysely';
import { contract } from '../../src/contract/contract.ts';
import type { HttpResponse, TestCaller, TestService } from '../service.ts';
import { recordsOf } from './records.ts';

export type Row = Readonly<Record<string, unknown>> & { readonly id: string; readonly version: number };
export type StaffRow = Row & { readonly rateCardAssignment: Readonly<Record<string, unknown>> | null };

/** The problem of a failed request. */
export interface Failed {
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string }[];
}

/** The audit rows and events of a changed row. */
export interface Trace {
  readonly audit: readonly { readonly operation: string; readonly before: Row | null; readonly after: Row }[];
  readonly events: readonly {
    readonly entityType: string;
    readonly operation: string;
    readonly sequence: number;
    readonly changedFields: readonly string[];
    readonly data: Row;
  }[];
}

/** An unused ID. */
export const unknownId = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f199';

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addFormat('decimal', true);
for (const [name, schema] of Object.entries(contract.components.schemas))
  ajv.addSchema(schema, `#/components/schemas/${name}`);

/** Returns the schema of an event's payload, such as `StaffCreatedEvent`. */
const payloadSchema = (entityType: string, operation: string) => {
  const past = new Map([
    ['CREATE', 'Created'],
    ['UPDATE', 'Updated'],
    ['DELETE', 'Deleted'],
  ]);
  return `#/components/schemas/${entityType}${past.get(operation)}Event`;
};

let counter = 0;

/** A test firm: each function creates a row with its required fields and the provided ones. */
export function firmOf(service: TestService) {
  const { call, store, tenant } = service;
  const { make } = recordsOf(service);

  const staffType = async (fields: object = {}): Promise<string> => {
    const number = ++counter;
    const attributes = { name: `Type ${number}`, code: `T${number}`, rank: 3, isBillable: true, ...fields };
    return (await make('StaffType', attributes)).id;
  };
  let anyStaffType: Promise<string> | undefined;
  const newPerson = async (fields: object = {}): Promise<Readonly<Record<string, unknown>>> => {
    const number = ++counter;
    anyStaffType ??= staffType();
    const name = { firstName: 'Ada', lastName: `Person ${number}`, email: `person-${number}@example.com` };
    return { staffRef: `S-${number}`, ...name, staffTypeId: await anyStaffType, isBillable: true, ...fields };
  };

  return {
    staffType,
    /** The body of a request that creates a staff member. */
    newPerson,
    async person(fields: object = {}): Promise<StaffRow> {
      const { status, body } = await call<StaffRow>('POST', '/api/v1/staff', await newPerson(fields));
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body;
    },
    async client(fields: object = {}): Promise<string> {
      return (await make('Client', { name: `Client ${++counter}`, ...fields })).id;
    },
    async taskType(fields: object = {}): Promise<string> {
      const number = ++counter;
      const settings = { isBillable: true, billingMethod: 'HOURLY' };
      return (await make('TaskType', { displayName: `Tasks ${number}`, code: `K${number}`, ...settings, ...fields }))
        .id;
    },
    async job(fields: object = {}): Promise<string> {
      const attributes = { name: `Job ${++counter}`, billingType: 'TIME_AND_MATERIALS', ...fields };
      const clientId = 'clientId' in fields ? fields.clientId : await this.client();
      return (await make('Job', { ...attributes, clientId })).id;
    },
    async task(fields: object = {}): Promise<string> {
      const taskTypeId = 'taskTypeId' in fields ? fields.taskTypeId : await this.taskType();
      const jobId = 'jobId' in fields ? fields.jobId : await this.job();
      return (await make('Task', { name: `Task ${++counter}`, sequence: 0, ...fields, taskTypeId, jobId })).id;
    },
    async template(fields: object = {}): Promise<string> {
      const attributes = { name: `Template ${++counter}`, billingType: 'TIME_AND_MATERIALS', ...fields };
      return (await make('JobTemplate', attributes)).id;
    },
    /** Returns the audit rows and events of a row, oldest first. Events that violate the contract throw. */
    trace: async (entityId: string): Promise<Trace> =>
      store.read(tenant.id, async (session) => {
        const audit = await session.all<Trace['audit'][number]>(sql`
          select operation, before, after from audit_log where entity_id = ${entityId} order by (after ->> 'version')::integer`);
        const events = await session.all<Trace['events'][number] & { id: string; occurredAt: string }>(sql`
          select id, entity_type as "entityType", operation, sequence, coalesce(changed_fields, '{}') as "changedFields", is_import as "isImport", data,
            occurred_at as "occurredAt"
          from recorded_event where entity_id = ${entityId} order by sequence`);
        for (const event of events) {
          const payload = { ...event, entityId, tenant: tenant.name };
          if (ajv.validate(payloadSchema(event.entityType, event.operation), payload)) continue;
          throw new Error(`The event violates the contract: ${ajv.errorsText()}. ${JSON.stringify(payload)}`);
        }
        return { audit, events: events.map(({ id: _, occurredAt: __, ...event }) => event) };
      }),
    /** Runs SQL as the owner of the tenant's rows, for changes without an operation. */
    change: (statement: ReturnType<typeof sql>) => store.write(tenant.id, (transaction) => transaction.all(statement)),
    rows: <T = Row>(query: RawBuilder<T>): Promise<T[]> => store.read(tenant.id, (session) => session.all(query)),
  };
}

/** Returns the status, code and error pointers of a request that must fail. */
export async function failureOf(
  response: Promise<HttpResponse<unknown>>,
): Promise<readonly [number, string, ...string[]]> {
  const { status, body } = await response;
  const { code, errors = [] } = body as Failed;
  return [status, code, ...errors.map((error) => error.pointer)];
}

/** Runs the same work several times concurrently. */
export function atOnce<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

/** Sends requests of staff and project operations. */
export function operationsOf({ call }: TestCaller) {
  const post =
    <Body = Row>(path: string) =>
    (body: object = {}, headers?: Readonly<Record<string, string>>) =>
      call<Body>('POST', path, body, headers);
  return {
    createStaff: post<StaffRow>('/api/v1/staff'),
    updateStaff: (id: string, body: object, headers?: Readonly<Record<string, string>>) =>
      call<StaffRow>('PUT', `/api/v1/staff/${id}`, body, headers),
    getStaff: (id: string) => call<StaffRow>('GET', `/gql/v1/staff/${id}`),
    listStaff: post<{ data: StaffRow[] }>('/gql/v1/staff'),
    searchStaff: post<{ data: StaffRow[]; total?: number }>('/gql/v1/staff/search'),
    createStaffTypes: post<{ items: (Row & { index: number })[] }>('/api/v1/staff/type/batch/create'),
    lookupStaffTypes: post<{ data: Row[]; hasMore: boolean; nextCursor: string | null }>(
      '/api/v1/staff/type/batch/lookup',
    ),
    getJob: (id: string) => call<Row>('GET', `/gql/v1/job/${id}`),
    listJobs: post<{ data: Row[] }>('/gql/v1/jobs'),
    getProject: (id: string) => call<Row>('GET', `/gql/v1/project/${id}`),
    listProjects: post<{ data: Row[] }>('/gql/v1/projects'),
    searchProjects: post<{ data: Row[]; total?: number }>('/gql/v1/projects/search'),
    listJobTemplates: post<{ data: Row[] }>('/gql/v1/job_templates'),
    createProjectsFromTemplate: post<{ jobs: readonly CreatedJob[] }>('/api/v1/projects/create_from_template'),
    assignStaff: post<{ assigned: Assignments }>('/api/v1/projects/assign_staff'),
    removeStaff: post<{ removed: Assignments; notFound: readonly object[] }>('/api/v1/projects/remove_staff'),
    getTask: (id: string) => call<Row>('GET', `/v1/task/${id}`),
    searchTasks: post<{ data: Row[] }>('/v1/tasks/search'),
    searchTaskTypes: post<{ data: Row[] }>('/v1/task-types/search'),
    listTaskTypes: () => call<{ data: Row[]; hasMore: boolean }>('GET', '/v1/task-types'),
  };
}

interface CreatedJob {
  readonly index: number;
  readonly id: string;
  readonly jobRef: string;
  readonly name: string;
  readonly status: string;
  readonly taskIds: readonly string[];
}

interface Assignments {
  readonly staffJobAssignments: readonly (Row & { readonly index: number | null })[];
  readonly staffTaskAssignments: readonly (Row & { readonly index: number | null })[];
}
