/**
 * Prints the functions of the database that have the rules of money of `modules/billing/rules`. Whoever changes a rule puts what this
 * prints into a migration: a test compares the functions of a database with these.
 */

import * as balances from '../src/modules/billing/rules/balances.ts';
import * as document from '../src/modules/billing/rules/document.ts';
import { workAmount } from '../src/modules/time/work-amounts.ts';
import type { Arithmetic } from '../src/platform/arithmetic.ts';

/** Expressions of SQL. Rules that round are functions with the parameter `places`. */
const expressions: Arithmetic<string, string> = {
  zero: '0',
  plus: (...amounts) => `(${amounts.join(' + ')})`,
  minus: (amount, ...others) => `(${[amount, ...others].join(' - ')})`,
  times: (amount, other) => `${amount} * ${other}`,
  percentOf: (amount, percent) => `${amount} * ${percent} / 100`,
  // With so many places that no quotient is taken for half a unit.
  percentIn: (amount, percent, all) => `${amount} * ${percent} * 1.00000000000000000000 / (100 + ${all})`,
  round: (amount) => `round(${amount}, places)`,
  when: (text, listed, amount, otherwise) => `case when ${isOneOf(text, listed)} then ${amount} else ${otherwise} end`,
};

function isOneOf(text: string, listed: readonly string[]): string {
  return `${text} in (${listed.map((one) => `'${one}'`).join(', ')})`;
}

const allocation = { status: 'payment_status', method: 'method', amount: 'amount' };
const line = { lineType: 'line_type', amount: 'amount' };

/** The functions by their names and parameters, with what they return. Parameters keep their names: PostgreSQL cannot rename them. */
const returned: Readonly<Record<string, string>> = {
  'counts(payment_status text) returns boolean': isOneOf('payment_status', balances.countingStatuses),
  'is_billing(status text) returns boolean': `not (${isOneOf('status', balances.statusesWithoutBilling)})`,
  'paid_by(payment_status text, method text, amount numeric) returns numeric': balances.cover.amountPaid(
    expressions,
    allocation,
  ),
  'credited_by(payment_status text, method text, amount numeric) returns numeric': balances.cover.amountCredited(
    expressions,
    allocation,
  ),
  'pending_by(payment_status text, amount numeric) returns numeric': balances.cover.amountPending(
    expressions,
    allocation,
  ),
  'unapplied(payment_status text, amount numeric, refunded numeric, allocated numeric) returns numeric':
    balances.unapplied(expressions, {
      status: 'payment_status',
      amount: 'amount',
      refunded: 'refunded',
      allocated: 'allocated',
    }),
  'held(payment_status text, unapplied_amount numeric) returns numeric': balances.held(expressions, {
    status: 'payment_status',
    unapplied: 'unapplied_amount',
  }),
  'due(invoice_status text, document_type text, total numeric, paid numeric, credited numeric, written_off numeric) returns numeric':
    balances.due(expressions, {
      status: 'invoice_status',
      documentType: 'document_type',
      total: 'total',
      paid: 'paid',
      credited: 'credited',
      writtenOff: 'written_off',
    }),
  'outstanding(invoice_status text, amount_due numeric) returns numeric': balances.owed(expressions, {
    status: 'invoice_status',
    due: 'amount_due',
  }),
  'line_amount(quantity numeric, unit_amount numeric, places integer) returns numeric': document.lineAmount(
    expressions,
    {
      quantity: 'quantity',
      unitAmount: 'unit_amount',
    },
  ),
  'line_tax(amount numeric, taxable boolean, rate_percent numeric, places integer) returns numeric': document.lineTax(
    expressions,
    { amount: 'amount', taxable: 'taxable::text', ratePercent: 'rate_percent' },
  ),
  'tax_part(amount numeric, rate_percent numeric) returns numeric': document.taxPart(expressions, {
    amount: 'amount',
    ratePercent: 'rate_percent',
  }),
  'included_part(amount numeric, rate_percent numeric, all_percent numeric) returns numeric': document.includedPart(
    expressions,
    { amount: 'amount', ratePercent: 'rate_percent', allPercent: 'all_percent' },
  ),
  'work_amount(hours numeric, billing_rate numeric, places integer) returns numeric': workAmount(expressions, {
    hours: 'hours',
    billingRate: 'billing_rate',
  }),
  'subtotal_of(line_type text, amount numeric) returns numeric': document.lineTotals.subtotal(expressions, line),
  'discount_of(line_type text, amount numeric) returns numeric': document.lineTotals.discountTotal(expressions, line),
  'interest_of(line_type text, amount numeric) returns numeric': document.lineTotals.interestTotal(expressions, line),
  'document_total(subtotal numeric, discount_total numeric, tax_total numeric, interest_total numeric) returns numeric':
    document.documentTotal(expressions, {
      subtotal: 'subtotal',
      discountTotal: 'discount_total',
      taxTotal: 'tax_total',
      interestTotal: 'interest_total',
    }),
};

/** The statements that create the functions. */
export const ruleFunctions: readonly string[] = Object.entries(returned).map(
  ([signature, value]) =>
    `create or replace function ${signature} language sql immutable parallel safe\n  return ${value};\n`,
);

if (import.meta.main)
  console.log(
    `-- The rules of money, as scripts/rule-functions.ts writes them.\n-- locks: none\n\n${ruleFunctions.join('\n')}`.trimEnd(),
  );
