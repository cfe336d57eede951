import { expect, test } from 'vitest';
import { deliveringService } from '../../test/delivery.ts';
import { firm as firmOf } from '../../test/modules/billing.ts';
import { recordsOf } from '../../test/modules/records.ts';
import { startReceiver } from '../../test/receiver.ts';
import type { TestCaller } from '../../test/service.ts';
import { allOperations, contract, readRolesOf, readRows, schemaOf } from '../contract/contract.ts';
import { type Field, membersOf } from '../contract/fields.ts';
import { membersShown } from './embed.ts';
import type { AnyEntity } from './entity.ts';
import type { Embed } from './model.ts';
import { allEntities, anyEntityNamed, entityOf } from './registry.ts';

const service = await deliveringService();
const books = await firmOf(service);
const { make } = recordsOf(service);

type Json = Readonly<Record<string, unknown>>;
const allRoles = (schemaOf('Role').enum ?? []).filter((role) => role !== 'API_ADMIN');
const without = (role: string) => service.signIn({ roles: allRoles.filter((one) => one !== role) });

/** The values of an entity's row that a role shows, because they are those of another row. */
function valuesFor(role: string, fields: readonly Field[], row: unknown): unknown[] {
  return [row].flat().flatMap((one) => {
    if (typeof one !== 'object' || one === null) return [];
    return fields.flatMap((field) => {
      const value: unknown = Reflect.get(one, field.name);
      if (value === undefined) return [];
      return field.readRoles.includes(role) ? [value] : valuesFor(role, membersOf(field), value);
    });
  });
}

const rolesIn = (field: Field): readonly string[] =>
  readRows(field.readRoles) ? field.readRoles : membersOf(field).flatMap(rolesIn);
const embedRoles = ({ shown }: AnyEntity) => [...new Set(shown.flatMap(rolesIn))];

/** One row of each type that embeds rows of another type. */
async function rows() {
  const { client, jobId, staffId, records } = books;
  const invoiceId = await books.post(await books.draftOf([{}]));
  const payment = await books.pay('10.00', [{ invoiceId, amount: '10.00' }]);
  const names = { displayName: 'Returns', code: 'RET', isBillable: true, billingMethod: 'HOURLY' };
  const taskTypeId = (await make('TaskType', names)).id;
  const task = await records.make(
    'Task',
    { name: 'Review', jobId, taskTypeId, assigneeId: staffId, sequence: 0 },
    'embedding-task',
  );
  const terms = { clientId: client.id, fiscalYear: 2026, partnerId: staffId, jobIds: [jobId] };
  const engagement = await service.call<{ id: string }>('POST', '/api/v1/engagements/create', terms);
  // Visible without the role that reads the invoice.
  const credits = { where: { account: { _eq: 'CREDIT' }, invoiceId: { _eq: invoiceId } } };
  const entries = await service.call<{ data: { id: string }[] }>('POST', '/gql/v1/ledger_entries/search', credits);
  const made = { jobId, invoiceId, paymentId: payment.id, taskId: task.id, engagementId: engagement.body.id, terms };
  return { ...made, ledgerEntryId: entries.body.data[0]?.id };
}
const { jobId, invoiceId, paymentId, taskId, engagementId, terms, ledgerEntryId } = await rows();

