/** Engagements of another system, in the state that their letters have there. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { type Engagement, firmWithLetters } from '../../../test/modules/engagements.ts';
import { only, recordsOf, type WriteItem, type WriteResult } from '../../../test/modules/records.ts';
import { sharedService, type TestCaller } from '../../../test/service.ts';

const service = await sharedService();
const { calls, change, clientId, documents, make, partnerId, signer, signerId } = await firmWithLetters(service);
const second = await signer(clientId, { firstName: 'Noor' });
const sentAt = '2025-09-01T08:00:00.000Z';
const signedAt = '2025-09-03T10:30:00.000Z';
const terms = { clientId, fiscalYear: 2025, partnerId, name: 'Return 2025', feeAmount: '900.00' };
const signed = [
  { contactId: signerId, status: 'SIGNED', signedAt },
  { contactId: second, status: 'SIGNED', signedAt: sentAt },
];
const pending = [{ contactId: signerId }, { contactId: second }];

async function imported(
  systemRef: string,
  attributes: object,
  instants?: object,
  caller: TestCaller = service,
): Promise<WriteItem> {
  const { body } = await caller.call<WriteResult>('POST', '/api/v1/records', {
    records: [{ type: 'Engagement', systemRef, source: 'IMPORT', attributes: { ...terms, ...attributes }, instants }],
  });
  return only(body.records);
}

const waiting = sql`select id from background_job where tenant_id = ${service.tenant.id}`;
const jobs = async () => (await service.store.read(service.tenant.id, (session) => session.all(waiting))).length;
const isImport = async (id: unknown) => {
  const { body } = await service.call<{ data: { entityId: string; isImport: boolean }[] }>(
    'GET',
    '/api/v1/events?pageSize=1000',
  );
  return body.data.filter(({ entityId }) => entityId === id).map((event) => event.isImport);
};

/** By status, what an import states beside the terms, and its instants. */
const states: readonly (readonly [Engagement['status'], object, object])[] = [
  ['DRAFT', { signers: pending }, { createdAt: sentAt }],
  ['SENT', { signers: [{ contactId: signerId, status: 'VIEWED' }, signed[1]] }, { sentAt, viewedAt: signedAt }],
  ['EXECUTED', { signers: signed }, { sentAt, viewedAt: sentAt, executedAt: signedAt }],
  ['ACTIVE', {}, { sentAt, executedAt: signedAt }],
  ['ON_HOLD', {}, { sentAt, executedAt: signedAt }],
  ['COMPLETED', { signers: signed }, { sentAt, executedAt: signedAt, completedAt: '2026-01-31T12:00:00.000Z' }],
  ['DECLINED', { signers: [{ contactId: signerId, status: 'DECLINED' }], declineReason: 'Price' }, { sentAt }],
  ['EXPIRED', { signers: pending, expiresAt: '2025-10-01T00:00:00.000Z' }, { sentAt }],
  ['CANCELLED', { signers: signed }, { sentAt, viewedAt: sentAt, executedAt: signedAt }],
];

test.each(states)(
  'upsertRecords imports an engagement that is %s, and leaves it unchanged the second time',
  async (status, more, instants) => {
    const before = await jobs();
    const first = await imported(`old-${status}`, { status, ...more }, instants);
    expect(first).toMatchObject({ status: 'CREATED', attributes: { status, ...more } });
    const { body } = await calls.get(String(first.id));
    expect(body).toMatchObject({ status, ...instants, feeAmount: '900.00' });
    expect(await documents(String(first.id))).toMatchObject(status === 'DRAFT' ? [{ status, fileId: null }] : []);
    expect(await imported(`old-${status}`, { status, ...more }, instants)).toMatchObject({ status: 'UNCHANGED' });
    expect((await calls.get(String(first.id))).body).toEqual(body);
    expect(await isImport(first.id)).toEqual([true]);
    expect(await jobs()).toBe(before);
  },
);

test('upsertRecords leaves an imported engagement unchanged that has got further, and rejects other content', async () => {
  const sent = { status: 'SENT', signers: pending };
  const { id } = await imported('further', sent, { sentAt });
  await change(String(id), { signers: pending.map((one) => ({ ...one, status: 'SIGNED' })) });
  const executed = (await calls.get(String(id))).body;
  expect(executed).toMatchObject({ status: 'EXECUTED', sentAt });
  // Its letter was written and signed elsewhere.
  expect(await documents(String(id))).toEqual([]);
  for (const repeated of [sent, { ...sent, signers: [{ contactId: signerId, status: 'VIEWED' }, pending[1]] }])
    expect(await imported('further', repeated, { sentAt })).toMatchObject({ status: 'UNCHANGED' });
  expect(await imported('further', { ...sent, feeAmount: '901.00' })).toMatchObject({
    status: 'FAILED',
    error: { code: 'INVALID_STATE' },
  });
  expect((await calls.get(String(id))).body).toEqual(executed);
});

test('upsertRecords brings an engagement further that the other system has brought further', async () => {
  const { id } = await imported('later', { signers: pending });
  const active = { status: 'ACTIVE', signers: signed };
  expect(await imported('later', active, { sentAt, executedAt: signedAt })).toMatchObject({
    status: 'UPDATED',
    attributes: { status: 'ACTIVE', sentAt, executedAt: signedAt },
  });
  // The draft of the letter is not what was signed.
  expect(await documents(String(id))).toMatchObject([{ status: 'SUPERSEDED' }]);
  expect(await imported('later', { ...active, status: 'CANCELLED' })).toMatchObject({
    status: 'FAILED',
    error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/status' },
  });
});

