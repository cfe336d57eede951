import { type Books, money } from './bill-rows.ts';
import { dateText, instantAt, instantText } from './calendar.ts';
import type { LinkSeed, PaymentSeed } from './money.ts';
import type { ClientSeed } from './parties.ts';
import type { EntityRow, Row } from './table-loader.ts';

export function linkRows(
  links: readonly LinkSeed[],
  payments: readonly PaymentSeed[],
  clients: readonly ClientSeed[],
  apiUserId: string,
): EntityRow[] {
  const paymentOfLink = new Map(payments.map((payment) => [payment.link, payment]));
  return links.map(({ id, token, tokenHash, bill, day, status, number }) => {
    const paid = status === 'USED' ? paymentOfLink.get(number) : undefined;
    return {
      id,
      createdAt: instantAt(day, 17) + number,
      url: `https://api.financial-automation.example/pay/${token}`,
      token_hash: tokenHash,
      client_id: clients[bill.client]?.id ?? '',
      amount: money(bill.total),
      currency: 'USD',
      note: 'Thank you for your prompt payment.',
      status,
      active: status !== 'CANCELLED',
      expires_at: instantText(instantAt(day + 30, 17)),
      created_by_api_user_id: apiUserId,
      payment_id: paid?.id ?? null,
      used_at: paid === undefined ? null : instantText(instantAt(paid.day, 19)),
    };
  });
}

export function linkedInvoiceRows(links: readonly LinkSeed[]): Row[] {
  return links.map(({ id, bill }) => ({
    quick_payment_link_id: id,
    position: 0,
    invoice_id: bill.invoiceId ?? '',
    amount_due_at_creation: money(bill.total),
  }));
}

export function paymentRows(payments: readonly PaymentSeed[], { clients, links, notes }: Books): EntityRow[] {
  return payments.map(({ id, index, bill, day, amount, method, status, link, year, number, credit }) => {
    const ref = `PAY-${year}-${String(number).padStart(5, '0')}`;
    const [at, isSettled] = [instantAt(day, 19) + (index % 100_000), status !== 'PENDING' && status !== 'FAILED'];
    const isCard = method === 'CARD';
    return {
      id,
      createdAt: at,
      payment_number: ref,
      pms_ref: ref,
      client_id: clients[bill.client]?.id ?? '',
      payment_date: dateText(day),
      amount: money(amount),
      currency: 'USD',
      method,
      status,
      source: credit !== undefined ? 'CREDIT_NOTE' : link === undefined ? 'MANUAL' : 'QUICK_PAYMENT_LINK',
      quick_payment_link_id: links[link ?? -1]?.id ?? null,
      processor: isCard ? 'sandbox' : null,
      processor_ref: isCard ? `sbx_${index}` : null,
      card_brand: isCard ? 'Visa' : null,
      last4: isCard ? '4242' : null,
      fee_amount: isCard ? money(Math.floor(amount * 0.029)) : '0.00',
      refunded_amount: status === 'REFUNDED' ? money(amount) : '0.00',
      failure_code: status === 'FAILED' ? 'R01' : null,
      failure_message: status === 'FAILED' ? 'Insufficient funds' : null,
      settled_at: isSettled ? instantText(at) : null,
      returned_at: status === 'RETURNED' ? instantText(at + 86_400_000) : null,
      refunded_at: status === 'REFUNDED' ? instantText(at + 86_400_000) : null,
      check_number: method === 'CHECK' ? String(20_000 + index) : null,
      credit_note_id: credit === undefined ? null : (notes.get(bill)?.invoiceId ?? null),
      unapplied_amount: money(credit === 'unapplied' ? amount : 0),
    };
  });
}

export function allocationRows(payments: readonly PaymentSeed[]): Row[] {
  return payments.flatMap(({ id, index, bill, amount, status, day, credit }) =>
    credit !== 'unapplied' && (status === 'COMPLETED' || status === 'PENDING')
      ? [
          {
            payment_id: id,
            position: 0,
            invoice_id: bill.invoiceId ?? '',
            amount: money(amount),
            allocated_at: status === 'PENDING' ? null : instantText(instantAt(day, 19) + (index % 100_000)),
          },
        ]
      : [],
  );
}
