import { type Cents, money } from '../books/cents.ts';
import { type Client, dueOn, type Invoice } from './firm.ts';

/** Allocations as they are sent; those of the same invoice are added up. */
export function sent(...all: readonly ReadonlyMap<Invoice, Cents>[]): object[] {
  const sums = new Map<string, Cents>();
  for (const parts of all) for (const [{ id }, part] of parts) sums.set(id, (sums.get(id) ?? 0n) + part);
  return [...sums].map(([invoiceId, part]) => ({ invoiceId, amount: money(part) }));
}

/** Invoices of a client that no pending payment names, which has planned what it covers. */
export function withoutPending({ payments, invoices }: Client): Invoice[] {
  const pending = new Set(
    payments.flatMap(({ status, allocations }) => (status === 'PENDING' ? [...allocations.keys()] : [])),
  );
  return invoices.filter((invoice) => !pending.has(invoice));
}

/** Shares an amount out over what is due, the oldest first. */
export function shareOut(amount: Cents, invoices: readonly Invoice[]): Map<Invoice, Cents> {
  const parts = new Map<Invoice, Cents>();
  let rest = amount;
  for (const invoice of invoices) {
    const due = dueOn(invoice);
    if (due >= rest) return parts.set(invoice, rest);
    if (due > 0n) parts.set(invoice, due);
    rest -= due;
  }
  return parts;
}
