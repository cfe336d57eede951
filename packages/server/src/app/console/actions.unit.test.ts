import { expect, test } from 'vitest';
import { entityOf } from '../../entity/registry.ts';
import { actionsOn, transitionsOn, writingOf } from './actions.ts';
import { dataLists, listOf } from './catalog.ts';
import type { ShownRow } from './values.ts';

const everything = [...dataLists.values()].flatMap(({ properties, writeRoles }) => [
  ...writeRoles,
  ...(properties.get('status')?.['x-state-machine']?.transitions ?? []).flatMap(({ roles = [] }) => roles),
]);
const caller = { apiUserId: '', apiUserName: 'ops', staffId: null, roles: new Set(['API_ADMIN', ...everything]) };

test('every transition that a caller can cause is an action, with the fields that it requires', () => {
  const found = [...dataLists.values()].flatMap((list) => {
    const machine = list.properties.get('status')?.['x-state-machine'];
    // A project is another view of a job.
    if (machine === undefined || entityOf(list.type)?.writable !== true) return [];
    const isCaused = ({ operations, events }: (typeof machine.transitions)[number]) =>
      (operations ?? (events === undefined ? machine.operations : [])).length > 0;
    return machine.transitions.filter(isCaused).flatMap(({ from, to, requires = [] }) =>
      from.map((status) => {
        const action = transitionsOn(list, { status }, caller).find(({ name }) => name === to);
        const entered = [...(action?.inputs.map(({ path }) => path) ?? []), ...Object.keys(action?.fixed ?? {})];
        const missing = requires.filter((name) => !entered.includes(name));
        return [`${list.type} ${status} ${to}`, action === undefined ? 'none' : missing.join()] as const;
      }),
    );
  });
  expect(found.length).toBeGreaterThan(40);
  expect(found.filter(([, missing]) => missing !== '')).toEqual([]);
});

test('a transition that the values of a row rule out is no action', () => {
  const namesFor = (row: ShownRow, type = 'Invoice') =>
    transitionsOn(listOf(type), row, caller).map(({ name }) => name);
  const paid = {
    status: 'PAID',
    total: '90.00',
    amountPaid: '90.00',
    amountCredited: '0.00',
    amountWrittenOff: '0.00',
  };
  expect(namesFor(paid)).toEqual([]);
  expect(namesFor({ ...paid, amountWrittenOff: '10.00' })).toEqual(['PARTIALLY_PAID']);
  expect(namesFor({ ...paid, amountPaid: '0.00', amountWrittenOff: '90.00' })).toEqual(['POSTED']);
  expect(namesFor({ ...paid, total: '0.00', amountPaid: '0.00' })).toEqual(['VOIDED']);
  expect(namesFor({ status: 'POSTED', documentType: 'CREDIT_NOTE', amountPending: '0.00' })).toEqual(['VOIDED']);
  expect(namesFor({ status: 'POSTED', documentType: 'INVOICE', amountPending: '5.00' })).toEqual([]);
  const received = (method: string, source: string) => namesFor({ status: 'COMPLETED', method, source }, 'Payment');
  expect(received('CREDIT', 'CREDIT_NOTE')).toEqual([]);
  expect(received('CASH', 'MANUAL')).toEqual(['PARTIALLY_REFUNDED', 'REFUNDED', 'VOIDED']);
  expect(received('CARD', 'QUICK_PAYMENT_LINK')).toEqual(['RETURNED', 'PARTIALLY_REFUNDED', 'REFUNDED']);
});

test('a payment of which a part was refunded has an action that refunds another part', () => {
  const partRefunds = (status: string) =>
    transitionsOn(listOf('Payment'), { status }, caller).flatMap(({ name, label, inputs }) =>
      name === 'PARTIALLY_REFUNDED' ? [[label, ...inputs.map(({ path }) => path)]] : [],
    );
  expect(partRefunds('COMPLETED')).toEqual([['Refund a part', 'refundedAmount']]);
  expect(partRefunds('PARTIALLY_REFUNDED')).toEqual([['Refund another part', 'refundedAmount']]);
  expect(partRefunds('REFUNDED')).toEqual([]);
});

test('a client has an input for each part of an electronic address', () => {
  const paths = writingOf(listOf('Client'), { id: '' }, caller)?.inputs.map(({ path }) => path);
  expect(paths?.filter((path) => path.startsWith('electronicAddress'))).toEqual([
    'electronicAddress.scheme',
    'electronicAddress.id',
  ]);
});

test('a form has no input that only an import sets, and that of a new row none of a change', () => {
  const inputsOf = (type: string, row?: ShownRow) =>
    writingOf(listOf(type), row, caller)?.inputs.map(({ path }) => path) ?? [];
  const drafts = [inputsOf('DraftInvoice'), inputsOf('DraftInvoice', { id: '', lines: [] })].flat();
  expect(drafts).toContain('lines.0.unitAmount');
  expect(drafts.filter((path) => /approvedById|taxAmount/.test(path))).toEqual([]);
  expect(inputsOf('Invoice').filter((path) => /change|void|writeOff|settle/.test(path))).toEqual([]);
  expect(inputsOf('Invoice', { id: '' })).toContain('writeOffAmount');
});

test('the form of a row has no input of a field that cannot change', () => {
  const inputsOf = (type: string, row?: ShownRow) =>
    writingOf(listOf(type), row, caller)?.inputs.map(({ path }) => path) ?? [];
  expect(inputsOf('Invoice')).toContain('dueDate');
  const invoice = inputsOf('Invoice', { id: '', lines: [] });
  expect(invoice).toContain('memo');
  expect(invoice.filter((path) => /^(dueDate|lines)/.test(path))).toEqual([]);
  expect(inputsOf('DraftInvoice', { id: '', status: 'DRAFT' })).toContain('dueDate');
  expect(inputsOf('DraftInvoice', { id: '', status: 'IN_REVIEW' })).toEqual(['reviewerId', 'rejectionReason', 'note']);
  expect(inputsOf('DraftInvoice', { id: '', status: 'POSTED' })).toEqual([]);
  expect(inputsOf('TimeEntry', { id: '', status: 'DRAFT' })).toContain('hours');
  expect(inputsOf('TimeEntry', { id: '', status: 'APPROVED' })).toEqual([]);
  expect(inputsOf('Payment', { id: '', clientId: null })).toContain('clientId');
  expect(inputsOf('Payment', { id: '', clientId: 'known' })).not.toContain('clientId');
});

test('nobody has an action or an input without the roles that it requires', () => {
  const [job, industry, staff] = (['Job', 'Industry', 'Staff'] as const).map(listOf);
  const namesFor = (list: typeof job, ...roles: string[]) =>
    list && actionsOn(list, { id: '', active: true }, { roles: new Set(roles) }).map(({ name }) => name);
  expect(namesFor(job, 'JOB_R', 'RECORD_W')).toEqual([]);
  expect(namesFor(job, 'JOB_ASGN')).toEqual(['assignStaff', 'removeStaff']);
  expect(namesFor(industry, 'RECORD_W')).toEqual([]);
  expect(namesFor(industry, 'RECORD_W', 'REF_W')).toEqual(['delete']);
  const rates = (...roles: string[]) => {
    const { inputs = [] } = (staff && writingOf(staff, { id: '' }, { roles: new Set(roles) })) ?? {};
    return inputs.filter(({ path }) => path.endsWith('Rate')).length;
  };
  expect([rates('STAFF_W'), rates('STAFF_W', 'RATE_W')]).toEqual([0, 2]);
});
