import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Auth } from '../../../src/run/options.ts';
import { type Contract, type Operation, readContract } from '../../servers/kit/contract.ts';
import { rejection } from '../../servers/kit/rejection.ts';
import { type Call, type Design, type Request, type Result, serve } from '../../servers/kit/serve.ts';

/** Who calls, as the token says: `demo.TENANT.SCOPES.SIGNATURE`. */
export interface Caller {
  readonly tenant: string;
  readonly scopes: readonly string[];
}

export type Input = Readonly<Record<string, unknown>>;

/** Whether a server has a drift. */
export type Is = (name: string) => boolean;

/** The drifts of a server by the rule that they break. The text of each begins with its operation. */
export type Kinds = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A server in the shapes of a framework. Each start has its own data. */
export function stranger(
  name: string,
  kinds: Kinds,
  auth: Auth,
  design: (contract: Contract, is: Is) => Design<Caller>,
) {
  const spec = fileURLToPath(new URL(`${name}.yaml`, import.meta.url));
  let contract: Promise<Contract> | undefined;
  const drifts = Object.entries(kinds).flatMap(([group, own]) =>
    Object.entries(own).map(([drift, text]) => {
      const [operation = '', describe = ''] = text.split(/: (.*)/);
      const kind = group === 'roles' || group === 'invalid input' ? 'invalid input' : 'behavior';
      return { name: drift, kind: group === 'valid input' ? group : kind, group, operation, describe };
    }),
  );
  const start = async (drift?: string): Promise<{ url: string; stop(): Promise<void> }> => {
    contract ??= readContract(spec);
    const { url, close } = await serve(design(await contract, (one) => one === drift));
    return { url, stop: close };
  };
  return { spec, drifts, auth, start };
}

function tokenOf(tenant: string, scopes: readonly string[]): string {
  const content = `demo.${tenant}.${scopes.join('+')}`;
  return `${content}.${createHash('sha256').update(`${content} key`).digest('hex').slice(0, 24)}`;
}

/** Bearer tokens of a tenant, or of two. Some frameworks have another prefix. */
export function bearerAuth(scopes: readonly string[], tenants: 1 | 2, prefix: 'Bearer' | 'Token' = 'Bearer'): Auth {
  const as = (tenant: string, own: readonly string[]) => ({ authorization: `${prefix} ${tokenOf(tenant, own)}` });
  return {
    caller: () => as('acme', scopes),
    expired: () => ({ authorization: `${prefix} expired` }),
    ...(tenants === 2 && { otherTenant: () => as('globex', scopes) }),
    ...(scopes.length > 0 && {
      forbidden: () => as('acme', []),
      withScopes: (own: readonly string[]) => as('acme', own),
    }),
  };
}

/**
 * The caller of a bearer token.
 *
 * @param isAllowed overrides whether scopes suffice.
 * @throws Rejection with 401 or 403
 */
export function bearerCaller(
  { security }: Operation,
  { headers }: Request,
  isAllowed?: (scopes: readonly string[]) => boolean,
): Caller {
  const [, token = '', tenant = '', own = ''] =
    /^(?:bearer|token) (demo\.([a-z]+)\.([a-z_.:+]*)\.\w+)$/i.exec(headers.authorization ?? '') ?? [];
  const scopes = own.split('+').filter((scope) => scope !== '');
  if (token !== tokenOf(tenant, scopes)) throw rejection(401, 'Not authenticated', { 'www-authenticate': 'Bearer' });
  const needed = security.flatMap((one) => Object.values(one).flat());
  if (!(isAllowed?.(scopes) ?? needed.every((scope) => scopes.includes(scope))))
    throw rejection(403, `The token needs ${needed.join(', ')}`);
  return { tenant, scopes };
}

export const inputOf = ({ body }: Call<Caller>): Input => Object(body.value);

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Result => ({
  status,
  body,
  headers,
  mediaType: 'application/json',
});

/** @throws Rejection with 404 */
export function found<Found>(one: Found | undefined): Found {
  if (one === undefined) throw rejection(404, 'Not found');
  return one;
}

/** Times that never repeat, in milliseconds. */
export function clock(): () => string {
  let tick = Date.now() - 10_000_000;
  return () => {
    tick = Math.max(tick + 1, Date.now());
    return new Date(tick).toISOString();
  };
}

/** Counts the reads of each row. */
export function readCounter(): (row: object) => number {
  const reads = new WeakMap<object, number>();
  return (row) => {
    const count = (reads.get(row) ?? 0) + 1;
    reads.set(row, count);
    return count;
  };
}
