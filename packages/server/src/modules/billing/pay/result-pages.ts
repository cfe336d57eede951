import { type HtmlContent, html } from '../../../wire/html.ts';
import { type PageResult, pageResult } from '../../../wire/result.ts';
import { formatDay, formatMoney } from '../../documents/index.ts';
import type { PaymentAttempt } from './attempt.ts';
import { layout, messagePage } from './layout.ts';
import type { LinkPage, LinkPayment } from './link-page.ts';

const askAgain = (orgName: string) => html`<p>Ask ${orgName} for a new link if you still want to pay.</p>`;

/** The receipt, for the browser that paid. */
export function receiptPage(
  { orgName, clientName, currency }: LinkPage,
  payment: LinkPayment,
  isTest: boolean,
): string {
  const { heading, tone, text } = outcomeOf(payment, orgName);
  const allocated = payment.allocations.length > 0;
  const body = html`<div class="card">
<div class="alert ${tone}" role="status"><p>${text}</p></div>
<h1>${heading}</h1>
<dl>
<dt>Amount</dt><dd><strong>${formatMoney(payment.amount, currency)}</strong></dd>
<dt>Paid to</dt><dd>${orgName}</dd>
<dt>For</dt><dd>${clientName}</dd>
<dt>Payment number</dt><dd>${payment.number}</dd>
<dt>Date</dt><dd>${formatDay(payment.date, 'en-US', 'medium')}</dd>
<dt>Paid by</dt><dd>${methodOf(payment)}</dd>
${payment.payerName !== null && html`<dt>Payer</dt><dd>${payment.payerName}${payment.payerEmail !== null && html`, ${payment.payerEmail}`}</dd>`}
</dl>
${
  allocated &&
  html`<table><caption>${payment.status === 'PENDING' ? 'What it will pay' : 'What it paid'}</caption>
<thead><tr><th scope="col">Invoice</th><th scope="col">Amount</th></tr></thead>
<tbody>${payment.allocations.map(({ invoiceNumber, amount }) => html`<tr><th scope="row">${invoiceNumber}</th><td>${formatMoney(amount, currency)}</td></tr>`)}</tbody></table>`
}
${
  /[1-9]/.test(payment.unapplied) &&
  html`<p>${formatMoney(payment.unapplied, currency)} ${allocated ? 'is more than was due, and ' : ''}will be kept as a credit of ${clientName} with ${orgName}.</p>`
}
<p class="lead">Keep this page or print it. You can open it again with the same link in this browser.</p>
</div>`;
  return layout({ title: `${heading} – ${orgName}`, orgName, isTest, body });
}

function outcomeOf({ status, failureCode, failureMessage }: LinkPayment, orgName: string) {
  const reason = failureMessage === null ? '' : ` ${failureMessage}${failureCode === null ? '' : ` (${failureCode})`}`;
  switch (status) {
    case 'PENDING':
      return {
        heading: 'Payment on its way',
        tone: '',
        text: 'Your bank is processing the payment. This takes one to four business days; this page shows the result.',
      };
    case 'FAILED':
      return {
        heading: 'The bank rejected the payment',
        tone: 'bad',
        text: html`Nothing was paid.${reason} Ask ${orgName} for a new link.`,
      };
    case 'RETURNED':
      return {
        heading: 'The payment was returned',
        tone: 'bad',
        text: html`The payment was returned, and the amount is due again.${reason} Ask ${orgName} for a new link.`,
      };
    case 'REFUNDED':
      return { heading: 'Payment refunded', tone: '', text: 'The whole amount was refunded.' };
    case 'PARTIALLY_REFUNDED':
      return { heading: 'Receipt', tone: '', text: 'A part of the amount was refunded.' };
    default:
      return { heading: 'Receipt', tone: 'good', text: 'Thank you. The payment is complete.' };
  }
}

function methodOf({ method, cardBrand, last4 }: LinkPayment): string {
  const name = method === 'ACH' ? 'US bank account' : (cardBrand ?? 'Card');
  return last4 === null ? name : `${name} ending in ${last4}`;
}

/** The page of a paid link for every other browser. */
export function usedPage({ orgName }: LinkPage): string {
  return messagePage({
    title: `Already used – ${orgName}`,
    orgName,
    heading: 'This link was already used',
    text: html`<p>This link can be used once, and a payment has already been made with it. To see the receipt, open the link in the browser in which you paid.</p>${askAgain(orgName)}`,
  });
}

const ends: Readonly<Record<'EXPIRED' | 'CANCELLED' | 'INVALIDATED', { heading: string; text: string }>> = {
  EXPIRED: { heading: 'This link has expired', text: 'It was not paid in time, so it can no longer be used.' },
  CANCELLED: { heading: 'This link was cancelled', text: 'The sender cancelled it.' },
  INVALIDATED: {
    heading: 'This link is no longer valid',
    text: 'The amount due has changed since the link was sent: an invoice was paid in another way, or cancelled.',
  },
};

/** @param own the attempt of this browser; undefined for all others */
export function endedPage(
  link: LinkPage,
  status: 'EXPIRED' | 'CANCELLED' | 'INVALIDATED',
  own: PaymentAttempt | undefined,
): string {
  const { heading, text } = ends[status];
  const { orgName } = link;
  return messagePage({
    title: `${heading} – ${orgName}`,
    orgName,
    heading,
    text: html`<p>${text}</p><p>${own === undefined ? endForOthers(link) : endForPayer(link, own)}</p>${askAgain(orgName)}`,
  });
}

