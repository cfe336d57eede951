/** One request of a scenario. */
export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
}

export interface Scenario {
  readonly name: string;
  /** Requests of a round. */
  readonly requests: number;
  /** Rounds before the first one that counts. */
  readonly warmUps: number;
  /** The database is read once: after that, the rest of the request is measured. */
  readonly withoutDatabase?: boolean;
  /** The n-th request. A run uses each number once, so that what it creates is new. */
  request(n: number): Request;
}

/** The most frequent kinds of calls. */
export function scenarios(clientId: string): readonly Scenario[] {
  const readById: Omit<Scenario, 'name'> = {
    requests: 2_000,
    warmUps: 12,
    request: () => ({ method: 'GET', path: `/gql/v1/client/${clientId}` }),
  };
  return [
    { name: 'read by id', ...readById },
    { name: 'read by id, without the database', ...readById, withoutDatabase: true },
    {
      name: 'search, 50 rows',
      requests: 300,
      warmUps: 12,
      request: () => ({
        method: 'POST',
        path: '/gql/v1/clients/search',
        body: {
          where: { status: { _eq: 'ACTIVE' }, name: { _ilike: '%harbor%' } },
          orderBy: [{ name: 'asc' }],
          pageSize: 50,
        },
      }),
    },
    {
      name: 'upsert, 100 entries',
      requests: 12,
      warmUps: 6,
      request: (n) => ({ method: 'POST', path: '/api/v1/contacts/upsert', body: upsert(n) }),
    },
    {
      name: 'onboard',
      requests: 150,
      warmUps: 6,
      request: (n) => ({ method: 'POST', path: '/api/v1/clients/v1/onboard', body: onboard(n) }),
    },
  ];
}

export function onboard(n: number): object {
  return {
    name: `Harbor & Pine ${n}`,
    status: 'ACTIVE',
    entityType: 'LLC',
    address: { line1: '1180 NW Dockside Ave', city: 'Portland', state: 'OR', postalCode: '97209', country: 'US' },
    preferredContact: { firstName: 'Ines', lastName: 'Calder', email: `ines.calder.${n}@example.com` },
    secondaryContact: { firstName: 'Tomas', lastName: 'Reyes', email: `tomas.reyes.${n}@example.com` },
  };
}

function upsert(n: number): object {
  const contacts = Array.from({ length: 100 }, (_, index) => ({
    firstName: 'Noor',
    lastName: `Haddad ${n}-${index}`,
    email: `noor.haddad.${n}.${index}@example.com`,
  }));
  return { contacts };
}