type Call = readonly [type: string, method: string, path: string, body?: object];
const newest = { pageSize: 1000 };
const lookups = ['Task', 'Invoice', 'Payment', 'Engagement'].map(
  (type): Call => [type, 'POST', `/api/v1/records/batch/${type}`, {}],
);
const write = (attributes?: object) => ({
  records: [{ type: 'Task', systemRef: 'embedding-task', ...(attributes && { attributes }) }],
});
/** Calls of all operations whose responses embed rows of other types, by operation. */
const calls: Readonly<Record<string, readonly Call[]>> = {
  getProject: [['Project', 'GET', `/gql/v1/project/${jobId}`]],
  listProjects: [['Project', 'POST', '/gql/v1/projects', newest]],
  searchProjects: [['Project', 'POST', '/gql/v1/projects/search', newest]],
  getPayment: [['Payment', 'GET', `/gql/v1/payment/${paymentId}`]],
  listPayments: [['Payment', 'POST', '/gql/v1/payments', newest]],
  searchPayments: [['Payment', 'POST', '/gql/v1/payments/search', newest]],
  getInvoice: [['Invoice', 'GET', `/gql/v1/invoice/${invoiceId}`]],
  listInvoices: [['Invoice', 'POST', '/gql/v1/invoices', newest]],
  searchInvoices: [['Invoice', 'POST', '/gql/v1/invoices/search', newest]],
  listUnpaidInvoices: [['Invoice', 'GET', `/api/v1/invoices/unpaid?clientRef=${books.client.ref}`]],
  listLedgerEntries: [['LedgerEntry', 'POST', '/gql/v1/ledger_entries', newest]],
  searchLedgerEntries: [['LedgerEntry', 'POST', '/gql/v1/ledger_entries/search', newest]],
  getLedgerEntry: [['LedgerEntry', 'GET', `/gql/v1/ledger_entry/${ledgerEntryId}`]],
  getTask: [['Task', 'GET', `/v1/task/${taskId}`]],
  searchTasks: [['Task', 'POST', '/v1/tasks/search', newest]],
  getEngagement: [['Engagement', 'GET', `/gql/v1/engagement/${engagementId}`]],
  listEngagements: [['Engagement', 'POST', '/gql/v1/engagements', newest]],
  searchEngagements: [['Engagement', 'POST', '/gql/v1/engagements/search', newest]],
  updateEngagement: [['Engagement', 'PATCH', `/api/v1/engagements/${engagementId}`, { name: 'Terms' }]],
  createEngagement: [['Engagement', 'POST', '/api/v1/engagements/create', { ...terms, jobIds: [] }]],
  lookupRecords: lookups,
  getRecord: [['Task', 'GET', '/api/v1/records/by-ref/Task?ref=embedding-task']],
  upsertRecords: [['Task', 'POST', '/api/v1/records', write({ description: 'By role' })]],
  updateRecords: [['Task', 'PUT', '/api/v1/records', write({ description: 'By role' })]],
  listEvents: ['Task', 'Invoice', 'Engagement'].map(
    (type): Call => [type, 'GET', `/api/v1/events?entityType=${type}&pageSize=1000`],
  ),
  deleteRecords: [['Task', 'DELETE', '/api/v1/records', write()]],
};

/** The rows of a response, in one of its forms. */
function rowsOf(body: Json): unknown[] {
  const { data = body.records ?? [body] } = body;
  return [data].flat().map((row) => Reflect.get(Object(row), 'attributes') ?? Reflect.get(Object(row), 'data') ?? row);
}

/** The values for a role in the response to each call. */
async function seenBy(caller: TestCaller, role: string): Promise<Map<string, unknown[]>> {
  const seen = new Map<string, unknown[]>();
  for (const [operation, list] of Object.entries(calls))
    for (const [type, method, path, body] of list) {
      const entity = anyEntityNamed(type);
      if (!embedRoles(entity).includes(role)) continue;
      const response = await caller.call<Json>(method, path, body);
      if (response.status >= 300) throw new Error(`${operation}: ${JSON.stringify(response.body)}`);
      // The engagement that is created has no job, which other engagements can have.
      if (operation !== 'createEngagement')
        seen.set(`${operation} ${type}`, valuesFor(role, entity.shown, rowsOf(response.body)));
      // A deleted row becomes active again.
      if (operation === 'deleteRecords') await service.call('POST', '/api/v1/records', write({}));
    }
  return seen;
}

/** Whether a part of the contract leads to a property that shows another row. */
function showsRows(part: unknown, seen = new Set<unknown>()): boolean {
  if (typeof part !== 'object' || part === null || seen.has(part)) return false;
  seen.add(part);
  return Object.entries(part).some(([key, value]) => {
    if (key === 'x-read-roles') return Array.isArray(value) && readRows(value);
    if (key !== '$ref') return showsRows(value, seen);
    const steps = String(value).split('/').slice(1);
    return showsRows(
      steps.reduce<unknown>((node, step) => Reflect.get(Object(node), step), contract),
      seen,
    );
  });
}