test('upsertRecords imports jobs of an engagement without changing its status or that of its client', async () => {
  const prospect = await make('Client', { name: 'Mill', status: 'PROSPECT', currency: 'EUR' });
  const engagement = await imported('with-jobs', { clientId: prospect.id, status: 'EXECUTED' });
  const { body } = await service.call<WriteResult>('POST', '/api/v1/records', {
    records: ['IN_PROGRESS', 'CLOSED'].map((status, index) => ({
      type: 'Job',
      systemRef: `job-${index}`,
      source: 'IMPORT',
      attributes: {
        name: `Job ${index}`,
        clientId: prospect.id,
        engagementId: { systemRef: 'with-jobs' },
        billingType: 'FIXED_FEE',
        feeAmount: '10.00',
        status,
      },
    })),
  });
  expect(body.records.map(({ status, error }) => error ?? status)).toEqual(['CREATED', 'CREATED']);
  expect((await calls.get(String(engagement.id))).body).toMatchObject({
    status: 'EXECUTED',
    jobs: [{ isActive: true }, { isActive: true }],
  });
  const { body: clients } = await service.call<{ status: string }>('GET', `/gql/v1/client/${prospect.id}`);
  expect(clients.status).toBe('PROSPECT');
});

test('updateEngagement writes the letter of an imported draft, and that of a recalled one', async () => {
  const draft = await imported('draft-on', { signers: pending });
  const recalled = await imported('recalled', { status: 'SENT', signers: pending });
  const before = await jobs();
  await change(String(draft.id), { status: 'SENT' });
  await change(String(recalled.id), { status: 'DRAFT' });
  expect(await documents(String(draft.id))).toMatchObject([{ status: 'SENT' }]);
  expect(await documents(String(recalled.id))).toMatchObject([{ status: 'DRAFT' }]);
  expect(await jobs()).toBe(before + 2);
});

test.each([
  ['a sent letter that all have signed', { status: 'SENT', signers: signed }, 'signers'],
  ['a sent letter without signers', { status: 'SENT' }, 'signers'],
  ['a sent letter that has expired', { status: 'SENT', signers: pending, expiresAt: sentAt }, 'expiresAt'],
  ['a draft that somebody has signed', { status: 'DRAFT', signers: signed }, 'signers'],
  ['an executed letter with a missing signature', { status: 'EXECUTED', signers: [signed[0], pending[1]] }, 'signers'],
  ['a declined letter that nobody declined', { status: 'DECLINED', signers: pending }, 'signers'],
  ['one signer twice', { status: 'EXECUTED', signers: [signed[0], signed[0]] }, 'signers/1/contactId'],
  [
    'a signature in the future',
    { status: 'EXECUTED', signers: [{ ...signed[0], signedAt: '2999-01-01T00:00:00Z' }] },
    'signers/0/signedAt',
  ],
  ['a status that does not exist', { status: 'SIGNED' }, 'status'],
  ['an end before the start', { startDate: '2025-02-01', endDate: '2025-01-01' }, 'endDate'],
])('upsertRecords rejects %s', async (_, attributes, pointer) => {
  expect(await imported('bad', attributes)).toMatchObject({
    status: 'FAILED',
    error: { code: 'VALIDATION_ERROR', pointer: `/records/0/attributes/${pointer}` },
  });
});

test('upsertRecords imports an engagement that was cancelled as a draft', async () => {
  const { id } = await imported('cancelled-draft', { status: 'CANCELLED' }, { createdAt: sentAt });
  expect((await calls.get(String(id))).body).toMatchObject({ createdAt: sentAt, sentAt: null, executedAt: null });
  expect(await imported('cancelled-draft', { status: 'CANCELLED' }, { completedAt: sentAt })).toMatchObject({
    status: 'FAILED',
    error: { code: 'INVALID_STATE', pointer: '/records/0/instants/completedAt' },
  });
});

test('upsertRecords rejects instants that a letter has not in its state, and engagements that are no history', async () => {
  expect(await imported('instants', { status: 'SENT', signers: pending }, { executedAt: sentAt })).toMatchObject({
    status: 'FAILED',
    error: { pointer: '/records/0/instants/executedAt' },
  });
  const clerk = await service.signIn({ roles: ['RECORD_W', 'ENGMT_W'] });
  expect(await imported('role', { status: 'EXECUTED' }, undefined, clerk)).toMatchObject({
    status: 'FAILED',
    error: { code: 'FORBIDDEN', pointer: '/records/0/source' },
  });
  const importer = await service.signIn({ roles: ['RECORD_W', 'IMPORT_W', 'ENGMT_W'] });
  expect(await imported('role', { status: 'EXECUTED' }, undefined, importer)).toMatchObject({ status: 'CREATED' });
  const [usual] = await recordsOf(service).upsert([
    { type: 'Engagement', systemRef: 'role', attributes: { ...terms } },
  ]);
  expect(usual).toMatchObject({ status: 'FAILED', error: { code: 'VALIDATION_ERROR', pointer: '/records/0/source' } });
});
