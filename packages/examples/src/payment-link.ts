/**
 * Sends the client with the oldest open invoice a link to pay it, waits for the payment, and prints a receipt. Open the printed page and
 * pay with a test card.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, orThrow, type Schema } from '@financial-automation/client';

const api = createClient({
  baseUrl: process.env.API_URL ?? 'http://127.0.0.1:3000',
  tenant: process.env.API_TENANT ?? 'hartwell',
  apiKey: process.env.API_KEY ?? '',
});

const invoice = await oldestOpenInvoice();
const { clientRef } = await orThrow(api.getClient({ path: { id: invoice.clientId } }));
const link = await orThrow(
  api.createQuickPaymentLink({
    // The amount is part of the key: after a part payment, the invoice needs another link.
    headers: { 'Idempotency-Key': `link-${invoice.id}-${invoice.amountDue}` },
    body: { clientRef, invoiceIds: [invoice.id], note: `Invoice ${invoice.invoiceNumber}` },
  }),
);
console.log(`${clientRef} owes ${invoice.amountDue} ${invoice.currency} on invoice ${invoice.invoiceNumber}.`);
console.log(`Open ${link.url} and pay with the card 4242 4242 4242 4242.`);

const payment = await paymentThrough(link.id);
console.log(`${payment.status}: ${payment.amount} by ${payment.method}, ${payment.netAmount} after fees.`);
const { status, amountDue } = await orThrow(api.getInvoice({ path: { id: invoice.id } }));
console.log(`Invoice ${invoice.invoiceNumber} is ${status}, and ${amountDue} is due.`);

async function oldestOpenInvoice(): Promise<Schema<'Invoice'>> {
  const body = {
    where: {
      status: { _in: ['POSTED' as const, 'PARTIALLY_PAID' as const] },
      // A credit note is posted, too, with 0.00 due.
      amountDue: { _gt: '0.00' },
      amountPending: { _eq: '0.00' },
    },
    orderBy: [{ dueDate: 'asc' as const }],
    pageSize: 1,
  };
  const [oldest] = (await orThrow(api.searchInvoices({ body }))).data;
  if (oldest === undefined) throw new Error('No invoice is open.');
  return oldest;
}

/** Polls the events of payments through own links. A program that can be reached subscribes to them instead. */
async function paymentThrough(linkId: string): Promise<Schema<'Payment'>> {
  let after: string | undefined;
  for (;;) {
    const query = {
      entityType: 'Payment' as const,
      filterExpression: 'ownPaymentLinksOnly' as const,
      ...(after !== undefined && { after }),
    };
    for await (const page of api.listEvents.pages({ query })) {
      for (const event of page.data) {
        if (event.entityType === 'Payment' && event.data.quickPaymentLinkId === linkId) return event.data;
      }
      after = page.nextCursor;
    }
    await pause(1000);
  }
}
