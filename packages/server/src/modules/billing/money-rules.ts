import { type RawBuilder, sql } from 'kysely';
import { type Decimal, zero } from '../../platform/decimal.ts';

/** A sum of amounts with their signs; nothing without any. */
type Terms<Part extends string> = Readonly<Partial<Record<Part, 1 | -1>>>;

/** An amount that follows from a status and other amounts. */
export interface MoneyRule<Part extends string> {
  readonly cases: readonly { readonly of: readonly string[]; readonly sum: Terms<Part> }[];
  readonly otherwise: Terms<Part>;
}

/** The status of payments that cover invoices. */
export const countingStatuses: readonly string[] = ['COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED'];

/** Whether a payment with this status covers invoices. */
export function counts(status: string): boolean {
  return countingStatuses.includes(status);
}

/** What is neither applied nor refunded of a payment. What was refunded before is lost when the bank takes the money back. */
export const unapplied: MoneyRule<'amount' | 'refunded' | 'allocated'> = {
  cases: [
    { of: [...countingStatuses, 'PENDING'], sum: { amount: 1, refunded: -1, allocated: -1 } },
    { of: ['RETURNED'], sum: { refunded: -1 } },
  ],
  otherwise: {},
};

/** What the firm holds for the client, or has lost on the payment. */
export const held: MoneyRule<'unapplied'> = {
  cases: [{ of: [...countingStatuses, 'RETURNED'], sum: { unapplied: 1 } }],
  otherwise: {},
};

/** The amount due on an invoice. Nothing is due on a credit note, whatever its status. */
export const due: MoneyRule<'total' | 'paid' | 'credited' | 'writtenOff'> = {
  cases: [{ of: ['VOIDED', 'CREDIT_NOTE'], sum: {} }],
  otherwise: { total: 1, paid: -1, credited: -1, writtenOff: -1 },
};

/** What an invoice adds to the balance of its client: nothing before it is posted. */
export const owed: MoneyRule<'due'> = { cases: [{ of: ['PENDING'], sum: {} }], otherwise: { due: 1 } };

/** The total of a document to which lines of a type belong, and the sign with which it shows their amounts. */
export const totalOfLines: Readonly<Record<string, readonly ['subtotal' | 'discountTotal' | 'interestTotal', 1 | -1]>> =
  {
    DISCOUNT: ['discountTotal', -1],
    INTEREST: ['interestTotal', 1],
  };
export const otherLines = ['subtotal', 1] as const;

/** The terms of an amount for a status. */
export function termsOf<Part extends string>(
  { cases, otherwise }: MoneyRule<Part>,
  status: string,
): readonly (readonly [Part, 1 | -1])[] {
  return partsOf(cases.find(({ of }) => of.includes(status))?.sum ?? otherwise);
}

function partsOf<Part extends string>(terms: Terms<Part>): [Part, 1 | -1][] {
  const parts: [Part, 1 | -1][] = [];
  for (const part in terms) {
    const sign = terms[part];
    if (sign !== undefined) parts.push([part, sign]);
  }
  return parts;
}

export function amountBy<Part extends string>(
  rule: MoneyRule<Part>,
  status: string,
  amounts: Readonly<Record<Part, Decimal>>,
): Decimal {
  return termsOf(rule, status).reduce(
    (sum, [part, sign]) => (sign === 1 ? sum.plus(amounts[part]) : sum.minus(amounts[part])),
    zero,
  );
}

/** SQL of an amount. @param status an expression, as those of the amounts */
export function sqlBy<Part extends string>(
  { cases, otherwise }: MoneyRule<Part>,
  status: RawBuilder<unknown>,
  amounts: Readonly<Record<Part, RawBuilder<unknown>>>,
): RawBuilder<unknown> {
  const sumOf = (terms: Terms<Part>) => {
    const parts = partsOf(terms).map(([part, sign]) => (sign === 1 ? amounts[part] : sql`- ${amounts[part]}`));
    return parts.length === 0 ? sql`0` : sql.join(parts, sql` + `);
  };
  const whens = cases.map(
    ({ of, sum }) => sql`when ${status} in (${sql.join(of.map((one) => sql.lit(one)))}) then ${sumOf(sum)}`,
  );
  return sql`case ${sql.join(whens, sql` `)} else ${sumOf(otherwise)} end`;
}

/** SQL of a total of a document over its lines. */
export function totalSql(total: 'subtotal' | 'discountTotal' | 'interestTotal'): RawBuilder<unknown> {
  const entries = Object.entries(totalOfLines);
  if (total === otherLines[0])
    return sql`sum(amount) filter (where line_type not in (${sql.join(entries.map(([type]) => sql.lit(type)))}))`;
  const own = entries.filter(([, [name]]) => name === total);
  const signed = own.map(([type, [, sign]]) => sql`when ${sql.lit(type)} then ${sql.lit(sign)} * amount`);
  return sql`sum(case line_type ${sql.join(signed, sql` `)} else 0 end)`;
}
