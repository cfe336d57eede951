import { allOperations, type Operation } from '../contract/contract.ts';
import { Problem } from '../http/problem.ts';

/** The one role that `API_ADMIN` does not imply: it widens what leaves the firm by webhook. */
const notImplied = 'PYMT_EVNT_ALL';

/** Markers of the contract for operations that need no role: any valid token, or no token. They cannot be granted. */
const anyToken = 'ANY';
export const noToken = 'PUBLIC';

/** Whether one of the roles is held, or implied by `API_ADMIN`. */
export function hasRole(held: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return wanted.some((role) => held.has(role) || (held.has('API_ADMIN') && role !== notImplied));
}

/** @throws Problem `FORBIDDEN` where the operation does not admit a caller with these roles. */
export function authorize(operation: Operation, held: ReadonlySet<string>): void {
  if (operation.roles.includes(anyToken) || hasRole(held, operation.roles)) return;
  throw new Problem('FORBIDDEN', `This call needs the role ${operation.roles.join(' or ')}.`);
}

/** Whether an operation is for callers without a token. */
export function isPublic(operation: Operation): boolean {
  return operation.roles.includes(noToken);
}

/** @throws Error at start where an operation admits nobody, because that is a mistake in the contract. */
export function checkRoles(): void {
  const without = allOperations.filter((operation) => operation.roles.length === 0).map((operation) => operation.id);
  if (without.length > 0) throw new Error(`These operations name no roles: ${without.join(', ')}.`);
}
