import type { components } from '@financial-automation/spec';
import { schemaOf } from '../../../contract/contract.ts';
import { Rejection } from '../../../contract/rejection.ts';

type PaymentFilter = components['schemas']['PaymentFilterExpression'];

const schema = schemaOf('PaymentFilterExpression');

/** The values that the filter of a subscription to payments can have. */
export const paymentFilters = (schema.enum ?? []) as readonly PaymentFilter[];

/** Payments through links of the subscribing API user: the one filter that needs no role beyond those to subscribe. */
export const ownPaymentLinks: PaymentFilter = 'ownPaymentLinksOnly';
/** Payments through links of any API user. */
export const allLinks: PaymentFilter = 'paymentLinkOnly';
export const allPayments: PaymentFilter = 'allPayments';

/** The roles of which one is required for a filter of payments; undefined if none is. */
export function rolesForFilter(filterExpression: string | null): readonly string[] | undefined {
  return schema['x-value-roles']?.[filterExpression ?? ''];
}

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
  if (!isFiltered(entityType)) return;
  if (!paymentFilters.some((filter) => filter === filterExpression))
    throw notAllowed(`Events of ${entityType} require a filterExpression: ${oneOf(paymentFilters)}.`, place);
  const required = rolesForFilter(filterExpression);
  if (required !== undefined && !holds(required))
    throw notAllowed(
      `The filter ${filterExpression} requires the ${oneOf(required)} role. Without it, use ${ownPaymentLinks}.`,
      place,
    );
}

function oneOf(words: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(words);
}

function notAllowed(detail: string, place: 'body' | 'query'): Rejection {
  const error = { in: place, pointer: '/filterExpression', code: 'FILTER_NOT_ALLOWED', detail } as const;
  return new Rejection('FILTER_NOT_ALLOWED', detail, { errors: [error] });
}
