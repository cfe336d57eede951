import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { WriteResult } from '../../../test/modules/records.ts';
import { firmOf, outcomeOf, unique } from '../../../test/modules/time.ts';
import { sharedService, type TestCaller } from '../../../test/service.ts';
import { createApiKey } from '../../operator/api-keys.ts';

const service = await sharedService();
const firm = await firmOf(service);
const jobId = await firm.job();
const expenseCode = await firm.expenseCode();
const staffOfTime = await firm.person();
await firm.person({ staffRef: 'LEE' });
const roles = ['DINVC_W', 'DINVC_APRV', 'RECORD_W', 'RECORD_R', 'TIME_W', 'TIME_APRV'];
// Users are named by their roles.
const userWith = (...more: string[]) => service.signIn({ roles: [...roles, ...more] });
const [ada, ben, cleo] = [await userWith(), await userWith('CLNT_R'), await userWith('STAFF_R')];
/** Two API users of one staff member. */
const [lee, leesApp] = [await userWith('TASK_R'), await userWith('FILE_R')];
for (const more of ['TASK_R', 'FILE_R']) {
  const user = `user-${[...roles, more].join('-').toLowerCase()}`;
  const key = {
    tenant: service.tenant.name,
    user,
    roles: [...roles, more],
    staff: 'LEE',
    days: 1,
    description: undefined,
  };
  await createApiKey(service, key);
}

type Attributes = Readonly<Record<string, unknown>>;

/** A kind of row that is approved: how it is written, and how the values that an approval is about change. */
interface Approvable {
  readonly path: string;
  readonly type: string;
  readonly table: string;
  readonly created: Attributes;
  readonly waiting: string;
  /** Different values for each number. */
  readonly written: readonly ((number: number) => Attributes)[];
  /** What anybody may write. */
  readonly indifferent: Attributes;
}

const line = { lineType: 'OTHER', description: 'Work', quantity: '1', taxable: false };
const lines = (number: number) => ({ lines: [{ ...line, unitAmount: `${number}.00` }] });
const expense = { staffId: staffOfTime, jobId, code: expenseCode, expenseDate: '2026-01-05', description: 'Taxi' };
const kinds: readonly Approvable[] = [
  {
    path: '/api/v1/records',
    type: 'DraftInvoice',
    table: 'draft_invoice',
    created: {
      clientId: firm.clientId,
      // What the caller writes here decides nothing.
      preparedById: staffOfTime,
      billThroughDate: '2026-01-31',
      proposedInvoiceDate: '2026-01-31',
      dueDate: '2026-03-02',
      ...lines(100),
    },
    waiting: 'IN_REVIEW',
    written: [lines, (number) => ({ earlyPayment: { percent: `${number % 100}.50`, withinDays: 14 } })],
    indifferent: { note: 'Checked' },
  },
  {
    path: '/api/v1/entries',
    type: 'TimeEntry',
    table: 'time_entry',
    created: { staffId: staffOfTime, jobId, workDate: '2026-01-05', hours: '0.10' },
    waiting: 'SUBMITTED',
    written: [
      (number) => ({ hours: `0.${(number % 8) + 2}0` }),
      (number) => ({ workDate: `2026-01-${(number % 9) + 10}` }),
    ],
    indifferent: { description: 'Prepared the return' },
  },
  {
    path: '/api/v1/entries',
    type: 'ExpenseEntry',
    table: 'expense_entry',
    created: { ...expense, cost: '10.00', billableAmount: '10.00' },
    waiting: 'SUBMITTED',
    written: [(number) => ({ cost: `${number}.00` }), (number) => ({ billableAmount: `${number}.00` })],
    indifferent: { description: 'Taxi to the client' },
  },
];

let number = 1;

