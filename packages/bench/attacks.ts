import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** What an attacker does on each of its connections, over and over again. */
export interface Attack {
  readonly name: string;
  readonly kind: 'requests' | 'bodies without end' | 'texts';
  readonly connections: number;
  /** The only role of the API user that attacks. */
  readonly role: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body; or the only text that a connection sends. It is created once, because creating it is not measured. */
  body(): string | Buffer;
  /** Bytes of an endless body a second; all at once if left out. */
  readonly pace?: number;
}

const megabyte = 1024 * 1024;
const contactUpsert = '/api/v1/contacts/upsert';
const contactSearch = '/gql/v1/contacts/search';

/** An attack by requests to upsert contacts, unless it says otherwise. */
function attack(name: string, connections: number, more: Partial<Attack>): Attack {
  const { body = () => '', ...others } = more;
  const usual = { kind: 'requests', role: 'API_ADMIN', path: contactUpsert, headers: {} } as const;
  return { name, connections, ...usual, ...others, body: once(body) };
}

function search(name: string, connections: number, alternatives: readonly object[]): Attack {
  const body = () => JSON.stringify({ where: { _or: alternatives }, includeTotal: true });
  return attack(name, connections, { role: 'CNTCT_R', path: contactSearch, body });
}

function endless(name: string, connections: number, more: Partial<Attack>): Attack {
  return attack(name, connections, { kind: 'bodies without end', body: almostMegabyte, ...more });
}

function once<Body>(create: () => Body): () => Body {
  let body: Body | undefined;
  return () => {
    body ??= create();
    return body;
  };
}

const almostMegabyte = once(() => Buffer.alloc(megabyte - 1, '{"contacts":['.padEnd(1024)));
const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
const list = <Item>(length: number, item: (index: number) => Item) => Array.from({ length }, (_, index) => item(index));
const likeRef = (pattern: string) => ({ clientRef: { _ilike: pattern } });
const worst = list(6, (index) => ({ active: { _neq: false }, contactClients: likeRef(`%${index}%`) }));
const contact = { firstName: 'Noor', lastName: 'x'.repeat(100), email: 'noor@example.com', title: 'y'.repeat(100) };
const links = list(100, (index) => ({ clientRef: `C-${String(index + 1).padStart(6, '0')}`, roles: ['OTHER'] }));

export const attacks: readonly Attack[] = [
  search(
    'search beyond the limits',
    12,
    list(64, () => ({ contactClients: likeRef('%zz0%') })),
  ),
  search('costly search within the limits', 12, worst),
  search('100 costly searches at a time', 100, worst),
  attack('1 MB bodies, invalid', 200, { body: () => padded('{"contacts":[', '{"a":1}', ']}') }),
  attack('1 MB bodies, valid until the end', 200, {
    body: () => {
      const contacts = list(100, () => ({ ...contact, clients: links }));
      return JSON.stringify({ contacts: [...contacts, { ...contact, preferredChannel: 'PIGEON' }] });
    },
  }),
  attack('number with 120,000 zeros', 4, {
    role: 'CNTCT_R',
    path: contactSearch,
    headers: { 'content-encoding': 'gzip' },
    body: () => gzipSync(`{"pageSize":1.${'0'.repeat(120_000)}1}`),
  }),
  attack('unsorted combining marks', 4, {
    body: () => JSON.stringify({ contacts: [{ firstName: 'Noor', lastName: `a${'\u0301\u0316'.repeat(65_000)}` }] }),
  }),
  attack('duplicate keys', 4, {
    // The last of many names occurs twice.
    body: () => `{${list(49_000, (index) => `"name ${index}":1`).join(',')},"name 48999":1}`,
  }),
  attack('deep nesting', 4, {
    body: () => padded('{"contacts":[', `${'['.repeat(98)}${']'.repeat(98)}`, `,${'['.repeat(200)}`),
  }),
  attack('list of different objects where items are unique', 4, {
    path: '/api/v1/engagements/create',
    body: () => JSON.stringify({ jobIds: list(1_200, (index) => ({ index })) }),
  }),
  attack('failed exchanges of API keys', 50, {
    path: '/v1/auth/token',
    body: () => JSON.stringify({ apiKey: 'x'.repeat(15_000) }),
  }),
  attack('forged notifications of payments', 50, {
    path: '/pay/webhook',
    headers: { 'stripe-signature': `t=1,v1=${'0'.repeat(64)}` },
    body: () => JSON.stringify({ id: 'evt_1', object: 'event', data: 'x'.repeat(20_000) }),
  }),
  endless('slow bodies', 200, { headers: { 'Content-Length': String(megabyte) }, pace: 100 }),
  endless('stalled bodies, plain', 500, { headers: { 'Content-Length': String(megabyte) } }),
  endless('stalled bodies, chunked', 500, {
    headers: { 'Transfer-Encoding': 'chunked' },
    body: () => chunk(almostMegabyte()),
  }),
  endless('stalled bodies, gzip', 500, {
    headers: { 'Transfer-Encoding': 'chunked', 'Content-Encoding': 'gzip' },
    body: () => chunk(gzipSync(almostMegabyte()).subarray(0, -8)),
  }),
  attack('half-open connections', 2_000, { kind: 'texts', body: () => 'GET /healthz HTTP/1.1\r\nHost: x\r\n' }),
  attack('idle connections', 2_000, { kind: 'texts', body: () => 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' }),
  { ...attack('bulk writes, 100 records a call', 12, { path: '/api/v1/records' }), body: newRecords },
];

let numbers = 0;

/** Records that do not exist yet. */
function newRecords(): string {
  const records = list(100, () => {
    const systemRef = `bulk-${process.pid}-${++numbers}`;
    return { type: 'Contact', systemRef, attributes: { firstName: 'Noor', lastName: systemRef } };
  });
  return JSON.stringify({ records });
}

/** A body of as many items as fit into a megabyte. */
function padded(start: string, item: string, end: string): string {
  const count = Math.floor((megabyte - start.length - end.length) / (item.length + 1));
  return `${start}${list(count, () => item).join(',')}${end}`;
}

/** Several attacks at the same time. */
export interface Mixture {
  readonly name: string;
  readonly of: readonly Attack[];
}

/** About half of the attacks. The same seed draws the same ones. */
export function drawMixture(seed: number): Mixture {
  const isDrawn = (name: string) => createHash('sha256').update(`${seed}/${name}`).digest().readUInt8() < 128;
  return {
    name: `mixture ${seed}`,
    of: attacks.filter(({ name }) => isDrawn(name)),
  };
}
