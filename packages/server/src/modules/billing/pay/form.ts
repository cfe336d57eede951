import { placesOf } from '../../../contract/currency.ts';
import { type Decimal, parseDecimal, zero } from '../../../platform/decimal.ts';
import type { PayDetails, PayMethod } from '../../../platform/payments/processor.ts';
import { faultOf } from '../../../wire/body.ts';

export type FieldName =
  | 'amount'
  | 'method'
  | 'cardNumber'
  | 'expiry'
  | 'securityCode'
  | 'routingNumber'
  | 'accountNumber'
  | 'payerName'
  | 'payerEmail';

export interface FieldError {
  readonly field: FieldName;
  readonly message: string;
}

/** The values that the form shows again after an error. Card and account numbers must be entered again. */
export interface Entered {
  readonly amount: string;
  readonly method: PayMethod | undefined;
  readonly payerName: string;
  readonly payerEmail: string;
}

export interface Submitted {
  readonly amount: Decimal | undefined;
  readonly method: PayMethod;
  readonly payerName: string;
  readonly payerEmail: string | null;
  readonly details: PayDetails | undefined;
}

/** The fields of the form. */
export interface FormShape {
  readonly currency: string;
  readonly requiresAmount: boolean;
  readonly methods: readonly PayMethod[];
  readonly requiresDetails: boolean;
}

/** Parses a form. @returns the submitted details, or the errors */
export function readForm(
  fields: URLSearchParams,
  shape: FormShape,
  today: Temporal.PlainDate,
): { readonly entered: Entered; readonly errors: readonly FieldError[]; readonly submitted: Submitted | undefined } {
  const errors: FieldError[] = [];
  const text = (field: FieldName) => {
    const value = fields.get(field) ?? '';
    return faultOf(value) === undefined ? value.normalize('NFC').trim() : '';
  };
  const check = <T>(field: FieldName, result: T | Mistake): T | undefined => {
    if (!(result instanceof Mistake)) return result;
    errors.push({ field, message: result.message });
    return undefined;
  };

  const amount = shape.requiresAmount ? check('amount', readAmount(text('amount'), shape.currency)) : undefined;
  const [only] = shape.methods;
  const chosen = shape.methods.length === 1 ? only : shape.methods.find((one) => one === text('method'));
  const method = check('method', chosen ?? new Mistake('Choose how to pay.'));
  const details = shape.requiresDetails && method !== undefined ? readDetails(method, text, check, today) : undefined;
  const payerName = check('payerName', readName(text('payerName')));
  const payerEmail = check('payerEmail', readEmail(text('payerEmail')));
  const entered = { amount: text('amount'), method, payerName: text('payerName'), payerEmail: text('payerEmail') };
  if (errors.length > 0 || method === undefined || payerName === undefined || payerEmail === undefined)
    return { entered, errors, submitted: undefined };
  return { entered, errors, submitted: { amount, method, payerName, payerEmail, details } };
}

