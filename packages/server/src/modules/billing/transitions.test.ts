/**
 * Tests every state of time and billing with every state that a caller can request, through the API, against the
 * contract.
 */
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only, type WriteItem } from '../../../test/modules/records.ts';
import { timeOf } from '../../../test/modules/time.ts';
import { sampleOf } from '../../../test/nightly.ts';
import { sharedService } from '../../../test/service.ts';
import { contract } from '../../contract/contract.ts';
import { asOperator } from '../../operator/tenants.ts';
import { payment } from './payment/payment.ts';
import { recordResult } from './payment/payment-rules.ts';

const service = await sharedService();
const { approver, approving, client, draftOf, jobId, newClient, pay, post, preparer, records, staffId } =
  await firm(service);
const [{ codes, entries }, approvals] = [timeOf(preparer), timeOf(approver)];
const owner = await newClient();
const orgs = await preparer.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
await records.update([
  { type: 'Org', systemRef: orgs.body.data[0]?.systemRef ?? null, attributes: { settleWithin: '100.00' } },
]);
await codes([
  { type: 'ExpenseCode', systemRef: 'COURIER', attributes: { code: 'COURIER', name: 'Courier', isBillable: true } },
]);
let created = 0;
const newRef = () => `row-${++created}`;

/** How a caller writes an entity, and how a row of it gets into each of its states. Returns the row's systemRef. */
interface Subject {
  readonly type: string;
  readonly machine: string;
  readonly operation: 'upsertEntries' | 'updateRecords';
  readonly write: (systemRef: string, attributes: object) => Promise<WriteItem>;
  readonly rows: Readonly<Record<string, () => Promise<string>>>;
  /** Rows that meet the conditions of a transition, where those of the state do not. */
  readonly rowsFor?: Readonly<Record<string, () => Promise<string>>>;
}

/** Fields that must be sent with a status. */
const sentWith: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  TimeEntry: { REJECTED: { rejectionReason: 'Twice' } },
  ExpenseEntry: { REJECTED: { rejectionReason: 'Twice' } },
  DraftInvoice: { REJECTED: { rejectionReason: 'Wrong client' } },
  Invoice: {
    POSTED: { changeReason: 'The client pays' },
    PARTIALLY_PAID: { changeReason: 'The client pays' },
    PAID: { settleRest: true, writeOffReason: 'Bank charges' },
    VOIDED: { voidReason: 'Wrong' },
    WRITTEN_OFF: { writeOffReason: 'Lost' },
  },
  Payment: {
    COMPLETED: { changeReason: 'Settled' },
    RETURNED: { changeReason: 'Bounced' },
    PARTIALLY_REFUNDED: { refundedAmount: '4.00' },
    REFUNDED: { refundedAmount: '10.00' },
  },
};

function done(item: WriteItem): string {
  if (item.error !== null) throw new Error(JSON.stringify(item));
  return item.systemRef ?? '';
}

async function move(subject: Subject, row: Promise<string>, ...states: string[]): Promise<string> {
  const systemRef = await row;
  for (const status of states) done(await subject.write(systemRef, { status, ...sentWith[subject.type]?.[status] }));
  return systemRef;
}

function entrySubject(type: 'TimeEntry' | 'ExpenseEntry'): Subject {
  const create = async (status: string) => {
    const [day, systemRef] = [
      `2026-${String((created % 12) + 1).padStart(2, '0')}-${String((created % 28) + 1).padStart(2, '0')}`,
      newRef(),
    ];
    const attributes =
      type === 'TimeEntry'
        ? { staffId, jobId, workDate: day, hours: '0.10', isBillable: true, status }
        : {
            staffId,
            jobId,
            code: 'COURIER',
            expenseDate: day,
            cost: '1.00',
            billableAmount: '1.00',
            description: 'x',
            status,
          };
    return done(only(await entries([{ type, systemRef, attributes }])));
  };
  const subject: Subject = {
    type,
    machine: 'EntryStatus',
    operation: 'upsertEntries',
    write: async (systemRef, attributes) =>
      only(await approvals.entries([{ type, systemRef, attributes: { ...attributes } }])),
    rows: {
      DRAFT: () => create('DRAFT'),
      SUBMITTED: () => create('SUBMITTED'),
      APPROVED: () => move(subject, create('SUBMITTED'), 'APPROVED'),
      REJECTED: () => move(subject, create('SUBMITTED'), 'REJECTED'),
    },
  };
  return subject;
}

