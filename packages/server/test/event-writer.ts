import { createTenantWithKeys } from './operate.ts';
import type { Environment } from './process.ts';
import type { Receiver } from './receiver.ts';

const json = { 'Content-Type': 'application/json' };

/** Creates a tenant in a separate database, for API calls over HTTP. @returns the API key */
export async function createFirm(environment: Environment): Promise<string> {
  const [key = ''] = await createTenantWithKeys(environment, 'firm', 'crm');
  return key;
}

export type Call = <Body>(method: string, path: string, body?: object) => Promise<Body>;

/** Sends requests of the firm. They fail if the response is not a success, or the server is down. */
export async function signInTo({ address }: { readonly address: string }, apiKey: string): Promise<Call> {
  const exchange = await fetch(`${address}/v1/auth/token`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ apiKey }),
  });
  const { access_token: token } = (await exchange.json()) as { access_token: string };
  const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: 'firm' };
  return async <Body>(method: string, path: string, body?: object): Promise<Body> => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Body;
  };
}

/** Creates a subscription to all events of client groups. @returns its ID */
export async function subscribeTo(call: Call, deliveryUrl: string): Promise<string> {
  const { id } = await call<{ id: string }>('POST', '/api/v1/event-subscriptions', {
    deliveryUrl,
    entityType: 'ClientGroup',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
  });
  return id;
}

/**
 * Creates client groups one after the other, and updates each of them twice, until the server is down or the signal is
 * aborted.
 */
export async function writeGroups(call: Call, prefix: string, signal?: AbortSignal): Promise<void> {
  for (let number = 1; signal?.aborted !== true; number++) {
    for (let version = 1; version <= 3; version++) {
      const record = {
        type: 'ClientGroup',
        systemRef: `${prefix}-${number}`,
        attributes: { name: `${prefix}-${number}.${version}` },
      };
      await call('POST', '/api/v1/records', { records: [record] });
    }
  }
}

/** Returns the version of every client group by its ID: each version has an event. */
export async function writtenGroups(call: Call): Promise<Map<string, number>> {
  const versions = new Map<string, number>();
  let cursor: string | null = null;
  do {
    const page: { data: { id: string; version: number }[]; nextCursor: string | null } = await call(
      'POST',
      '/gql/v1/client_groups',
      {
        pageSize: 1000,
        ...(cursor === null ? {} : { cursor }),
      },
    );
    for (const { id, version } of page.data) versions.set(id, version);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return versions;
}

/** Returns the versions of each row in the order of their arrival, without repetitions. */
export function arrivedVersions({ arrivals }: Receiver): Map<string, number[]> {
  const versions = new Map<string, number[]>();
  for (const { event } of arrivals) {
    const known = versions.get(event.entityId) ?? [];
    if (!known.includes(event.sequence)) known.push(event.sequence);
    versions.set(event.entityId, known);
  }
  return versions;
}

/** Returns the expected versions of the written groups: all of them, in their order. */
export function expectedVersions(written: ReadonlyMap<string, number>): Map<string, number[]> {
  const all = [...written].map(
    ([id, version]) => [id, Array.from({ length: version }, (_, index) => index + 1)] as const,
  );
  return new Map(all);
}
