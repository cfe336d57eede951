import type { PayMethod } from '../../../platform/payments/processor.ts';
import { testAccounts, testCards, testRoutingNumber } from '../../../platform/payments/sandbox.ts';
import { type Html, type HtmlContent, html } from '../../../wire/html.ts';
import { formatDay, formatMoney } from '../../documents/index.ts';
import type { Entered, FieldError, FieldName, FormShape } from './form.ts';
import { layout } from './layout.ts';
import type { LinkPage } from './link-page.ts';

export interface FormPage {
  readonly link: LinkPage;
  readonly shape: FormShape;
  readonly entered: Entered;
  readonly errors: readonly FieldError[];
  readonly formKey: string;
  readonly isTest: boolean;
}

/** Renders the amount due, and the form to pay it. */
export function formPage({ link, shape, entered, errors, formKey, isTest }: FormPage): string {
  const { orgName, clientName, amount, currency, note } = link;
  const declined = link.attempt?.status === 'DECLINED' && errors.length === 0 ? link.attempt : undefined;
  const heading = amount === null ? 'Make a payment' : `Pay ${formatMoney(amount, currency)}`;
  const hasProblem = errors.length > 0 || declined !== undefined;
  const body = html`
<div class="card">
${errors.length > 0 && summaryOf(errors)}
${
  declined !== undefined &&
  html`<div class="alert bad" role="alert" tabindex="-1" autofocus><h2>The payment did not go through</h2>
<p>${declined.failureMessage} Nothing was charged, and you can try again.</p></div>`
}
<h1>${heading}</h1>
<p class="lead">To ${orgName}, for ${clientName}</p>
${note !== null && html`<p class="note">${note}</p>`}
${invoiceTable(link)}
${pendingNotice(link)}
<form method="post" novalidate>
<input type="hidden" name="formKey" value="${formKey}">
${shape.requiresAmount && amountField(currency, entered, errors)}
${methodFields(shape, entered, errors)}
${shape.requiresDetails && shape.methods.includes('CARD') && cardFields(errors)}
${shape.requiresDetails && shape.methods.includes('ACH') && accountFields(errors)}
<fieldset><legend>Your details</legend>
${field({ name: 'payerName', label: 'Name', errors, value: entered.payerName, autocomplete: 'name', required: true })}
${field({ name: 'payerEmail', label: 'Email (optional)', errors, value: entered.payerEmail, autocomplete: 'email', type: 'email' })}
</fieldset>
<button type="submit">${shape.requiresDetails ? heading : 'Continue to the payment'}</button>
</form>
</div>
${isTest && shape.requiresDetails && testNumbers(shape)}`;
  return layout({ title: `${hasProblem ? 'Error: ' : ''}${heading} – ${orgName}`, orgName, isTest, body });
}

function summaryOf(errors: readonly FieldError[]): Html {
  return html`<div class="alert bad" role="alert" tabindex="-1" autofocus aria-labelledby="summary"><h2 id="summary">Check what you entered</h2>
<ul>${errors.map(({ field: name, message }) => html`<li><a href="#${anchorOf(name)}">${message}</a></li>`)}</ul></div>`;
}

function anchorOf(name: FieldName): string {
  return name === 'method' ? 'method-CARD' : name;
}

function invoiceTable({ invoices, currency, amount }: LinkPage): HtmlContent {
  if (invoices.length === 0) return null;
  const isPart = amount !== null && invoices.reduce((sum, { due }) => sum + cents(due), 0n) !== cents(amount);
  return html`<table><caption>What this pays</caption>
<thead><tr><th scope="col">Invoice</th><th scope="col">Due</th><th scope="col">Amount due</th></tr></thead>
<tbody>${invoices.map(
    ({ number, dueDate, due }) =>
      html`<tr><th scope="row">${number}</th><td class="when">${formatDay(dueDate, 'en-US', 'medium')}</td><td>${formatMoney(due, currency)}</td></tr>`,
  )}</tbody>
${
  amount !== null &&
  html`<tfoot><tr><th scope="row" colspan="2">${isPart ? 'You pay, oldest invoice first' : 'Total'}</th><td>${formatMoney(amount, currency)}</td></tr></tfoot>`
}</table>`;
}

function cents(amount: string): bigint {
  return BigInt(amount.replace('.', ''));
}

function pendingNotice({ invoices, currency }: LinkPage): HtmlContent {
  const pending = invoices.filter((one) => cents(one.pending) > 0n);
  return pending.map(
    ({ number, pending: amount }) =>
      html`<p class="alert">${formatMoney(amount, currency)} for ${number} is already being transferred from a bank account. Do not pay it twice.</p>`,
  );
}

