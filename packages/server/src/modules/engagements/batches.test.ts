import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { runBackground } from '../../../test/background.ts';
import { callsOf, firmWithLetters } from '../../../test/modules/engagements.ts';
import { testService } from '../../../test/service.ts';
import { contract } from '../../contract/contract.ts';
import { createEngagements } from './create-engagements.ts';

const service = await testService();
const firm = await firmWithLetters(service);
const max = contract['x-tenant-limits'].unfinishedEngagementBatches ?? 0;
const entry = (fields: object = {}) => ({
  clientId: firm.clientId,
  fiscalYear: 2026,
  partnerId: firm.partnerId,
  ...fields,
});

test('createEngagementBatch › rejects a batch beyond the limit of unfinished ones, and accepts it when one has finished', async () => {
  for (let index = 1; index < max; index++) expect((await firm.calls.createBatch([entry()])).status).toBe(202);
  // Two calls at the same time count one after the other.
  const both = await Promise.all([firm.calls.createBatch([entry()]), firm.calls.createBatch([entry()])]);
  expect(both.map(({ status }) => status).sort()).toEqual([202, 409]);
  expect(both.find(({ status }) => status === 409)?.body).toMatchObject({
    code: 'LIMIT_REACHED',
    detail: expect.stringContaining(`${max} unfinished engagement batches`),
  });
  const tenant = await service.addTenant('elsewhere');
  const other = await service.signIn({ roles: ['API_ADMIN'], tenant });
  const elsewhere = await other.call('POST', '/api/v1/engagements/batch/create', { engagements: [entry()] });
  expect(elsewhere.status).toBe(202);
  const background = await runBackground(service.store, { jobs: [createEngagements] });
  const later = async () => (await firm.calls.createBatch([entry()])).status;
  await expect.poll(later).toBe(202);
  await background.stop(10_000);
});

test('createEngagementBatch › creates many engagements with each transaction, so that the cost of one does not grow with the batch', async () => {
  const entries = Array.from({ length: 120 }, (_, index) => entry(index === 60 ? { clientId: firm.partnerId } : {}));
  await runBackground(service.store, { jobs: [createEngagements] });
  const created = async () => await firm.calls.createBatch(entries);
  await expect
    .poll(async () => (await service.store.read(service.tenant.id, (session) => session.all(unfinished))).length)
    .toBe(0);
  const { batchId } = (await created()).body;
  await expect.poll(async () => (await firm.calls.batch(batchId)).body.status).toBe('COMPLETED_WITH_ERRORS');
  const { body } = await firm.calls.batch(batchId);
  expect(body).toMatchObject({
    succeeded: 119,
    failed: 1,
    errors: [{ index: 60, pointer: '/engagements/60/clientId' }],
  });
  const refs: string[] = [];
  // One after the other: many at once are rejected for a moment.
  for (const id of body.engagementIds) refs.push((await firm.calls.get(id)).body.engagementRef);
  expect(new Set(refs).size).toBe(119);
  // One for its creation, start and end each, and one for 50 engagements. With one for each, 500 wrote 10 MB.
  const audit = await service.store.read(service.tenant.id, (session) =>
    session.all(sql`select from audit_log where tenant_id = ${service.tenant.id} and entity_id = ${batchId}`),
  );
  expect(audit).toHaveLength(6);
});

test('createEngagementBatch › creates engagements in the name of who requested them, with the roles that they have meanwhile', async () => {
  await runBackground(service.store, { jobs: [createEngagements] });
  const limited = callsOf(await service.signIn({ roles: ['ENGMT_C', 'ENGMT_R'] }));
  const processed = async (fields: object = {}) => {
    const { batchId } = (await limited.createBatch([entry(fields)])).body;
    await expect.poll(async () => (await limited.batch(batchId)).body.finishedAt).not.toBeNull();
    return (await limited.batch(batchId)).body;
  };
  const { engagementIds, createdByApiUserId } = await processed({ systemRef: 'named' });
  const [{ apiUserId, actor } = {}] = await service.store.read(service.tenant.id, (session) =>
    session.all<Record<string, string>>(sql`
      select api_user_id as "apiUserId", actor from audit_log
      where tenant_id = ${service.tenant.id} and entity_id = ${engagementIds[0]}`),
  );
  expect(apiUserId).toBe(createdByApiUserId);
  const created = await limited.get(engagementIds[0] ?? '');
  expect(created.body.sysRefs).toEqual([{ system: actor, ref: 'named' }]);
  // The token still has the role.
  await service.store.write(service.tenant.id, (transaction) =>
    transaction.all(sql`update api_user set roles = '{ENGMT_R}' where id = ${createdByApiUserId}`),
  );
  expect(await processed()).toMatchObject({ status: 'FAILED', errors: [{ index: 0, code: 'FORBIDDEN' }] });
});

const unfinished = sql`select from engagement_batch where finished_at is null`;
