import type { TestCaller, TestService } from '../service.ts';
import { only, recordsOf, type WriteItem, type WriteResult } from './records.ts';

/** An entry or a code of a request. */
interface Item {
  readonly type: string;
  readonly systemRef: string;
  readonly active?: boolean;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

export type Row = Readonly<Record<string, unknown>> & { readonly id: string; readonly version: number };

let counter = 0;

/** Returns a unique text. */
export function unique(prefix: string): string {
  counter += 1;
  return `${prefix}-${counter}`;
}

/** Sends requests of time and code operations, over HTTP. */
export function timeOf(caller: TestCaller) {
  const write = async (path: string, records: readonly Item[]): Promise<readonly WriteItem[]> => {
    const { status, body } = await caller.call<WriteResult>('POST', path, { records });
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body.records;
  };
  const entries = (records: readonly Item[]) => write('/api/v1/entries', records);
  return {
    codes: (records: readonly Item[]) => write('/api/v1/codes', records),
    entries,
    /** Writes one time entry. */
    time: async (systemRef: string, attributes: object, more: Pick<Item, 'active'> = {}): Promise<WriteItem> =>
      only(await entries([{ type: 'TimeEntry', systemRef, attributes: { ...attributes }, ...more }])),
    /** Writes one expense entry. */
    expense: async (systemRef: string, attributes: object, more: Pick<Item, 'active'> = {}): Promise<WriteItem> =>
      only(await entries([{ type: 'ExpenseEntry', systemRef, attributes: { ...attributes }, ...more }])),
    /** Returns the matching WIP rows. */
    async wip(where: object): Promise<readonly Row[]> {
      const { status, body } = await caller.call<{ data: Row[] }>('POST', '/gql/v1/wips/search', { where });
      if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
      return body.data;
    },
    async read(path: string): Promise<Row> {
      const { status, body } = await caller.call<Row>('GET', path);
      if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
      return body;
    },
  };
}

/** Returns the status of an item, or the code and the pointer of its error. */
export function outcomeOf({ status, error }: WriteItem): string {
  if (error === null) return status;
  return error.pointer === null ? error.code : `${error.code} ${error.pointer}`;
}

/** A test firm to record time in: each function creates a row with its required fields and the provided ones. */
export async function firmOf(service: TestService) {
  const { make } = recordsOf(service);
  const record = async (type: string, attributes: object) => (await make(type, attributes)).id;
  const staffTypeId = await record('StaffType', { name: unique('Type'), code: unique('T'), rank: 4, isBillable: true });
  const clientId = await record('Client', { name: unique('Client') });
  const taskTypeId = await record('TaskType', {
    displayName: unique('Tasks'),
    code: unique('K'),
    isBillable: true,
    billingMethod: 'HOURLY',
  });
  const rates = { billingRate: '100.00', averageRate: '80.00', currency: 'USD', effectiveFromDate: '2020-01-01' };
  const code = async (type: string, attributes: object) => {
    const text = unique('CODE');
    const item = {
      type,
      systemRef: text,
      attributes: { code: text, name: text, isBillable: type !== 'NonWorkCode', ...attributes },
    };
    const [written] = await timeOf(service).codes([item]);
    if (written?.status !== 'CREATED') throw new Error(JSON.stringify(written));
    return String(written.attributes?.code);
  };
  return {
    staffTypeId,
    clientId,
    taskTypeId,
    client: (fields: object = {}) => record('Client', { name: unique('Client'), ...fields }),
    staffType: (fields: object = {}) =>
      record('StaffType', { name: unique('Type'), code: unique('T'), rank: 4, isBillable: true, ...fields }),
    taskType: (fields: object = {}) => {
      const names = { displayName: unique('Tasks'), code: unique('K') };
      return record('TaskType', { ...names, isBillable: true, billingMethod: 'HOURLY', ...fields });
    },
    /** Creates a staff member with a default rate of 100 per hour. */
    async person(fields: object = {}): Promise<string> {
      const staffRef = unique('S');
      const name = { staffRef, firstName: 'Ada', lastName: staffRef, email: `${staffRef}@example.com` };
      const body = { ...name, staffTypeId, isBillable: true, rateCardAssignment: rates, ...fields };
      const response = await service.call<Row>('POST', '/api/v1/staff', body);
      if (response.status !== 201) throw new Error(JSON.stringify(response.body));
      return response.body.id;
    },
    job: (fields: object = {}) =>
      record('Job', { name: unique('Job'), clientId, billingType: 'TIME_AND_MATERIALS', ...fields }),
    task: (jobId: string, fields: object = {}) =>
      record('Task', { name: unique('Task'), jobId, taskTypeId, sequence: 0, ...fields }),
    /** Creates a code, and returns its text. */
    workCode: (fields: object = {}) => code('WorkCode', fields),
    nonWorkCode: (fields: object = {}) => code('NonWorkCode', fields),
    expenseCode: (fields: object = {}) => code('ExpenseCode', fields),
  };
}