const update = (type: string) => async (systemRef: string, attributes: object) =>
  only(await approving.update([{ type, systemRef, attributes }]));
const newDraft = async () => done(await draftOf([{}], { clientId: owner.id }));
const drafts: Subject = {
  type: 'DraftInvoice',
  machine: 'DraftInvoiceStatus',
  operation: 'updateRecords',
  write: update('DraftInvoice'),
  rows: {
    DRAFT: newDraft,
    IN_REVIEW: () => move(drafts, newDraft(), 'IN_REVIEW'),
    REJECTED: () => move(drafts, newDraft(), 'IN_REVIEW', 'REJECTED'),
    async POSTED() {
      const draft = await draftOf([{}], { clientId: owner.id });
      await post(draft);
      return done(draft);
    },
  },
};

const newInvoice = async (status: 'PENDING' | 'POSTED', unitAmount = '10.00') => {
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount, taxable: false };
  const dates = { invoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  const fields = { pmsRef: newRef(), clientId: owner.id, status, ...dates, lines: [line] };
  return records.make('Invoice', fields);
};
const paidInvoice = async (amount: string) => {
  const bill = await newInvoice('POSTED');
  await pay(amount, [{ invoiceId: bill.id, amount }], { clientId: owner.id });
  return done(bill);
};
const invoices: Subject = {
  type: 'Invoice',
  machine: 'InvoiceStatus',
  operation: 'updateRecords',
  write: update('Invoice'),
  rows: {
    PENDING: async () => done(await newInvoice('PENDING')),
    POSTED: async () => done(await newInvoice('POSTED')),
    PARTIALLY_PAID: () => paidInvoice('4.00'),
    PAID: () => paidInvoice('10.00'),
    VOIDED: () => move(invoices, newInvoice('POSTED').then(done), 'VOIDED'),
    WRITTEN_OFF: () => move(invoices, newInvoice('POSTED').then(done), 'WRITTEN_OFF'),
  },
  rowsFor: {
    'WRITTEN_OFF to PARTIALLY_PAID': () => move(invoices, paidInvoice('4.00'), 'WRITTEN_OFF'),
    'PAID to POSTED': () => move(invoices, newInvoice('POSTED').then(done), 'PAID'),
    'PAID to VOIDED': async () => done(await newInvoice('POSTED', '0.00')),
    'PAID to PARTIALLY_PAID': () => move(invoices, paidInvoice('4.00'), 'PAID'),
  },
};

const newPayment = (method: 'ACH' | 'CHECK') => pay('10.00', [], { clientId: owner.id, method });
const payments: Subject = {
  type: 'Payment',
  machine: 'PaymentStatus',
  operation: 'updateRecords',
  write: update('Payment'),
  rows: {
    PENDING: async () => done(await newPayment('ACH')),
    COMPLETED: async () => done(await newPayment('CHECK')),
    FAILED: () => move(payments, newPayment('ACH').then(done), 'FAILED'),
    VOIDED: () => move(payments, newPayment('CHECK').then(done), 'VOIDED'),
    PARTIALLY_REFUNDED: () => move(payments, newPayment('CHECK').then(done), 'PARTIALLY_REFUNDED'),
    REFUNDED: () => move(payments, newPayment('CHECK').then(done), 'REFUNDED'),
    async RETURNED() {
      const row = await newPayment('CHECK');
      // Only the processor returns payments.
      await asOperator(service.service, service.tenant, 'test', (unit) =>
        unit.plan((plan) => {
          plan.getForUpdate(payment, row.id);
          recordResult(plan, row.id, { status: 'RETURNED' });
        }),
      );
      return done(row);
    },
  },
};

/** States in which no row remains: the transaction that reaches them also leaves them. */
const passing: readonly string[] = ['DraftInvoice APPROVED', 'DraftInvoice DELETED'];
/** The final state after a transition: an approval posts the draft at once. */
const arrivesAt: Readonly<Record<string, string>> = { 'DraftInvoice APPROVED': 'POSTED' };