function amountField(currency: string, { amount }: Entered, errors: readonly FieldError[]): Html {
  return field({
    name: 'amount',
    label: `Amount in ${currency}`,
    hint: 'For example 1250.00',
    errors,
    value: amount,
    inputmode: 'decimal',
    required: true,
    short: true,
  });
}

const methodNames: Readonly<Record<PayMethod, string>> = { CARD: 'Card', ACH: 'US bank account' };

function methodFields({ methods }: FormShape, { method }: Entered, errors: readonly FieldError[]): HtmlContent {
  if (methods.length < 2) return null;
  return html`<fieldset class="methods"><legend>How do you want to pay?</legend>
${errorOf('method', errors)}
${methods.map(
  (one) =>
    html`<label class="choice"><input type="radio" name="method" value="${one}" id="method-${one}"${one === method && html` checked`}> ${methodNames[one]}</label>`,
)}</fieldset>`;
}

function cardFields(errors: readonly FieldError[]): Html {
  return html`<fieldset class="by-CARD"><legend>Card</legend>
${field({ name: 'cardNumber', label: 'Card number', errors, autocomplete: 'cc-number', inputmode: 'numeric' })}
<div class="pair">
${field({ name: 'expiry', label: 'Expires', hint: 'MM/YY', errors, autocomplete: 'cc-exp' })}
${field({ name: 'securityCode', label: 'Security code', hint: '3 or 4 digits', errors, autocomplete: 'cc-csc', inputmode: 'numeric' })}
</div></fieldset>`;
}

function accountFields(errors: readonly FieldError[]): Html {
  return html`<fieldset class="by-ACH"><legend>US bank account</legend>
${field({ name: 'routingNumber', label: 'Routing number', hint: 'Nine digits', errors, autocomplete: 'off', inputmode: 'numeric' })}
${field({ name: 'accountNumber', label: 'Account number', errors, autocomplete: 'off', inputmode: 'numeric' })}
<p class="hint">By paying you authorize this one debit of your account. It takes one to four business days.</p></fieldset>`;
}

interface Field {
  readonly name: FieldName;
  readonly label: string;
  readonly errors: readonly FieldError[];
  readonly value?: string;
  readonly hint?: string;
  readonly type?: 'text' | 'email';
  readonly autocomplete?: string;
  readonly inputmode?: string;
  readonly required?: boolean;
  readonly short?: boolean;
}

function field({
  name,
  label,
  errors,
  value = '',
  hint,
  type = 'text',
  autocomplete,
  inputmode,
  required,
  short,
}: Field): Html {
  const isWrong = errors.some((error) => error.field === name);
  const described = [hint === undefined ? [] : `${name}-hint`, isWrong ? `${name}-error` : []].flat().join(' ');
  return html`<div><label for="${name}">${label}${hint !== undefined && html`<span class="hint" id="${name}-hint">${hint}</span>`}</label>
${errorOf(name, errors)}
<input type="${type}" id="${name}" name="${name}" value="${value}"${autocomplete !== undefined && html` autocomplete="${autocomplete}"`}${inputmode !== undefined && html` inputmode="${inputmode}"`}${short === true && html` class="short"`}${required === true && html` aria-required="true"`}${isWrong && html` aria-invalid="true"`}${described !== '' && html` aria-describedby="${described}"`}></div>`;
}

function errorOf(name: FieldName, errors: readonly FieldError[]): HtmlContent {
  const error = errors.find((one) => one.field === name);
  return error !== undefined && html`<span class="error" id="${name}-error">${error.message}</span>`;
}

/** The test numbers of the sandbox, for payers to copy. */
function testNumbers({ methods }: FormShape): Html {
  return html`<div class="card"><details><summary>Test numbers</summary>
<p>No money moves. Other numbers are declined.</p>
<table><caption>Cards, with any later date and any security code</caption>
<thead><tr><th scope="col">Number</th><th scope="col">Result</th></tr></thead>
<tbody>${testCards.map(({ number, meaning, brand }) => html`<tr><th scope="row">${number}</th><td>${brand}: ${meaning}</td></tr>`)}</tbody></table>
${
  methods.includes('ACH') &&
  html`<table><caption>Bank accounts, with the routing number ${testRoutingNumber}</caption>
<thead><tr><th scope="col">Number</th><th scope="col">Result</th></tr></thead>
<tbody>${testAccounts.map(({ number, meaning }) => html`<tr><th scope="row">${number}</th><td>${meaning}</td></tr>`)}</tbody></table>`
}</details></div>`;
}
