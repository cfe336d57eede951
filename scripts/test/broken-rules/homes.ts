import type { BrokenRule } from './rules.ts';

/** A rule that is changed in its home alone, whereupon every figure must follow. */
export type ChangedRule = Omit<BrokenRule, 'test'> & {
  /** Whether the database has the rule, too, as a function that is generated from it. */
  readonly isInDatabase: boolean;
};

const rules = 'packages/server/src/modules/billing/rules';

export const changedRules: readonly ChangedRule[] = [
  {
    name: 'a credit pays an invoice as money does',
    file: `${rules}/balances.ts`,
    changes: [
      { from: "when(method, ['CREDIT'], zero, amount), zero)", to: 'amount, zero)' },
      { from: "when(method, ['CREDIT'], amount, zero), zero)", to: 'zero, zero)' },
    ],
    isInDatabase: true,
  },
  {
    name: 'interest is a part of the subtotal',
    file: `${rules}/document.ts`,
    changes: [
      {
        from: "when(lineType, ['DISCOUNT', 'INTEREST'], zero, amount)",
        to: "when(lineType, ['DISCOUNT'], zero, amount)",
      },
      { from: "when(lineType, ['INTEREST'], amount, zero)", to: "when(lineType, ['NONE'], amount, zero)" },
    ],
    isInDatabase: true,
  },
  {
    // Twice, because several rates are weighed together before the rule is applied.
    name: 'tax is a percentage of twice the amount',
    file: `${rules}/document.ts`,
    changes: [
      {
        from: '{ percentOf }: Arithmetic<A, T>,\n  { amount, ratePercent }',
        to: '{ percentOf, plus }: Arithmetic<A, T>,\n  { amount, ratePercent }',
      },
      { from: 'return percentOf(amount, ratePercent)', to: 'return percentOf(plus(amount, amount), ratePercent)' },
    ],
    isInDatabase: true,
  },
  {
    name: 'a line is divided among its rows into whole amounts',
    file: `${rules}/relief.ts`,
    changes: [
      {
        from: 'roundMoney(proportionOf(amount, one, total), currency)',
        to: "roundMoney(proportionOf(amount, one, total), 'JPY')",
      },
    ],
    isInDatabase: false,
  },
  {
    name: 'a change counts from the last entry of its balance on',
    file: `${rules}/entry-day.ts`,
    changes: [
      { from: 'return first;', to: 'return later.map(({ businessDate }) => businessDate).sort().at(-1) ?? first;' },
    ],
    isInDatabase: false,
  },
];
