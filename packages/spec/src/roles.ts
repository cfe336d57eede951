import { impliedRoles } from '../generated/operations.ts';

/** Markers in `x-roles` for operations that require no role: any valid token, or no token. They cannot be granted. */
export const anyToken = 'ANY';
export const noToken = 'PUBLIC';

const everyone: readonly string[] = impliedRoles.everyone;
const exceptions: readonly string[] = impliedRoles.exceptions;

/** Whether one of the required roles is held, implied by that of an administrator, or held by everyone. */
export function hasRole(held: ReadonlySet<string>, required: readonly string[]): boolean {
  const isAdministrator = held.has(impliedRoles.administrator);
  return required.some(
    (role) => everyone.includes(role) || held.has(role) || (isAdministrator && !exceptions.includes(role)),
  );
}

interface Restricted {
  readonly roles: readonly string[];
  readonly additionalRoles: readonly string[];
}

/** Whether the roles allow to call an operation. */
export function mayCall({ roles, additionalRoles }: Restricted, held: ReadonlySet<string>): boolean {
  const isAllowed = roles.includes(anyToken) || hasRole(held, roles);
  return isAllowed && (additionalRoles.length === 0 || hasRole(held, additionalRoles));
}

/** The roles that an operation requires, in words: `A role`, or `A or B role and the C role`. */
export function requiredRoles({ roles, additionalRoles }: Restricted): string {
  const choices = [roles, additionalRoles].filter(({ length }) => length > 0);
  return choices.map((choice) => `${choice.join(' or ')} role`).join(' and the ');
}