describe.each([entrySubject('TimeEntry'), entrySubject('ExpenseEntry'), drafts, invoices, payments])(
  '$operation › $type',
  ({ type, machine: name, operation, write, rows, rowsFor = {} }) => {
    const schema = contract.components.schemas[name];
    const machine = schema?.['x-state-machine'];
    if (machine === undefined) throw new Error(`The contract has no state machine ${name}.`);
    const states = schema?.enum ?? [];
    const isOpen = (from: string, to: string) =>
      machine.transitions.some((transition) => {
        const operations = transition.operations ?? (transition.events === undefined ? machine.operations : []);
        return transition.from.includes(from) && transition.to === to && operations.includes(operation);
      });

    test('has a row in every state', () => {
      const reached = states.filter((state) => !passing.includes(`${type} ${state}`));
      expect(Object.keys(rows).toSorted()).toEqual(reached.toSorted());
    });

    test.each(Object.entries(rows))(
      'allows transitions from %s only to the states that the contract declares',
      async (from, make) => {
        const closed = states.filter((state) => state !== from && !isOpen(from, state));
        const tried = sampleOf(closed, 4);
        for (const to of states.filter((state) => isOpen(from, state) || tried.includes(state))) {
          const transition = `${from} to ${to}`;
          const systemRef = await (rowsFor[transition] ?? make)();
          const result = await write(systemRef, { status: to, ...sentWith[type]?.[to] });
          if (isOpen(from, to)) {
            expect(result, transition).toMatchObject({ status: 'UPDATED', error: null });
            expect(Object(result.attributes).status, transition).toBe(arrivesAt[`${type} ${to}`] ?? to);
            continue;
          }
          expect(result, transition).toMatchObject({ status: 'FAILED', error: { code: 'INVALID_STATE' } });
          // Nothing has changed.
          expect(await write(systemRef, {}), transition).toMatchObject({
            status: 'UNCHANGED',
            attributes: { status: from },
          });
        }
      },
    );
  },
);

describe('deleteRecords', () => {
  test.each(Object.entries(drafts.rows))(
    'deletes a DraftInvoice that is %s only if the contract allows it',
    async (from, make) => {
      const [systemRef, isOpen] = [await make(), from === 'DRAFT' || from === 'REJECTED'];
      const result = only(await approving.remove([{ type: 'DraftInvoice', systemRef }]));
      expect(result).toMatchObject(isOpen ? { status: 'DELETED' } : { error: { code: 'INVALID_STATE' } });
      const again = only(await approving.remove([{ type: 'DraftInvoice', systemRef }]));
      expect(again.error?.code).toBe(isOpen ? 'RECORD_NOT_FOUND' : 'INVALID_STATE');
    },
  );

  test('only cancels a payment link that is ACTIVE', async () => {
    const link = async () => {
      const { body } = await preparer.call<{ systemRef: string }>('POST', '/api/v1/clients/v1/link/payment', {
        clientRef: client.ref,
        amount: '10.00',
      });
      return body.systemRef;
    };
    const cancel = async (systemRef: string) => only(await approving.remove([{ type: 'QuickPaymentLink', systemRef }]));
    const active = await link();
    expect(await cancel(active)).toMatchObject({ status: 'DELETED' });
    expect(await cancel(active)).toMatchObject({ error: { code: 'RECORD_NOT_FOUND' } });
    for (const status of ['PROCESSING', 'EXPIRED', 'INVALIDATED'] as const) {
      const systemRef = await link();
      await service.store.write(service.tenant.id, (transaction) =>
        transaction.all(sql`update quick_payment_link set status = ${status} where system_ref = ${systemRef}`),
      );
      expect(await cancel(systemRef), status).toMatchObject({ error: { code: 'INVALID_STATE' } });
    }
  });
});

test('updateRecords › the status of work in progress follows from billing, and cannot be written', async () => {
  const row = { wipType: 'FIXED_FEE', clientId: client.id, jobId, workDate: '2026-01-06', amount: '10.00' };
  const { systemRef } = await records.make('WipEntry', row);
  const response = await preparer.call('PUT', '/api/v1/records', {
    records: [{ type: 'WipEntry', systemRef, attributes: { status: 'BILLED' } }],
  });
  expect(JSON.stringify(response.body)).toContain('/records/0/attributes/status');
  expect(JSON.stringify(response.body)).toMatch(/VALIDATION_ERROR|READ_ONLY|UNKNOWN_PROPERTY/);
});
