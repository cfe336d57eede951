/** What an attacker sends, over and over again, on each of its connections. */
export interface Attack {
  readonly name: string;
  readonly connections: number;
  /** The only role of the API user that attacks. */
  readonly role: string;
  readonly path: string;
  body(): string;
  /** Bytes a second on each connection; as fast as it goes, if left out. */
  readonly pace?: number;
}

const alternatives = (length: number, one: (index: number) => object) => ({
  where: { _or: Array.from({ length }, (_, index) => one(index)) },
  includeTotal: true,
});
const megabyte = 1024 * 1024;
/** A body that is created once: what creating it costs is no part of the measurement. */
const fixed = (create: () => string) => {
  let body: string | undefined;
  return () => {
    body ??= create();
    return body;
  };
};
let numbers = 0;

export const attacks: readonly Attack[] = [
  {
    name: 'search beyond the limits',
    connections: 12,
    role: 'CNTCT_R',
    path: '/gql/v1/contacts/search',
    body: () => JSON.stringify(alternatives(64, () => ({ contactClients: { clientRef: { _ilike: '%zz0%' } } }))),
  },
  {
    name: 'costly search within the limits',
    connections: 12,
    role: 'CNTCT_R',
    path: '/gql/v1/contacts/search',
    body: () =>
      JSON.stringify(
        alternatives(6, (index) => ({
          active: { _neq: false },
          contactClients: { clientRef: { _ilike: `%${index}%` } },
        })),
      ),
  },
  {
    name: '1 MB bodies, invalid',
    connections: 200,
    role: 'API_ADMIN',
    path: '/api/v1/contacts/upsert',
    body: fixed(() => padded('{"contacts":[', '{"a":1}', ']}')),
  },
  {
    name: '1 MB bodies, valid until the end',
    connections: 200,
    role: 'API_ADMIN',
    path: '/api/v1/contacts/upsert',
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
    name: 'slow bodies',
    connections: 200,
    role: 'API_ADMIN',
    path: '/api/v1/contacts/upsert',
    body: fixed(() => padded('{"contacts":[', '{}', ']}')),
    pace: 100,
  },
  {
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
];

const links = Array.from({ length: 100 }, (_, index) => ({
  clientRef: `C-${String(index + 1).padStart(6, '0')}`,
  roles: ['OTHER'],
}));

/** A body of as many items as fit into a megabyte. */
function padded(start: string, item: string, end: string): string {
  const count = Math.floor((megabyte - start.length - end.length) / (item.length + 1));
  return `${start}${Array.from({ length: count }, () => item).join(',')}${end}`;
}