test('this test calls every operation whose responses embed rows of other types', () => {
  const operations = allOperations.filter(({ method, path }) => {
    const responses: unknown = Reflect.get(Object(contract.paths[path]), method.toLowerCase())?.responses;
    return showsRows(Object.entries(Object(responses)).filter(([status]) => status.startsWith('2')));
  });
  // Rows of codes and entries embed none: their items are described together with those of records.
  // A statement is no row: its own test reads it without the role of its name.
  const others = ['upsertCodes', 'lookupCodes', 'upsertEntries', 'lookupEntries', 'getClientStatement'];
  expect(operations.map(({ id }) => id).toSorted()).toEqual([...Object.keys(calls), ...others].toSorted());
});

const roles = [...new Set([...allEntities()].flatMap(embedRoles))];

test.each(roles)(
  '%s › no response shows embedded values without it, whatever other roles the caller has, and every one with it',
  async (role) => {
    const [hidden, shown] = [
      await seenBy(await without(role), role),
      await seenBy(await service.signIn({ roles: allRoles }), role),
    ];
    expect(hidden.size).toBeGreaterThan(0);
    for (const [call, values] of hidden) {
      expect([call, new Set(values)]).toEqual([call, new Set([null])]);
      expect([call, shown.get(call)?.some((value) => value !== null)]).toEqual([call, true]);
    }
  },
);

test.each(roles)('%s › no delivery carries embedded values without it', async (role) => {
  const types = new Set(Object.values(contract.webhooks).map(({ post }) => post['x-event'].entityType));
  const announced = [...allEntities()].filter((entity) => types.has(entity.type) && embedRoles(entity).includes(role));
  if (announced.length === 0) return;
  const [some, every] = [await startReceiver(), await startReceiver()];
  const [restricted, reader] = [await without(role), await service.signIn({ roles: allRoles })];
  for (const { type: entityType } of announced)
    for (const [receiver, caller] of [
      [some, restricted],
      [every, reader],
    ] as const)
      await service.subscribe(
        receiver,
        { entityType, operations: ['UPDATE'], ...(entityType === 'Payment' && { filterExpression: 'allPayments' }) },
        caller,
      );
  const delivery = await service.start();
  const note = `Changed for ${role}`;
  await recordsOf(service).update(
    [
      { type: 'Task', systemRef: taskId, attributes: { description: note } },
      { type: 'Invoice', systemRef: invoiceId, attributes: { memo: note } },
      { type: 'Payment', systemRef: paymentId, attributes: { note } },
    ].map((item) => (item.type === 'Task' ? { ...item, systemRef: 'embedding-task' } : item)),
  );
  await service.call('PATCH', `/api/v1/engagements/${engagementId}`, { name: note });
  for (const receiver of [some, every])
    await expect
      .poll(() => new Set(receiver.arrivals.map(({ event }) => event.entityType)).size)
      .toBe(announced.length);
  await delivery.stop(0);
  const valuesIn = (receiver: typeof some) =>
    receiver.arrivals.flatMap(({ event }) => valuesFor(role, entityOf(event.entityType)?.shown ?? [], event.data));
  expect(new Set(valuesIn(some))).toEqual(new Set([null]));
  expect(valuesIn(every).filter((value) => value === null).length).toBeLessThan(valuesIn(every).length);
  expect([...some.faults, ...every.faults]).toEqual([]);
});

