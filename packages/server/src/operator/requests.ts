import { createDebugToken } from '../platform/auth/debug-token.ts';
import { databaseClock } from '../platform/database-clock.ts';
import { findRequest, type RecentRequest } from '../platform/process/recent-requests.ts';
import type { Operator, OperatorOf } from './operator.ts';
import { fromAllCells } from './tenants.ts';

export interface FoundRequest extends RecentRequest {
  readonly tenant: string;
}

/**
 * Finds a request of the last day by its ID, whichever process responded.
 *
 * @throws Error with a sentence if it is not kept.
 */
export async function requestNamed(
  { service: { store } }: OperatorOf<'store'>,
  { id }: { readonly id: string },
): Promise<FoundRequest> {
  const { found, unavailable } = await fromAllCells(store, (one) => findRequest(one, id));
  const request = found.find((one) => one !== undefined);
  if (request !== undefined) return request;
  const elsewhere = unavailable.length === 0 ? '' : ` These databases cannot be reached: ${unavailable.join(', ')}.`;
  throw new Error(
    `No request with this ID is kept. It is older than a day, was not of an API user, or was left out because there were many. The log has a line for each.${elsewhere}`,
  );
}

/** A token for the header `X-Debug-Token`: all steps of a request with it are logged, whatever LOG_LEVEL is. */
export async function debugToken(
  { service: { vault } }: Operator,
  { minutes }: { readonly minutes: number },
): Promise<{ token: string; expiresAt: string }> {
  const expires = Math.floor(databaseClock.now() / 1000) + minutes * 60;
  return { token: createDebugToken(vault, expires), expiresAt: new Date(expires * 1000).toISOString() };
}