class Mistake {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

type Check = <T>(field: FieldName, result: T | Mistake) => T | undefined;

/** The largest amount that a payer can enter, which is the maximum of processors. */
const maxAmount = parseDecimal('999999.99');

/** Parses an amount in common notations: 1250, 1250.5, 1,250.50, $1,250.50, with surrounding spaces. */
export function readAmount(text: string, currency: string): Decimal | Mistake {
  if (text === '') return new Mistake('Enter the amount to pay.');
  const numeral = text.replace(/^(\p{Sc}|[A-Z]{3})\s*/u, '');
  const isWellFormed = /^(\d{1,15}|\d{1,3}(,\d{3}){1,4})(\.\d{1,3})?$/.test(numeral);
  if (!isWellFormed) return new Mistake('Enter the amount in digits, such as 1250.00.');
  const places = placesOf(currency);
  const value = parseDecimal(numeral.replaceAll(',', ''));
  if ((numeral.split('.')[1] ?? '').length > places)
    return new Mistake(
      places === 0
        ? `Enter a whole amount: ${currency} has no decimals.`
        : 'Enter the amount with at most two decimals.',
    );
  if (!value.gt(zero)) return new Mistake('Enter an amount above zero.');
  if (value.gt(maxAmount)) return new Mistake('Enter at most 999,999.99. Pay more in several parts.');
  return value;
}

function readDetails(
  method: PayMethod,
  text: (field: FieldName) => string,
  check: Check,
  today: Temporal.PlainDate,
): PayDetails | undefined {
  if (method === 'CARD') {
    const number = check('cardNumber', readCardNumber(text('cardNumber')));
    const expiry = check('expiry', readExpiry(text('expiry'), today));
    const securityCode = check('securityCode', readSecurityCode(text('securityCode')));
    if (number === undefined || expiry === undefined || securityCode === undefined) return undefined;
    return { method, number, expiry, securityCode };
  }
  const routingNumber = check('routingNumber', readRoutingNumber(text('routingNumber')));
  const accountNumber = check('accountNumber', readAccountNumber(text('accountNumber')));
  if (routingNumber === undefined || accountNumber === undefined) return undefined;
  return { method, routingNumber, accountNumber };
}

function readCardNumber(text: string): string | Mistake {
  const digits = text.replace(/[ -]/g, '');
  if (digits === '') return new Mistake('Enter the card number.');
  if (!/^\d{12,19}$/.test(digits) || !passesLuhn(digits))
    return new Mistake('Check the card number: it has 12 to 19 digits, and one of them is wrong or missing.');
  return digits;
}

/** The last digit of a card number is a checksum (ISO/IEC 7812). */
function passesLuhn(digits: string): boolean {
  let total = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    total += value > 9 ? value - 9 : value;
  }
  return total % 10 === 0;
}

/** The expiry month of a card, such as 2030-12. */
function readExpiry(text: string, today: Temporal.PlainDate): string | Mistake {
  if (text === '') return new Mistake('Enter the expiry date of the card.');
  const [, month = '', year = ''] = /^(\d{1,2}) ?[/.-]? ?(\d{4}|\d{2})$/.exec(text) ?? [];
  if (year === '' || Number(month) < 1 || Number(month) > 12)
    return new Mistake('Enter the expiry date as month and year, such as 08/30.');
  const expiry = Temporal.PlainYearMonth.from({ year: (Number(year) % 100) + 2000, month: Number(month) });
  if (Temporal.PlainYearMonth.compare(expiry, today.toPlainYearMonth()) < 0)
    return new Mistake('The card has expired. Use another card.');
  return expiry.toString();
}

function readSecurityCode(text: string): string | Mistake {
  if (text === '') return new Mistake('Enter the security code of the card.');
  return /^\d{3,4}$/.test(text) ? text : new Mistake('The security code has three or four digits.');
}

function readRoutingNumber(text: string): string | Mistake {
  const digits = text.replace(/[ -]/g, '');
  if (digits === '') return new Mistake('Enter the routing number of the bank.');
  if (!/^\d{9}$/.test(digits) || !isRoutingNumber(digits))
    return new Mistake('Check the routing number: it has nine digits, and one of them is wrong or missing.');
  return digits;
}

/** The ninth digit of a routing number is a checksum (American Bankers Association). */
function isRoutingNumber(digits: string): boolean {
  const total = [...digits].reduce((sum, digit, index) => sum + Number(digit) * ([3, 7, 1][index % 3] ?? 0), 0);
  return total > 0 && total % 10 === 0;
}

function readAccountNumber(text: string): string | Mistake {
  const digits = text.replace(/[ -]/g, '');
  if (digits === '') return new Mistake('Enter the account number.');
  return /^\d{4,17}$/.test(digits) ? digits : new Mistake('The account number has 4 to 17 digits.');
}

/** Control characters and unpaired surrogates, which cannot be stored. */
const unstorable = /[\p{Cc}\p{Cs}]/u;

function readName(text: string): string | Mistake {
  if (text === '') return new Mistake('Enter your name.');
  if (unstorable.test(text)) return new Mistake('The name contains a character that cannot be stored.');
  return text.length <= 200 ? text : new Mistake('The name can have 200 characters at most.');
}

/** Null if none was entered. */
function readEmail(text: string): string | null | Mistake {
  if (text === '') return null;
  const isAddress = /^[^\s@"(),:;<>[\\\]]+@[a-z\d-]+(\.[a-z\d-]+)+$/i.test(text);
  if (!isAddress || unstorable.test(text) || text.length > 254)
    return new Mistake('Enter an email address such as name@example.com, or leave it empty.');
  return text;
}
