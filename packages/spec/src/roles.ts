/** The only role that `API_ADMIN` does not imply: it extends the data that leaves the firm by webhook. */
const notImplied = 'PYMT_EVNT_ALL';

/** The role that every API user has, whatever its key lists: reference lists are not confidential within a tenant. */
const heldByAll = 'REF_R';

/** Markers in `x-roles` for operations that require no role: any valid token, or no token. They cannot be granted. */
export const anyToken = 'ANY';
export const noToken = 'PUBLIC';

/** Whether one of the required roles is held, implied by `API_ADMIN`, or held by everyone. */
export function hasRole(held: ReadonlySet<string>, required: readonly string[]): boolean {
  const isAdmin = held.has('API_ADMIN');
  return required.some((role) => role === heldByAll || held.has(role) || (isAdmin && role !== notImplied));
}
