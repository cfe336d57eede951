import { hasRole, mayCall, noToken, requiredRoles } from '@financial-automation/spec/roles';
import { allOperations, type Operation, type Schema } from './contract.ts';
import { resolved } from './fields.ts';
import { inputsOf } from './parameters.ts';
import { Rejection } from './rejection.ts';

/** @throws Rejection `FORBIDDEN` if the roles do not include those that the operation requires. */
export function authorize(operation: Operation, held: ReadonlySet<string>): void {
  if (mayCall(operation, held)) return;
  throw new Rejection('FORBIDDEN', `This operation requires the ${requiredRoles(operation)}.`);
}

/**
 * Returns the roles of which one is required to send a value.
 *
 * @throws Error if the contract names none: without them, anybody could send it.
 */
export function rolesOfValue(schema: Schema | undefined, value: unknown): readonly string[] {
  const required = schema === undefined ? undefined : resolved(schema)['x-value-roles']?.[String(value)];
  if (required === undefined) throw new Error(`The contract names no roles of the value ${value}.`);
  return required;
}

/** Returns the roles of which one is required to send a value of a parameter of a read, or of a property of a body. */
export function rolesToSend(operation: Operation, name: string, value: unknown): readonly string[] {
  return rolesOfValue(inputsOf(operation)[name], value);
}

/** @throws Rejection `FORBIDDEN` if a caller sends a value without one of its roles. */
export function authorizeValue(operation: Operation, name: string, value: unknown, held: ReadonlySet<string>): void {
  const required = rolesToSend(operation, name, value);
  if (hasRole(held, required)) return;
  const detail = `${name} requires the ${required.join(' or ')} role.`;
  const location = operation.method === 'GET' ? 'query' : 'body';
  throw new Rejection('FORBIDDEN', detail, {
    errors: [{ in: location, pointer: `/${name}`, code: 'FORBIDDEN', detail }],
  });
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
