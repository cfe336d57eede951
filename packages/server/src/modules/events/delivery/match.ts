import { hasRole } from '@financial-automation/spec/roles';
import { readRolesOf } from '../catalog/catalog.ts';
import { allLinks, isFiltered, ownPaymentLinks, rolesForFilter } from '../subscriptions/payment-filter.ts';
import type { Message } from './message.ts';

/** What decides on the events that a subscription receives. */
export interface Subscriber {
  readonly entityType: string;
  readonly filterExpression: string | null;
  readonly createdByApiUserId: string;
  /** The roles that the API user has now; undefined where the user is inactive. */
  readonly roles: ReadonlySet<string> | undefined;
}

/** Whether the API user who subscribed may still receive what the subscription asks for. */
export function mayReceive({ entityType, filterExpression, roles }: Subscriber): boolean {
  if (roles === undefined) return false;
  if (isFiltered(entityType)) {
    if (filterExpression === ownPaymentLinks) return true;
    const required = rolesForFilter(filterExpression);
    if (required !== undefined && !hasRole(roles, required)) return false;
  }
  return hasRole(roles, readRolesOf(entityType));
}

/**
 * Whether an event passes the filter of a subscription. Filters of other types than payments are not evaluated. A
 * filter of a payment subscription that is none of the three was stored before they were required; it receives
 * everything.
 */
export function passesFilter(
  { entityType, filterExpression, createdByApiUserId }: Omit<Subscriber, 'roles'>,
  { event: { source, linkCreator } }: { readonly event: Pick<Message['event'], 'source' | 'linkCreator'> },
): boolean {
  if (!isFiltered(entityType)) return true;
  if (filterExpression === allLinks) return source === 'QUICK_PAYMENT_LINK';
  if (filterExpression === ownPaymentLinks) return linkCreator === createdByApiUserId;
  return true;
}
