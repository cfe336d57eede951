import { pasteable } from '../platform/operator-command.ts';
import type { Run } from './run-commands.ts';

/** API calls as an API user of a tenant, for commands that use a running server. */
export interface FirmCalls {
  call<Body>(method: string, path: string, body?: object): Promise<Body>;
}

/** Calls with an API key that only exists while a command runs. */
export interface FirmVisit {
  readonly calls: FirmCalls;
  /** Revokes the key. */
  end(): Promise<void>;
}

export interface VisitRequest {
  readonly tenant: string;
  readonly baseUrl: string;
  /** Name of the API user, which is created if it does not exist. */
  readonly user: string;
}

export const subscriptionsPath = '/api/v1/event-subscriptions';

export interface Subscription {
  readonly id: string;
  readonly active: boolean;
  readonly entityType: string;
  readonly entityTypes: readonly string[];
  readonly operations: readonly string[];
  readonly description: string | null;
}

/** All event subscriptions of the tenant. */
export async function* subscriptions({ call }: FirmCalls): AsyncGenerator<Subscription> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more = cursor === '' ? '' : `&cursor=${cursor}`;
    const page: { data: Subscription[]; nextCursor: string | null } = await call(
      'GET',
      `${subscriptionsPath}?pageSize=100${more}`,
    );
    yield* page.data;
    cursor = page.nextCursor;
  }
}

const json = { 'Content-Type': 'application/json' };
const roles = ['API_ADMIN', 'PYMT_EVNT_ALL'];

/**
 * Creates an API key, and authenticates with it. Calls name one of the client IDs that the tenant allows, if it has any.
 *
 * @throws Error with a sentence if the tenant does not exist, no server responds, or it rejects the caller.
 */
export async function visitFirm(run: Run, { tenant, baseUrl, user }: VisitRequest): Promise<FirmVisit> {
  const { id, key } = await run('api-key create', { tenant, user, roles, days: 1, description: undefined });
  const end = async () => {
    await run('api-key revoke', { tenant, id });
  };
  try {
    const { allowedClientIds } = await run('tenant show', { tenant });
    return { calls: await signIn(baseUrl, tenant, key, allowedClientIds[0]), end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function signIn(
  baseUrl: string,
  tenant: string,
  apiKey: string,
  clientId: string | undefined,
): Promise<FirmCalls> {
  const common = { ...json, ...(clientId === undefined ? {} : { 'X-Client-Id': clientId }) };
  const exchange = await send<{ access_token: string }>(`${baseUrl}/v1/auth/token`, 'POST', common, { apiKey });
  const headers = { ...common, Authorization: `Bearer ${exchange.access_token}`, Tenant: tenant };
  return { call: (method, path, body) => send(`${baseUrl}${path}`, method, headers, body) };
}

async function send<Body>(url: string, method: string, headers: Record<string, string>, body?: object): Promise<Body> {
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(url, init).catch(() => {
    throw new Error(`No server responds at ${new URL(url).origin}. Start one with: ${pasteable('start')}`);
  });
  if (!response.ok) throw new Error(`${method} ${url} failed: ${await response.text()}`);
  // Responses match the contract.
  return (await response.json()) as Body;
}