describe.each(kinds)('the approval of a $type', ({ path, type, table, created, waiting, written, indifferent }) => {
  const send = async (caller: TestCaller, ...items: readonly { systemRef: string; attributes: Attributes }[]) => {
    const records = items.map((item) => ({ type, ...item }));
    const { status, body } = await caller.call<WriteResult>('POST', path, { records });
    expect(status).toBe(200);
    return body.records.map(outcomeOf);
  };
  const write = async (caller: TestCaller, systemRef: string, ...changes: readonly Attributes[]) => {
    for (const attributes of changes)
      expect(await send(caller, { systemRef, attributes })).toEqual([expect.stringMatching(/CREATED|UPDATED/)]);
  };
  const change = (index = 0) => {
    number += 1;
    return written[index]?.(number) ?? {};
  };
  const [submit, reject, reopen] = [
    { status: waiting },
    { status: 'REJECTED', rejectionReason: 'Wrong' },
    { status: 'DRAFT' },
  ];
  const approve = async (caller: TestCaller, systemRef: string) =>
    (await send(caller, { systemRef, attributes: { status: 'APPROVED' } }))[0];
  const forbidden = 'FORBIDDEN /records/0/attributes/status';
  /** A row that is written by a caller, and waits. */
  const submittedBy = async (caller: TestCaller) => {
    const ref = unique(type);
    await write(caller, ref, created, submit);
    return ref;
  };

  test('is forbidden to whoever created it, and to another API user of the same staff member', async () => {
    for (const author of [ada, lee]) {
      const ref = await submittedBy(author);
      expect(await approve(author, ref)).toBe(forbidden);
      if (author === lee) expect(await approve(leesApp, ref)).toBe(forbidden);
      expect(await approve(ben, ref)).toBe('UPDATED');
    }
  });

  test.each(written.map((_one, index) => index))(
    'is forbidden to whoever wrote its values, whoever created it (%i)',
    async (index) => {
      const ref = unique(type);
      await write(ada, ref, created);
      await write(ben, ref, change(index));
      await write(lee, ref, indifferent, submit);
      expect(await approve(ada, ref)).toBe(forbidden);
      expect(await approve(ben, ref)).toBe(forbidden);
      expect(await approve(lee, ref)).toBe('UPDATED');
    },
  );

  test('is allowed to whoever wrote values that somebody else has reviewed and replaced', async () => {
    const ref = await submittedBy(ada);
    await write(ben, ref, reject, reopen, change(), submit);
    expect(await approve(ben, ref)).toBe(forbidden);
    expect(await approve(ada, ref)).toBe('UPDATED');
  });

  test('is forbidden if what was rejected is submitted again, or the author rejected it', async () => {
    const ref = await submittedBy(ada);
    await write(ben, ref, reject, reopen, submit);
    expect(await approve(ada, ref)).toBe(forbidden);
    const own = await submittedBy(ada);
    await write(ada, own, reject, reopen);
    await write(cleo, own, change(), submit);
    expect(await approve(ada, own)).toBe(forbidden);
  });

  test('is forbidden in the call that writes the values, in one item or in several', async () => {
    const ref = unique(type);
    await write(ada, ref, created);
    const several = [change(), submit, { status: 'APPROVED' }].map((attributes) => ({ systemRef: ref, attributes }));
    expect(await send(ben, ...several)).toEqual(['UPDATED', 'UPDATED', 'FORBIDDEN /records/2/attributes/status']);
    const fresh = unique(type);
    const whole = [created, submit, { status: 'APPROVED' }].map((attributes) => ({ systemRef: fresh, attributes }));
    expect((await send(ben, ...whole))[2]).toBe('FORBIDDEN /records/2/attributes/status');
    if (type === 'DraftInvoice') return;
    // An entry that waits can change.
    const waits = await submittedBy(ada);
    expect((await send(ben, { systemRef: waits, attributes: { ...change(), status: 'APPROVED' } }))[0]).toBe(forbidden);
  });

  test('is forbidden to the creator of a row whose creation is older than the audit log', async () => {
    const ref = await submittedBy(ada);
    const { tenant, store } = service;
    await store.write(tenant.id, (transaction) =>
      transaction.all(sql`update ${sql.table(table)} set created_by_api_user_id = (select id from api_user where name like '%staff_r')
        where system_ref = ${ref}`),
    );
    expect(await approve(cleo, ref)).toBe(forbidden);
    expect(await approve(ben, ref)).toBe('UPDATED');
  });

  test('of several rows in one call rejects those that the approver wrote', async () => {
    const refs = [await submittedBy(ada), await submittedBy(ben), await submittedBy(cleo)];
    const approvals = refs.map((systemRef) => ({ systemRef, attributes: { status: 'APPROVED' } }));
    expect(await send(ben, ...approvals)).toEqual(['UPDATED', 'FORBIDDEN /records/1/attributes/status', 'UPDATED']);
  });

  test('is allowed to the author of an entry that somebody else has approved before', async () => {
    if (type === 'DraftInvoice') return;
    const ref = await submittedBy(ada);
    await write(ben, ref, { status: 'APPROVED' }, reopen, submit);
    expect(await approve(ada, ref)).toBe('UPDATED');
  });
});
