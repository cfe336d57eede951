import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { gzipSync } from 'node:zlib';

/** What an attacker sends, over and over again, on each of its connections. */
interface Sent {
  readonly name: string;
  readonly connections: number;
  /** The only role of the API user that attacks. */
  readonly role: string;
}

/** Whole requests. */
interface Requests extends Sent {
  readonly kind: 'requests';
  readonly path: string;
  body(): string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Connections that send a text and then nothing more, from 25 addresses. They are opened again when they are closed. */
interface Connections extends Sent {
  readonly kind: 'connections';
  readonly text: string;
}

/** Bodies without their end. */
interface Bodies extends Sent {
  readonly kind: 'bodies';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  body(): Buffer;
  /** Bytes a second on each connection; all at once if left out. */
  readonly pace?: number;
}

/** Several attacks at the same time. */
interface Mixture extends Sent {
  readonly kind: 'mixture';
  readonly of: readonly string[];
}

/** Processes that keep all processors busy and send nothing: what the load of the machine alone does to others. */
interface Load extends Sent {
  readonly kind: 'load';
  readonly processes: number;
}

export type Attack = Requests | Connections | Bodies | Mixture | Load;

const alternatives = (length: number, one: (index: number) => object) => ({
  where: { _or: Array.from({ length }, (_, index) => one(index)) },
  includeTotal: true,
});
const megabyte = 1024 * 1024;
/** A body that is created once, because creating it is not measured. */
const fixed = <Body>(create: () => Body) => {
  let body: Body | undefined;
  return () => {
    body ??= create();
    return body;
  };
};
let numbers = 0;

const contactUpsert = '/api/v1/contacts/upsert';
const contactSearch = '/gql/v1/contacts/search';
const worstSearch = () =>
  JSON.stringify(
    alternatives(6, (index) => ({
      active: { _neq: false },
      contactClients: { clientRef: { _ilike: `%${index}%` } },
    })),
  );
const almostMegabyte = fixed(() => Buffer.alloc(megabyte - 1, '{"contacts":['.padEnd(1024)));
const megabyteChunk = fixed(() =>
  Buffer.concat([Buffer.from(`${almostMegabyte().length.toString(16)}\r\n`), almostMegabyte(), Buffer.from('\r\n')]),
);
const compressedWithoutEnd = fixed(() => gzipSync(almostMegabyte()).subarray(0, -8));

export const attacks: readonly Attack[] = [
  {
    kind: 'load',
    name: 'no attack, but all processors busy',
    connections: 1,
    role: 'CNTCT_R',
    processes: availableParallelism() + 1,
  },
  {
    kind: 'requests',
    name: 'search beyond the limits',
    connections: 12,
    role: 'CNTCT_R',
    path: contactSearch,
    body: () => JSON.stringify(alternatives(64, () => ({ contactClients: { clientRef: { _ilike: '%zz0%' } } }))),
  },
  {
    kind: 'requests',
    name: 'costly search within the limits',
    connections: 12,
    role: 'CNTCT_R',
    path: contactSearch,
    body: worstSearch,
  },
  {
    kind: 'requests',
    name: '100 costly searches at a time',
    connections: 100,
    role: 'CNTCT_R',
    path: contactSearch,
    body: worstSearch,
  },
  {
    kind: 'requests',
    name: '1 MB bodies, invalid',
    connections: 200,
    role: 'API_ADMIN',
    path: contactUpsert,
    body: fixed(() => padded('{"contacts":[', '{"a":1}', ']}')),
  },
  {
    kind: 'requests',
    name: '1 MB bodies, valid until the end',
    connections: 200,
    role: 'API_ADMIN',
    path: contactUpsert,
    body: fixed(() => {
      const contact = {
        firstName: 'Noor',
        lastName: 'x'.repeat(100),
        email: 'noor@example.com',
        title: 'y'.repeat(100),
      };
      const contacts = Array.from({ length: 100 }, () => ({ ...contact, clients: links }));
      return JSON.stringify({ contacts: [...contacts, { ...contact, preferredChannel: 'PIGEON' }] });
    }),
  },
  {
    kind: 'requests',
    name: 'number with 120,000 zeros',
    connections: 4,
    role: 'CNTCT_R',
    path: contactSearch,
    headers: { 'content-encoding': 'gzip' },
    body: fixed(() => gzipSync(`{"pageSize":1.${'0'.repeat(120_000)}1}`)),
  },
  {
    kind: 'requests',
    name: 'unsorted combining marks',
    connections: 4,
    role: 'API_ADMIN',
    path: contactUpsert,
    body: fixed(() => {
      const text = `a${'\u0301\u0316'.repeat(65_000)}`;
      return JSON.stringify({ contacts: [{ firstName: 'Noor', lastName: text }] });
    }),
  },
  {
    kind: 'requests',
    name: 'duplicate keys',
    connections: 4,
    role: 'API_ADMIN',
    path: contactUpsert,
    // The last of many names occurs twice.
    body: fixed(() => {
      const names = Array.from({ length: 49_000 }, (_, index) => `"name ${index}":1`);
      return `{${names.join(',')},${names.at(-1)}}`;
    }),
  },
  {
    kind: 'requests',
    name: 'deep nesting',
    connections: 4,
    role: 'API_ADMIN',
    path: contactUpsert,
    body: fixed(() => padded('{"contacts":[', `${'['.repeat(98)}${']'.repeat(98)}`, `,${'['.repeat(200)}`)),
  },
  {
    kind: 'requests',
    name: 'list of different objects where items are unique',
    connections: 4,
    role: 'API_ADMIN',
    path: '/api/v1/engagements/create',
    body: fixed(() => JSON.stringify({ jobIds: Array.from({ length: 1_200 }, (_, index) => ({ index })) })),
  },
  {
    kind: 'requests',
    name: 'failed exchanges of API keys',
    connections: 50,
    role: 'API_ADMIN',
    path: '/v1/auth/token',
    body: fixed(() => JSON.stringify({ apiKey: 'x'.repeat(15_000) })),
  },
  {
    kind: 'requests',
    name: 'forged notifications of payments',
    connections: 50,
    role: 'API_ADMIN',
    path: '/pay/webhook',
    headers: { 'stripe-signature': `t=1,v1=${'0'.repeat(64)}` },
    body: fixed(() => JSON.stringify({ id: 'evt_1', object: 'event', data: 'x'.repeat(20_000) })),
  },
  {
    kind: 'bodies',
    name: 'slow bodies',
    connections: 200,
    role: 'API_ADMIN',
    path: contactUpsert,
    headers: { 'Content-Length': String(megabyte) },
    body: almostMegabyte,
    pace: 100,
  },
  {
    kind: 'bodies',
    name: 'stalled bodies, plain',
    connections: 500,
    role: 'API_ADMIN',
    path: contactUpsert,
    headers: { 'Content-Length': String(megabyte) },
    body: almostMegabyte,
  },
  {
    kind: 'bodies',
    name: 'stalled bodies, chunked',
    connections: 500,
    role: 'API_ADMIN',
    path: contactUpsert,
    headers: { 'Transfer-Encoding': 'chunked' },
    body: megabyteChunk,
  },
  {
    kind: 'bodies',
    name: 'stalled bodies, gzip',
    connections: 500,
    role: 'API_ADMIN',
    path: contactUpsert,
    headers: { 'Transfer-Encoding': 'chunked', 'Content-Encoding': 'gzip' },
    body: fixed(() => {
      const bytes = compressedWithoutEnd();
      return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    }),
  },
  {
    kind: 'connections',
    name: 'half-open connections',
    connections: 2_000,
    role: 'CNTCT_R',
    text: 'GET /healthz HTTP/1.1\r\nHost: x\r\n',
  },
  {
    kind: 'connections',
    name: 'idle connections',
    connections: 2_000,
    role: 'CNTCT_R',
    text: 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  },
  {
    kind: 'requests',
    name: 'bulk writes, 100 records a call',
    connections: 12,
    role: 'API_ADMIN',
    path: '/api/v1/records',
    body: () => {
      const records = Array.from({ length: 100 }, () => {
        numbers += 1;
        const reference = `bulk-${process.pid}-${numbers}`;
        return { type: 'Contact', systemRef: reference, attributes: { firstName: 'Noor', lastName: reference } };
      });
      return JSON.stringify({ records });
    },
  },
  {
    kind: 'mixture',
    name: 'mixture',
    connections: 0,
    role: 'API_ADMIN',
    of: [
      '100 costly searches at a time',
      '1 MB bodies, invalid',
      'stalled bodies, plain',
      'stalled bodies, gzip',
      'half-open connections',
      'idle connections',
      'number with 120,000 zeros',
      'unsorted combining marks',
      'duplicate keys',
      'deep nesting',
      'list of different objects where items are unique',
      'failed exchanges of API keys',
      'forged notifications of payments',
    ],
  },
];

const links = Array.from({ length: 100 }, (_, index) => ({
  clientRef: `C-${String(index + 1).padStart(6, '0')}`,
  roles: ['OTHER'],
}));

/** A mixture of about half of the attacks. The same seed draws the same ones. */
export function drawMixture(seed: number): Mixture {
  const of = attacks
    .filter(({ kind }) => kind !== 'mixture' && kind !== 'load')
    .map(({ name }) => name)
    .filter((name) => createHash('sha256').update(`${seed}/${name}`).digest().readUInt8() < 128);
  return { kind: 'mixture', name: `mixture ${seed}`, connections: 0, role: 'API_ADMIN', of };
}

/** A body of as many items as fit into a megabyte. */
function padded(start: string, item: string, end: string): string {
  const count = Math.floor((megabyte - start.length - end.length) / (item.length + 1));
  return `${start}${Array.from({ length: count }, () => item).join(',')}${end}`;
}
