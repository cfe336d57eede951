import type { components } from '@financial-automation/spec';
import { schemaOf } from '../../../contract/contract.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Context } from '../../../entity/context.ts';

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
 * Checks that a filter is one that the service evaluates, where the type requires one.
 *
 * @throws Rejection `FILTER_NOT_ALLOWED`
 */
export function checkFilter(
  entityType: string,
  filterExpression: string | null,
  location: 'body' | 'query' = 'body',
): void {
  if (isFiltered(entityType) && !isPaymentFilter(filterExpression))
    throw notAllowed(`Events of ${entityType} require a filterExpression: ${oneOf(paymentFilters)}.`, location);
}

/**
 * Checks that the caller may receive the payments of a subscription. Those through links of the API user who subscribed are those of
 * somebody else for all others. A filter from before there were rules includes all payments.
 *
 * @returns whether nothing more is required, because they are the caller's own.
 * @throws Rejection `FILTER_NOT_ALLOWED`
 */
export function checkPayments(
  { caller, holds }: Pick<Context, 'caller' | 'holds'>,
  { filterExpression, createdByApiUserId }: { filterExpression: string | null; createdByApiUserId: string },
  location: 'body' | 'query' = 'body',
): boolean {
  const isOwn = filterExpression === ownPaymentLinks;
  if (isOwn && createdByApiUserId === caller.apiUserId) return true;
  const filter = isPaymentFilter(filterExpression) ? filterExpression : allPayments;
  const required = rolesForFilter(isOwn ? allLinks : filter) ?? [];
  if (holds(required)) return false;
  const whose = isOwn ? ' of another API user' : '';
  const advice = isOwn ? '' : ` Without it, use ${ownPaymentLinks}.`;
  throw notAllowed(`The filter ${filter}${whose} requires the ${oneOf(required)} role.${advice}`, location);
}

function isPaymentFilter(filterExpression: string | null): filterExpression is PaymentFilter {
  return paymentFilters.some((filter) => filter === filterExpression);
}

function oneOf(words: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(words);
}

function notAllowed(detail: string, location: 'body' | 'query'): Rejection {
  const error = { in: location, pointer: '/filterExpression', code: 'FILTER_NOT_ALLOWED', detail } as const;
  return new Rejection('FILTER_NOT_ALLOWED', detail, { errors: [error] });
}
