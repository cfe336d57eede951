import { anyToken, hasRole, noToken } from '@financial-automation/spec/roles';
import { allOperations, type Operation } from './contract.ts';
import { Rejection } from './rejection.ts';

/** Whether the roles include one that the operation requires. */
export function mayCall(operation: Operation, held: ReadonlySet<string>): boolean {
  return operation.roles.includes(anyToken) || hasRole(held, operation.roles);
}

/** @throws Rejection `FORBIDDEN` if the roles do not include one that the operation requires. */
export function authorize(operation: Operation, held: ReadonlySet<string>): void {
  if (mayCall(operation, held)) return;
  throw new Rejection('FORBIDDEN', `This operation requires the ${operation.roles.join(' or ')} role.`);
}

/** Whether an operation can be called without a token. */
export function isPublic(operation: Operation): boolean {
  return operation.roles.includes(noToken);
}

/** @throws Error at start if an operation names no roles, which is a mistake in the contract. */
export function checkRoles(): void {
  const without = allOperations.filter((operation) => operation.roles.length === 0).map((operation) => operation.id);
  if (without.length > 0) throw new Error(`These operations name no roles: ${without.join(', ')}.`);
}
