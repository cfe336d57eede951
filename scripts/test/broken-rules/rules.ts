/** A rule of the books that is broken on purpose, and the tests that must notice it. */
export interface BrokenRule {
  readonly name: string;
  readonly file: string;
  /** Texts that occur once in the file, and what replaces them. */
  readonly changes: readonly { readonly from: string; readonly to: string }[];
  /** What runs: a file of tests, with the words of one of them if they are not needed all. */
  readonly test: readonly string[];
}

const billing = 'packages/server/src/modules/billing';
const time = 'packages/server/src/modules/time';
const baseline = 'packages/server/src/platform/store/migrations/baseline';
const amounts = { test: [`${billing}/rules/document.test.ts`] };
const walks = { test: [`${billing}/books.property.test.ts`, '-t', 'simple model'] };
const corrections = { test: [`${billing}/corrections.test.ts`] };
const ledger = { test: [`${billing}/ledger/ledger.test.ts`] };
const closedPeriods = { test: [`${billing}/ledger/closed-periods.test.ts`] };
const fees = { test: [`${billing}/draft/fees.test.ts`] };
const jobs = { test: ['packages/server/src/modules/projects/jobs.test.ts'] };

const replaced = (from: string, to: string) => ({ changes: [{ from, to }] });

export const brokenRules: readonly BrokenRule[] = [
  // The money model.
  {
    name: 'the amount of a line is not rounded',
    file: `${billing}/rules/document.ts`,
    ...replaced('const price = lineAmount(arithmetic, line);', 'const price = line.quantity.times(line.unitAmount);'),
    ...amounts,
  },
  {
    name: 'a discount is added to the total',
    file: `${billing}/rules/document.ts`,
    ...replaced(
      'minus(plus(subtotal, taxTotal, interestTotal), discountTotal)',
      'plus(subtotal, taxTotal, interestTotal, discountTotal)',
    ),
    ...amounts,
  },
  {
    name: 'the last row of a line does not take the remaining cents',
    file: `${billing}/rules/relief.ts`,
    ...replaced(
      'index === outstanding.length - 1 ? left : roundMoney(proportionOf(amount, one, total), currency)',
      'roundMoney(proportionOf(amount, one, total), currency)',
    ),
    ...amounts,
  },
  {
    name: 'a partial billing relieves its rows in full',
    file: `${billing}/rules/relief.ts`,
    ...replaced("const isPart = relief === 'PART' && isBetween", "const isPart = relief === 'NONE' && isBetween"),
    ...fees,
  },
  {
    name: 'a refund is taken from the oldest allocations',
    file: `${billing}/payment/allocations.ts`,
    ...replaced('compareAge(other.allocation, one.allocation) ||', 'compareAge(one.allocation, other.allocation) ||'),
    ...walks,
  },
  {
    name: 'a payment covers what a pending payment covers',
    file: `${billing}/payment/payment-rules.ts`,
    ...replaced('dueOf(target).minus(target.amountPending)', 'dueOf(target)'),
    ...walks,
  },
  {
    name: 'a payment covers the invoice of a stranger',
    file: `${billing}/payment/payment-rules.ts`,
    ...replaced('if (target.clientId !== paid.clientId) {', 'if (target.clientId === paid.id) {'),
    ...walks,
  },
  {
    name: 'an invoice with a pending payment is voided',
    file: 'packages/spec/src/state-machine.ts',
    ...replaced('known(zero).every(isZero)', 'known(zero).every(() => true)'),
    ...walks,
  },
  {
    name: 'a returned payment remains allocated',
    file: `${billing}/payment/payment-rules.ts`,
    ...replaced(
      "allocations: status === 'COMPLETED' ? row.allocations.map(",
      "allocations: status === 'COMPLETED' || status === 'RETURNED' ? row.allocations.map(",
    ),
    ...corrections,
  },
  {
    name: 'a credit is refunded in cash',
    file: 'packages/spec/src/state-machine.ts',
    ...replaced('!known(Object.keys(isNot)).some(isOneOf(isNot))', '!known(Object.keys(isNot)).some(() => false)'),
    ...corrections,
  },
  {
    name: 'a fixed fee is billed twice',
    file: `${billing}/draft/check-fees.ts`,
    ...replaced('feeAmount.minus(billedFee(plan, clientId, jobId))', 'feeAmount'),
    ...fees,
  },
  {
    name: 'a discount lowers the billed amount of no job',
    file: `${billing}/rules/job-amounts.ts`,
    ...replaced('amount.plus(discount)', 'amount'),
    ...fees,
  },
  {
    name: 'reversals take back more than there is',
    file: `${time}/reversal.ts`,
    ...replaced('if (left.plus(values.hours).lt(zero))', 'if (left.lt(zero))'),
    ...walks,
  },
  {
    name: 'what an invoice wrote off remains so after its void',
    file: `${billing}/invoice/void-invoice.ts`,
    ...replaced('writeOffAmount: row.writeOffAmount.minus(relief.writeOff),', 'writeOffAmount: row.writeOffAmount,'),
    ...walks,
  },
  {
    name: 'a job is closed over open work',
    file: `${time}/work-of-job.ts`,
    ...replaced('if (!workOf(plan, id).some(isOutstanding)) return;', "if (id !== '') return;"),
    ...jobs,
  },
  // The ledger.
  {
    name: 'half an allocation is entered',
    file: `${billing}/ledger/payment-entries.ts`,
    ...replaced('enter(plan, { ...creditOf(id, values), ...shared, reversesId: undone.CREDIT ?? null });', ''),
    ...ledger,
  },
  {
    name: 'the database accepts half an allocation',
    file: `${baseline}/10_ledger.sql`,
    ...replaced(
      "if new.kind in ('ALLOCATION', 'DEALLOCATION') and (",
      "if false and new.kind in ('ALLOCATION', 'DEALLOCATION') and (",
    ),
    ...ledger,
  },
  {
    name: 'an entry gets a day in a closed period',
    file: `${billing}/ledger/enter.ts`,
    ...replaced(
      'later(\n    entry.businessDate,\n    firstOpenDay(plan, { clientId: entry.clientId, orgId: orgId ?? null }),\n  )',
      'entry.businessDate',
    ),
    ...closedPeriods,
  },
  {
    name: 'the database accepts an entry in a closed period',
    file: `${baseline}/08_billing.sql`,
    ...replaced(
      'where e.business_date <= o.books_closed_through',
      'where false and e.business_date <= o.books_closed_through',
    ),
    ...closedPeriods,
  },
  {
    name: 'the database accepts a balance that is not the sum of its entries',
    file: `${baseline}/10_ledger.sql`,
    ...replaced(
      'check_balance_of_invoice(tenant integer, invoice uuid) returns void language plpgsql as $$\nbegin\n  if (select',
      'check_balance_of_invoice(tenant integer, invoice uuid) returns void language plpgsql as $$\nbegin\n  if false and (select',
    ),
    ...ledger,
  },
  {
    name: 'an entry can be changed',
    file: `${baseline}/10_ledger.sql`,
    changes: [
      {
        from: "protect_tenant_table('ledger_entry', 'select, insert')",
        to: "protect_tenant_table('ledger_entry', 'select, insert, update, delete')",
      },
      {
        from: 'ledger_entry_immutable\n  before delete or update on ledger_entry for each row',
        to: 'ledger_entry_immutable\n  before truncate on ledger_entry for each statement',
      },
    ],
    ...ledger,
  },
  {
    name: 'negative work has the sign of positive work',
    file: `${billing}/ledger/work-entries.ts`,
    ...replaced('return amount.lt(zero) ? -1 : 1;', 'return amount.lt(zero) ? 1 : 1;'),
    ...walks,
  },
  {
    name: 'money is allocated twice on the days before it is moved',
    file: `${billing}/ledger/payment-entries.ts`,
    ...replaced(
      'firstDayFor(firstDayFor(day, change, receivable), change, held)',
      'firstDayFor(day, change, receivable)',
    ),
    ...ledger,
  },
  {
    name: 'a void does not take back the write-up',
    file: `${billing}/ledger/work-entries.ts`,
    ...replaced("enterMove(plan, row, 'WRITE_UP', zero.minus(writeUp), day, reversing('WRITE_UP'));", ''),
    ...walks,
  },
  {
    name: 'billed work is aged from its invoice',
    file: `${billing}/ledger/work-entries.ts`,
    ...replaced('wipEntryId: id, workDate }', 'wipEntryId: id, workDate: businessDate }'),
    ...ledger,
  },
  {
    name: 'the standard amount leaves out what was written off',
    file: 'packages/server/src/modules/projects/project.ts',
    ...replaced('.write_off_amount`)} -', '.write_up_amount`)} -'),
    ...jobs,
  },
  {
    name: 'entries are recorded a minute early',
    file: `${billing}/ledger/enter.ts`,
    ...replaced(
      'recordedAt: plan.now,',
      'recordedAt: Temporal.Instant.from(plan.now).subtract({ minutes: 1 }).toString({ fractionalSecondDigits: 3 }),',
    ),
    ...ledger,
  },
  {
    name: 'the balance of a client is not kept',
    file: `${baseline}/08_billing.sql`,
    ...replaced(
      'set outstanding_balance = limited(k.outstanding_balance + c.outstanding),',
      'set outstanding_balance = limited(k.outstanding_balance),',
    ),
    ...corrections,
  },
  {
    name: 'the entries of an allocation have no due date',
    file: `${billing}/ledger/payment-entries.ts`,
    ...replaced('dueDate: bill.dueDate }', 'dueDate: null }'),
    ...ledger,
  },
  {
    name: 'a correction does not say what it reverses',
    file: `${billing}/ledger/enter.ts`,
    ...replaced('entry.kind === kind &&\n      (of.invoiceId', 'entry.kind !== kind &&\n      (of.invoiceId'),
    ...ledger,
  },
];
