/** The one role that `API_ADMIN` does not imply: it extends what leaves the firm by webhook. */
const notImplied = 'PYMT_EVNT_ALL';

/** The role that every API user has, whatever its key lists: reference lists are no secret within a tenant. */
const heldByAll = 'REF_R';

/** Markers in `x-roles` for operations that require no role: any valid token, or no token. They cannot be granted. */
export const anyToken = 'ANY';
export const noToken = 'PUBLIC';

/** Whether one of the wanted roles is held, implied by `API_ADMIN`, or everybody's. */
export function hasRole(held: ReadonlySet<string>, wanted: readonly string[]): boolean {
  const isAdmin = held.has('API_ADMIN');
  return wanted.some((role) => role === heldByAll || held.has(role) || (isAdmin && role !== notImplied));
}
