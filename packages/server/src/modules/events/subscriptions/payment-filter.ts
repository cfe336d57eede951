import type { components } from '@financial-automation/spec';
import { Rejection } from '../../../contract/rejection.ts';

type PaymentFilter = components['schemas']['PaymentFilterExpression'];

/** The values that the filter of a subscription to payments can have. */
export const paymentFilters: readonly PaymentFilter[] = ['ownPaymentLinksOnly', 'paymentLinkOnly', 'allPayments'];

/** Payments through links of the subscribing API user: the one filter that needs no role beyond those to subscribe. */
export const ownPaymentLinks: PaymentFilter = 'ownPaymentLinksOnly';
/** Payments through links of any API user. */
export const allLinks: PaymentFilter = 'paymentLinkOnly';
export const allPayments: PaymentFilter = 'allPayments';

/** The role for the other filters. `API_ADMIN` does not imply it. */
export const roleForAll = 'PYMT_EVNT_ALL';

/** Whether the type has a filter that the service evaluates, and requires. Filters of other types are stored only. */
export function isFiltered(entityType: string): boolean {
  return entityType === 'Payment';
}

/**
 * Checks the filter of a subscription against the roles of the caller who creates, redirects or reactivates it.
 *
 * @throws Rejection `FILTER_NOT_ALLOWED`
 */
export function checkFilter(
  holds: (roles: readonly string[]) => boolean,
  entityType: string,
  filterExpression: string | null,
  place: 'body' | 'query' = 'body',
): void {
  if (!isFiltered(entityType) || filterExpression === ownPaymentLinks) return;
  if (!paymentFilters.some((filter) => filter === filterExpression)) {
    const choices = new Intl.ListFormat('en', { type: 'disjunction' }).format(paymentFilters);
    throw notAllowed(`Events of ${entityType} require a filterExpression: ${choices}.`, place);
  }
  if (!holds([roleForAll]))
    throw notAllowed(
      `The filter ${filterExpression} requires the ${roleForAll} role. Without it, use ${ownPaymentLinks}.`,
      place,
    );
}

function notAllowed(detail: string, place: 'body' | 'query'): Rejection {
  const error = { in: place, pointer: '/filterExpression', code: 'FILTER_NOT_ALLOWED', detail } as const;
  return new Rejection('FILTER_NOT_ALLOWED', detail, { errors: [error] });
}