function endForOthers({ payment }: LinkPage): string {
  return payment === undefined ? 'Nothing was charged.' : 'A payment that was made after that is refunded in full.';
}

/** What became of the payment of somebody who was paying when the link ended. */
function endForPayer({ currency, payment }: LinkPage, { amount, status }: PaymentAttempt): string {
  const sum = `Your payment of ${formatMoney(amount, currency)}`;
  if (status === 'DECLINED') return `${sum} was not completed. Nothing was charged.`;
  switch (payment?.status) {
    case 'PENDING':
      return `${sum} is already on its way from your bank. It will be refunded in full when it arrives.`;
    case 'REFUNDED':
      return `${sum} was made after that and was refunded in full. Your bank can take up to ten business days to show it.`;
    case 'FAILED':
      return `${sum} failed at your bank. Nothing was charged.`;
    case 'RETURNED':
      return `${sum} was returned by your bank.`;
    default:
      return `${sum} was made after that. It will be refunded in full.`;
  }
}

export interface ProcessingPage {
  readonly link: LinkPage;
  /** The path of the page of the link. */
  readonly path: string;
  /** Lets the browser that started the payment continue it; undefined for all others. */
  readonly own: { readonly attempt: PaymentAttempt; readonly formKey: string } | undefined;
  readonly isTest: boolean;
}

/** Renders the page until the result is known. */
export function processingPage({ link, path, own, isTest }: ProcessingPage): string {
  const { orgName } = link;
  const canGoOn = own !== undefined && own.attempt.actionUrl !== null;
  const text: HtmlContent = canGoOn
    ? html`<p>The payment of ${formatMoney(own.attempt.amount, own.attempt.currency)} is waiting for you. Continue with it, or cancel it to start again.</p>
<a class="button" href="${path}/continue">Continue</a>
<form method="post" action="${path}/cancel"><input type="hidden" name="formKey" value="${own.formKey}"><button type="submit" class="plain">Cancel this payment</button></form>`
    : html`<div role="status"><p>${own === undefined ? 'Someone is already paying with this link.' : 'We are waiting for the result of your payment. Do not pay again.'}</p></div>
<p class="lead"><span data-watched hidden>This page shows the result as soon as it is known. </span><a href="${path}">Check now</a></p>`;
  const heading = canGoOn ? 'Payment not finished' : 'Payment in progress';
  return messagePage({
    title: `${heading} – ${orgName}`,
    orgName,
    isTest,
    heading,
    text,
    isWatched: !canGoOn,
  });
}

/**
 * Forwards the payer to the next step. A redirect of a form would require an exception in the content security policy for
 * each processor.
 */
export function continuePage({ orgName }: LinkPage, url: string, isTest: boolean): string {
  return messagePage({
    title: `Continue – ${orgName}`,
    orgName,
    isTest,
    heading: 'One more step',
    text: html`<p>You are being taken to the next step of the payment.</p><a class="button" href="${url}">Continue</a>`,
    forwardTo: url,
  });
}

/** The sandbox's replacement for the page of a bank. */
export function challengePage({ orgName }: LinkPage, attempt: PaymentAttempt, formKey: string): string {
  return messagePage({
    title: `Confirm the payment – ${orgName}`,
    orgName,
    isTest: true,
    heading: 'Confirm the payment',
    text: html`<p>In a real payment, your bank would now ask you to confirm the payment of ${formatMoney(attempt.amount, attempt.currency)} to ${orgName}.</p>
<form method="post"><input type="hidden" name="formKey" value="${formKey}">
<button type="submit" name="answer" value="confirm">Confirm</button>
<button type="submit" name="answer" value="reject" class="plain">Reject</button></form>`,
  });
}

export function unavailablePage({ orgName }: LinkPage): string {
  return messagePage({
    title: `Not available – ${orgName}`,
    orgName,
    heading: 'Online payment is not available',
    text: html`<p>This link cannot be paid online at the moment. Ask ${orgName} how to pay.</p>`,
  });
}

/** The same for every unknown token, whatever the reason. */
export function unknownPage(): string {
  return messagePage({
    title: 'Link not found',
    heading: 'Link not found',
    text: html`<p>Check that you opened the whole link, as it was sent to you. If you did, ask the sender for a new one.</p>`,
  });
}

/** A page for a request that failed, with a message for the payer. */
export function failurePage(status: number, retryAfter: string | undefined, requestId: string): string {
  const again = retryAfter === undefined ? 'Try again in a minute.' : `Try again in ${retryAfter} seconds.`;
  const heading = status === 429 ? 'Too many requests' : 'Something went wrong';
  const text =
    status === 429
      ? `There were too many requests from your network, or for this link. ${again}`
      : `The page could not be shown. If you have just submitted a payment, open the link again to see whether it was completed. Do not pay twice. ${again}`;
  return messagePage({
    title: heading,
    heading,
    text: html`<p>${text}</p><p class="lead">Reference: ${requestId}</p>`,
  });
}

/** A page for a form without a valid key for this browser. */
export function foreignFormPage(path: string): string {
  return messagePage({
    title: 'Form not accepted',
    heading: 'Open the link again',
    text: html`<p>We could not confirm that the form was sent from this page. Allow cookies for this site, and open the payment page again. Nothing was charged.</p>
<a class="button" href="${path}">Open the payment page</a>`,
  });
}

export function wrongMethod(allowed: readonly string[]): PageResult {
  return pageResult(405, failurePage(405, undefined, ''), { Allow: allowed.join(', ') });
}