test('no problem of a write has the number or name of a row that the caller may not read', async () => {
  const writer = await service.signIn({
    roles: allRoles.filter((role) => !['INVC_R', 'PYMT_R', 'JOB_R'].includes(role)),
  });
  const { records, client, draftOf, post, pay, invoice } = books;
  const [open, paid] = [await post(await draftOf([{}])), await post(await draftOf([{}]))];
  await pay('100.00', [{ invoiceId: paid, amount: '100.00' }]);
  const noteId = await post(await draftOf([{ lineType: 'DISCOUNT', unitAmount: '-10.00' }]));
  const found = { where: { creditNoteId: { _eq: noteId } } };
  const credits = await service.call<{ data: { systemRef: string; paymentNumber: string }[] }>(
    'POST',
    '/gql/v1/payments/search',
    found,
  );
  const [credit] = credits.body.data;
  const note = await invoice(noteId);
  await records.update([
    {
      type: 'Payment',
      systemRef: credit?.systemRef,
      attributes: { allocations: [{ invoiceId: open, amount: '10.00' }] },
    },
  ]);
  const template = await make('JobTemplate', {
    name: 'Unknown to them',
    billingType: 'FIXED_FEE',
    budgetHours: '1.00',
  });
  const hidden = [credit?.paymentNumber, note.invoiceNumber, 'Unknown to them'];
  for (const id of [open, paid]) hidden.push((await invoice(id)).invoiceNumber);

  const upsert = (type: string, attributes: object, systemRef?: string) =>
    writer.call('POST', '/api/v1/records', { records: [{ type, attributes, ...(systemRef && { systemRef }) }] });
  const payment = (invoiceId: string) => {
    const money = { paymentDate: '2026-02-01', amount: '500.00', currency: 'USD', method: 'CHECK', source: 'MANUAL' };
    return upsert('Payment', { ...money, clientId: client.id, allocations: [{ invoiceId, amount: '500.00' }] });
  };
  const draft = (creditedInvoiceId: string, unitAmount: string) =>
    draftOf([{ lineType: 'DISCOUNT', unitAmount }], { creditedInvoiceId });
  const review = async (unitAmount: string) =>
    upsert('DraftInvoice', { status: 'IN_REVIEW' }, (await draft(open, unitAmount)).systemRef ?? '');
  const responses = [
    await payment(open),
    await payment(paid),
    await review('-500.00'),
    await upsert('DraftInvoice', { creditedInvoiceId: noteId }, (await draft(open, '-1.00')).systemRef ?? ''),
    await upsert('Invoice', { status: 'VOIDED', voidReason: 'Wrong' }, note.systemRef),
    await writer.call('POST', '/api/v1/clients/v1/link/payment', { clientRef: client.ref, invoiceIds: [paid] }),
    await writer.call('POST', '/api/v1/projects/create_from_template', {
      clientId: client.id,
      jobTemplates: [{ jobTemplateId: template.id }],
    }),
  ].map(({ body }) => JSON.stringify(body));
  for (const response of responses) {
    expect(response).toMatch(/"code":"(INVALID_STATE|VALIDATION_ERROR)"/);
    expect([response, hidden.filter((text) => response.includes(String(text)))]).toEqual([response, []]);
  }
});

/** The embedded fields of an entity at any depth, with the role list that each has in the contract, by the type that it shows. */
function embedsOf(entity: AnyEntity): {
  readonly path: string;
  readonly target: AnyEntity;
  readonly field: string | undefined;
  readonly roles: readonly string[];
}[] {
  const leaf = (path: string, field: Field, embed: Embed, outer: readonly string[]) => {
    const own = { path, target: embed.to(), field: embed.field, roles: [...outer, ...field.readRoles] };
    const inner = membersShown(embed, field).flatMap(
      ({ name, member, embed: nested }): ReturnType<typeof embedsOf> =>
        nested === undefined ? [] : leaf(`${path}.${name}`, member, nested, own.roles),
    );
    return [own, ...inner];
  };
  const owned = [...entity.owned].flatMap(([field, { embeds = {} }]) =>
    membersOf(field).flatMap((member) =>
      embeds[member.name] === undefined
        ? []
        : leaf(`${field.name}.${member.name}`, member, embeds[member.name] as Embed, field.readRoles),
    ),
  );
  return [...[...entity.embeds].flatMap(([field, embed]) => leaf(field.name, field, embed, [])), ...owned];
}

test('every field that embeds another type requires a role that reads it, but for the keys that name a row', () => {
  // What the operations that read the rows require.
  const ownRoles = ({ schema, readRoles }: AnyEntity) =>
    readRoles ?? allOperations.find(({ id }) => id === `get${schema}`)?.roles ?? [];
  // Whoever holds PAYLNK_C may list unpaid invoices.
  const readable = new Set(['QuickPaymentLink.invoices.invoiceNumber']);
  const keys = new Set(['id', 'clientId', 'clientRef']);
  const faults = [...allEntities()].flatMap((entity) =>
    embedsOf(entity).flatMap(({ path, target, field, roles: required }) => {
      const needed = readRolesOf(target.schema) ?? [];
      const isFree =
        needed.some((role) => ownRoles(entity).includes(role)) ||
        (field !== undefined && keys.has(field)) ||
        readable.has(`${entity.type}.${path}`);
      return isFree || needed.some((role) => required.includes(role))
        ? []
        : [`${entity.type}.${path} shows ${target.type} without ${needed}`];
    }),
  );
  expect(faults).toEqual([]);
});
