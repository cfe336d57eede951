import { randomBytes } from 'node:crypto';
import { contract } from '../contract/contract.ts';
import { databaseClock } from '../platform/database-clock.ts';
import { type FirmCalls, subscriptions, subscriptionsPath } from './firm-calls.ts';

type Operation = 'CREATE' | 'UPDATE' | 'DELETE';
type Attributes = Readonly<Record<string, unknown>>;

interface Sample {
  readonly operations: readonly Operation[];
  /** Attributes of a new row, whose unique values end with the suffix. */
  readonly create: (calls: FirmCalls, suffix: string) => Promise<Attributes>;
  readonly change?: Attributes;
}

const all = ['CREATE', 'UPDATE', 'DELETE'] as const;

/** Rows with few required fields, written as records. */
const samples: Readonly<Record<string, Sample>> = {
  Client: {
    operations: all,
    create: async (_, suffix) => ({ name: `Trial client ${suffix}`, entityType: 'LLC' }),
    change: { name: 'Trial client, renamed' },
  },
  ClientGroup: {
    operations: all,
    create: async (_, suffix) => ({ name: `Trial group ${suffix}` }),
    change: { name: 'Trial group, renamed' },
  },
  Contact: {
    operations: all,
    create: async (_, suffix) => ({
      firstName: 'Noor',
      lastName: `Haddad ${suffix}`,
      email: `noor.${suffix}@example.com`,
    }),
    change: { firstName: 'Nora' },
  },
  StaffType: {
    operations: all,
    create: async (_, suffix) => ({ name: `Trial staff type ${suffix}`, code: suffix, rank: 5, isBillable: true }),
    change: { rank: 6 },
  },
  Payment: {
    operations: ['CREATE', 'UPDATE'],
    create: async ({ call }) => {
      const { data } = await call<{ data: { id: string }[] }>('POST', '/gql/v1/clients', { pageSize: 1 });
      const [client] = data;
      if (client === undefined) throw new Error('The tenant has no client. Trigger Client.CREATE first.');
      // Yesterday in UTC is in the future in no time zone.
      const paymentDate = databaseClock
        .instant()
        .toZonedDateTimeISO('UTC')
        .toPlainDate()
        .subtract({ days: 1 })
        .toString();
      return { clientId: client.id, paymentDate, amount: '10.00', currency: 'USD', method: 'CHECK', source: 'MANUAL' };
    },
    change: { note: 'Changed to try out events.' },
  },
};

const isSent = (type: string, operation: Operation) =>
  Object.values(contract.webhooks).some(
    ({ post: { 'x-event': event } }) => event.entityType === type && event.operation === operation,
  );

/** Types of which an existing row is changed, by metadata: creating one takes more than a call. */
const changed = Object.entries(contract.components.schemas).flatMap(([type, { 'x-record': record }]) =>
  samples[type] === undefined && record?.operations.includes('UPDATE') && isSent(type, 'UPDATE') ? [type] : [],
);

/** The events that a real change causes, such as `Client.CREATE`. For all others, the example in the contract is sent. */
export const triggers: readonly string[] = [
  ...Object.entries(samples).flatMap(([type, { operations }]) => operations.map((operation) => `${type}.${operation}`)),
  ...changed.map((type) => `${type}.UPDATE`),
];

interface WriteResult {
  readonly records: readonly {
    readonly id: string | null;
    readonly status: string;
    readonly error?: { readonly detail: string; readonly pointer?: string | null } | null;
  }[];
}

/**
 * Makes a real change that emits the event, if one call can: creates a row, and changes or deactivates it, or changes metadata of an
 * existing one. Otherwise sends the example of the event to the subscriptions that receive it.
 *
 * @returns the ID of the row, or of the event that was sent.
 * @throws Error with a sentence if there is no such event, if none of the subscriptions receives it, or the change is rejected.
 */
export async function triggerEvent(calls: FirmCalls, event: string): Promise<string> {
  const [type = '', operation = ''] = event.split('.');
  const sample = samples[type];
  if (!triggers.includes(event)) return sendExample(calls, type, operation);
  const suffix = randomBytes(4).toString('hex').toUpperCase();
  if (sample === undefined) return changeRow(calls, type, suffix);
  const record = { type, systemRef: `webhook-trigger-${suffix}` };
  const id = await write(calls, 'POST', { ...record, attributes: await sample.create(calls, suffix) });
  if (operation === 'UPDATE') await write(calls, 'PUT', { ...record, attributes: sample.change });
  if (operation === 'DELETE') await write(calls, 'DELETE', record);
  return id;
}

async function changeRow(calls: FirmCalls, type: string, suffix: string): Promise<string> {
  const { data } = await calls.call<{ data: { systemRef: string; active: boolean }[] }>(
    'POST',
    `/api/v1/records/batch/${type}`,
    { pageSize: 100 },
  );
  const row = data.find(({ active }) => active);
  if (row === undefined) throw new Error(`The tenant has no ${type} to change. Create one first.`);
  const metadata = { 'webhook-trigger': suffix };
  return write(calls, 'PUT', { type, systemRef: row.systemRef, metadata, attributes: {} });
}

async function sendExample(calls: FirmCalls, type: string, operation: string): Promise<string> {
  const { data } = await calls.call<{ data: { entityType: string; operation: string }[] }>(
    'GET',
    `${subscriptionsPath}/catalog?enabled=true`,
  );
  if (!data.some((one) => one.entityType === type && one.operation === operation))
    throw new Error(
      `There is no event "${type}.${operation}". There are: ${data.map((one) => `${one.entityType}.${one.operation}`).join(', ')}.`,
    );
  let sent = '';
  for await (const { id, active, entityTypes, operations } of subscriptions(calls)) {
    if (!active || !entityTypes.includes(type) || !operations.includes(operation)) continue;
    const path = `${subscriptionsPath}/${id}/test?entityType=${type}&operation=${operation}`;
    sent = (await calls.call<{ eventId: string }>('POST', path)).eventId;
  }
  if (sent === '') throw new Error(`No active subscription receives ${type}.${operation}. Start webhook listen first.`);
  return sent;
}

async function write({ call }: FirmCalls, method: string, record: object): Promise<string> {
  const { records } = await call<WriteResult>(method, '/api/v1/records', { records: [record] });
  const [written] = records;
  if (written?.id == null || written.status === 'FAILED')
    throw new Error(`The change was rejected: ${written?.error?.pointer ?? ''} ${written?.error?.detail ?? ''}`);
  return written.id;
}
