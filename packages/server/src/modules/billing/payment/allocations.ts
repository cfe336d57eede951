import { type Decimal, sum, zero } from '../../../platform/decimal.ts';

/** The part of a payment that is allocated to an invoice. */
export interface Allocation {
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly amount: Decimal;
  /** Null while the payment is pending. */
  readonly allocatedAt: string | null;
  /** The day for which it counts; null while the payment is pending, and for one that is not written yet. */
  readonly date: string | null;
}

/** An invoice that a payment can be allocated to. */
export interface PayableInvoice {
  readonly id: string;
  readonly dueDate: string;
  /** The amount due that pending payments do not cover. */
  readonly payable: Decimal;
}

export interface Share {
  readonly invoiceId: string;
  readonly amount: Decimal;
}

/** Allocates an amount to invoices, the earliest due date first. The rest is not allocated. */
export function spread(amount: Decimal, invoices: readonly PayableInvoice[]): Share[] {
  const byAge = [...invoices].sort((one, other) =>
    `${one.dueDate} ${one.id}` < `${other.dueDate} ${other.id}` ? -1 : 1,
  );
  let left = amount;
  const shares: Share[] = [];
  for (const { id, payable } of byAge) {
    const share = payable.lt(left) ? payable : left;
    if (!share.gt(zero)) continue;
    shares.push({ invoiceId: id, amount: share });
    left = left.minus(share);
  }
  return shares;
}

/**
 * Returns the allocations after a refund, which is taken from the newest first, and the amount taken from each invoice.
 */
export function takeNewest(
  allocations: readonly Allocation[],
  amount: Decimal,
): { readonly left: Allocation[]; readonly taken: Share[] } {
  const newestFirst = allocations
    .map((allocation, index) => ({ allocation, index }))
    .sort((one, other) => compareAge(other.allocation, one.allocation) || other.index - one.index);
  let rest = amount;
  const amounts = new Map(allocations.map(({ invoiceId, amount: whole }) => [invoiceId, whole]));
  const taken: Share[] = [];
  for (const { allocation } of newestFirst) {
    const share = allocation.amount.lt(rest) ? allocation.amount : rest;
    if (!share.gt(zero)) break;
    taken.push({ invoiceId: allocation.invoiceId, amount: share });
    amounts.set(allocation.invoiceId, allocation.amount.minus(share));
    rest = rest.minus(share);
  }
  const left = allocations.flatMap((allocation) => {
    const kept = amounts.get(allocation.invoiceId) ?? zero;
    return kept.gt(zero) ? [{ ...allocation, amount: kept }] : [];
  });
  return { left, taken };
}

function compareAge(one: Allocation, other: Allocation): number {
  const [early, late] = [one.allocatedAt ?? '', other.allocatedAt ?? ''];
  return early < late ? -1 : early > late ? 1 : 0;
}

export function sumOf(shares: readonly { readonly amount: Decimal }[]): Decimal {
  return sum(shares.map(({ amount }) => amount));
}
