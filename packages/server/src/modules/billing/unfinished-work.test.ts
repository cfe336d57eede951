/** What can still be billed keeps the rows that it refers to, and nothing is billed to a row that is deleted. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { approver, draftOf, newClient, newJob, pay, preparer, records, staffId } = await firm(service);

async function remove(type: string, id: string) {
  return only(await records.remove([{ type, systemRef: id }]));
}

async function enter(jobId: string, attributes: object = {}) {
  const entry = { staffId, jobId, workDate: '2026-01-05', hours: '1.00', status: 'SUBMITTED', ...attributes };
  const systemRef = crypto.randomUUID();
  const { body } = await preparer.call<{ records: { status: string; error: object | null }[] }>(
    'POST',
    '/api/v1/entries',
    {
      records: [{ type: 'TimeEntry', systemRef, attributes: entry }],
    },
  );
  expect(body.records).toMatchObject([{ status: 'CREATED' }]);
  return systemRef;
}

const bill = { lineType: 'OTHER', description: 'Old', quantity: '1', unitAmount: '10.00', taxable: false };

/** What keeps a client, by how it is called in the message. */
const kept: Readonly<Record<string, (clientId: string) => Promise<unknown>>> = {
  'open jobs': newJob,
  'draft invoices': (clientId) => draftOf([{}], { clientId }),
  'imported invoices that are not posted': (clientId) => {
    const dates = { invoiceDate: '2026-01-05', dueDate: '2026-02-05' };
    return records.make('Invoice', {
      pmsRef: `kept-${clientId}`,
      clientId,
      ...dates,
      lines: [bill],
      status: 'PENDING',
    });
  },
  'pending payments': (clientId) => pay('5.00', [], { clientId, method: 'ACH', status: 'PENDING' }),
  'engagements that have not ended': async (clientId) => {
    const { status } = await preparer.call('POST', '/api/v1/engagements/create', {
      clientId,
      fiscalYear: 2026,
      partnerId: staffId,
    });
    expect(status).toBe(201);
  },
};

/** What an archived client can have: nothing is billed of it before the client is active again. */
const harmless = ['open jobs', 'engagements that have not ended'];

async function setStatus(id: string, status: string) {
  return only(await records.update([{ type: 'Client', systemRef: id, attributes: { status } }]));
}

test.each(Object.entries(kept))('deleteRecords › rejects a Client with %s', async (what, make) => {
  const { id } = await newClient({ name: what });
  expect(await remove('Client', id)).toMatchObject({ status: 'DELETED' });
  const { id: other } = await newClient({ name: what });
  await make(other);
  expect(await remove('Client', other)).toMatchObject({
    status: 'FAILED',
    error: { code: 'INVALID_STATE', detail: `The client has ${what}. Finish or delete them first.` },
  });
  const archived = harmless.includes(what) ? { status: 'UPDATED' } : { error: { code: 'INVALID_STATE' } };
  expect(await setStatus(other, 'ARCHIVED')).toMatchObject(archived);
});

test('an ARCHIVED Client gets no new job, engagement or payment link, except by an import', async () => {
  const { id: clientId, ref: clientRef } = await newClient();
  const jobId = await newJob((await newClient()).id);
  await setStatus(clientId, 'ARCHIVED');
  const attributes = { name: 'New', clientId, billingType: 'TIME_AND_MATERIALS' };
  const job = { type: 'Job', attributes };
  const moved = { type: 'Job', systemRef: jobId, attributes: { clientId } };
  for (const record of [job, moved])
    expect(only(await records.upsert([record]))).toMatchObject({
      error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/clientId' },
    });
  const engagement = { clientId, fiscalYear: 2026, partnerId: staffId };
  const calls = [
    ['/api/v1/engagements/create', engagement, '/clientId'],
    ['/api/v1/clients/v1/link/payment', { clientRef, amount: '5.00' }, '/clientRef'],
  ] as const;
  for (const [path, body, pointer] of calls)
    expect(await preparer.call('POST', path, body)).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE', errors: [{ pointer }] },
    });
  const history = { ...job, systemRef: 'old-job', source: 'IMPORT', attributes: { ...attributes, status: 'CLOSED' } };
  expect(only(await records.upsert([history]))).toMatchObject({ status: 'CREATED' });
});

test('deleteRecords › rejects a Job, Staff or Task with time that is not approved', async () => {
  const jobId = await newJob((await newClient()).id);
  const { id: taskTypeId } = await records.make('TaskType', {
    displayName: 'Kept',
    code: 'KEPT',
    isBillable: true,
    billingMethod: 'HOURLY',
  });
  const task = await records.make('Task', { name: 'Review', jobId, taskTypeId, sequence: 1, isBillable: true });
  const entry = await enter(jobId, { taskId: task.id });
  for (const [type, id] of [
    ['Job', jobId],
    ['Staff', staffId],
    ['Task', task.id],
  ] as const)
    expect([type, await remove(type, id)]).toMatchObject([
      type,
      {
        status: 'FAILED',
        error: { code: 'INVALID_STATE', detail: expect.stringContaining('time entries that are not approved') },
      },
    ]);
  const rejection = { status: 'REJECTED', rejectionReason: 'Another day' };
  for (const change of [{ attributes: rejection }, { active: false }])
    await approver.call('POST', '/api/v1/entries', { records: [{ type: 'TimeEntry', systemRef: entry, ...change }] });
  expect(await remove('Task', task.id)).toMatchObject({ status: 'DELETED' });
});

test('updateRecords and upsertEntries › approve nothing of a client or job that is deleted', async () => {
  const { id: clientId } = await newClient();
  const jobId = await newJob(clientId);
  const draft = await draftOf([{ jobId }], { clientId });
  const entry = await enter(jobId);
  const review = { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { status: 'IN_REVIEW' } };
  expect(only(await records.update([review]))).toMatchObject({ error: null });
  // As in a database from before the deletion was guarded.
  await service.store.write(service.tenant.id, (transaction) =>
    transaction.all(sql`update client set active = false where tenant_id = ${service.tenant.id} and id = ${clientId}`),
  );
  const approval = { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { status: 'APPROVED' } };
  const { body: drafts } = await approver.call<{ records: object[] }>('PUT', '/api/v1/records', {
    records: [approval],
  });
  expect(drafts.records).toMatchObject([
    { error: { code: 'INVALID_STATE', detail: 'The client is deleted. Nothing can be billed to it.' } },
  ]);
  const { body: entries } = await approver.call('POST', '/api/v1/entries', {
    records: [{ type: 'TimeEntry', systemRef: entry, attributes: { status: 'APPROVED' } }],
  });
  expect(entries).toMatchObject({ records: [{ status: 'FAILED', error: { code: 'INVALID_STATE' } }] });
  await service.store.write(service.tenant.id, (transaction) =>
    transaction.all(sql`
      with kept as (update client set active = true where tenant_id = ${service.tenant.id} and id = ${clientId})
      update job set active = false where tenant_id = ${service.tenant.id} and id = ${jobId}`),
  );
  const { body: again } = await approver.call<{ records: object[] }>('PUT', '/api/v1/records', { records: [approval] });
  expect(again.records).toMatchObject([
    { error: { code: 'VALIDATION_ERROR', detail: 'The job is deleted. Nothing can be billed for it.' } },
  ]);
});
