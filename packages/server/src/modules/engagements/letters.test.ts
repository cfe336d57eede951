import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { extractText, getDocumentProxy } from 'unpdf';
import { afterAll, describe, expect, test } from 'vitest';
import { callsOf, firmWithLetters } from '../../../test/modules/engagements.ts';
import { recordsOf } from '../../../test/modules/records.ts';
import { testService } from '../../../test/service.ts';
import { backgroundWork } from '../../app/jobs.ts';
import { startBackground } from '../../background/background.ts';
import { enqueue } from '../../background/job.ts';
import { writeAsSystem } from '../../background/write-as-system.ts';
import { expireLetters } from './expire-letters.ts';

type File = components['schemas']['FileMetadata'];

const service = await testService();
const firm = await firmWithLetters(service);
const { calls, change, client, clientId, create, documents, engagementIn, signer, signerId, trace } = firm;
const background = await startBackground(service.service, { jobs: backgroundWork.jobs, clockTasks: [] });
afterAll(() => background.stop(0));

/** Returns the documents of an engagement after each has its file. */
async function writtenDocuments(id: string) {
  await expect
    .poll(async () => (await documents(id)).filter((one) => one.fileId === null && one.status !== 'SUPERSEDED'))
    .toEqual([]);
  return documents(id);
}

/** Returns the text of a file, downloaded like an API client does. */
async function textOf(fileId: string | null): Promise<string> {
  const { body } = await service.call<File>('GET', `/api/v1/files/${fileId}?includeDownloadUrl=true`);
  const response = await fetch((body.downloadUrl ?? '').replace('http://localhost:3000', service.address));
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/pdf']);
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(await response.arrayBuffer())));
  return text.join('\n');
}

describe('the letter of an engagement', () => {
  test('is written as a PDF with the agreed terms, and is a file of the client', async () => {
    const owner = await client({ name: 'Słoneczna / Przyszłość' });
    const contactId = await signer(owner, { firstName: 'Żaneta', lastName: 'Wójcik' });
    const row = await create({ clientId: owner, type: 'TAX', feeAmount: '3320.00', signerContactIds: [contactId] });
    const [letter] = await writtenDocuments(row.id);
    const { body: file } = await service.call<File>('GET', `/api/v1/files/${letter?.fileId}`);
    expect(file).toMatchObject({
      status: 'AVAILABLE',
      source: 'DELIVERABLE',
      fileName: letter?.fileName,
      mimeType: 'application/pdf',
      sizeBytes: letter?.sizeBytes,
      clientId: owner,
      engagementId: row.id,
      uploadedByType: 'SYSTEM',
      folderPath: '/Słoneczna - Przyszłość/Engagements',
      taxYear: 2026,
    });
    const text = await textOf(file.id);
    for (const words of [
      row.engagementRef,
      'Słoneczna / Przyszłość',
      'Żaneta Wójcik',
      'Dana Whitfield',
      'USD 3,320.00',
    ])
      expect(text).toContain(words);
    expect((await calls.get(row.id)).body.version).toBe(1);
    const { events } = await trace(letter?.id ?? '');
    expect(events.map(({ operation, changedFields }) => [operation, changedFields])).toEqual([
      ['CREATE', []],
      ['UPDATE', ['fileId', 'sizeBytes']],
    ]);
  });

  test('is replaced while it is a draft, with the current terms', async () => {
    const { id } = await create({ feeAmount: '10.00' });
    await writtenDocuments(id);
    await change(id, { feeAmount: '20.00' });
    const [old, letter] = await writtenDocuments(id);
    expect([old, letter]).toMatchObject([
      { status: 'SUPERSEDED', versionNumber: 1 },
      { status: 'DRAFT', versionNumber: 2 },
    ]);
    expect(await textOf(letter?.fileId ?? null)).toContain('EUR 20.00');
    expect(await textOf(old?.fileId ?? null)).toContain('EUR 10.00');
    await change(id, { expiresAt: null, declineReason: null });
    expect(await documents(id)).toHaveLength(2);
  });

  test('is replaced while it is a draft, when its client has another name, language or currency', async () => {
    const owner = await client({ name: 'Harbor LLC' });
    const { id } = await create({ clientId: owner, feeAmount: '10.00' });
    await writtenDocuments(id);
    const { update } = recordsOf(service);
    for (const attributes of [{ name: 'Hafen GmbH', documentLanguage: 'de' }, { currency: 'CHF' }])
      expect(await update([{ type: 'Client', systemRef: owner, attributes }])).toMatchObject([{ status: 'UPDATED' }]);
    const written = await writtenDocuments(id);
    const letter = written.at(-1);
    expect(letter).toMatchObject({ status: 'DRAFT' });
    const text = await textOf(letter?.fileId ?? null);
    for (const words of ['Hafen GmbH', 'Auftragsschreiben', 'CHF']) expect(text).toContain(words);
  });

  test('is replaced and sent if one request does both', async () => {
    const { id } = await create({ signerContactIds: [signerId] });
    await writtenDocuments(id);
    await change(id, { feeAmount: '30.00', status: 'SENT' });
    expect(await writtenDocuments(id)).toMatchObject([{ status: 'SUPERSEDED' }, { status: 'SENT', versionNumber: 2 }]);
  });

  test('has a signed copy once all signers have signed', async () => {
    const { id } = await engagementIn('SENT');
    const signedAt = '2026-09-10T21:12:30.000Z';
    await change(id, { signers: [{ contactId: signerId, status: 'SIGNED', signedAt }] });
    const [letter, copy] = await writtenDocuments(id);
    expect([letter, copy]).toMatchObject([
      { status: 'SIGNED', signedAt, documentTypeName: 'Engagement letter' },
      { status: 'SIGNED', signedAt, documentTypeName: 'Signed copy', fileName: expect.stringMatching(/ signed\.pdf$/) },
    ]);
    expect(await textOf(copy?.fileId ?? null)).toMatch(
      /Signed on September 10, 2026 at \d{1,2}:12\s[AP]M \S+\s+Ines Calder/,
    );
    expect(await textOf(letter?.fileId ?? null)).not.toContain('Signed on');
  });

  test('is written once, however often the job runs', async () => {
    const { id } = await create();
    const [letter] = await writtenDocuments(id);
    const runs = backgroundWork.jobs.find(({ name }) => name === 'write-letter');
    if (runs === undefined || letter === undefined) throw new Error('No letter found.');
    await service.store.write(service.tenant.id, async (transaction) => {
      for (let run = 0; run < 3; run++) await enqueue(transaction, runs, { documentId: letter.id });
    });
    await expect
      .poll(async () => {
        const { rows } = await service.store.ownerStatements(
          `select status from background_job where name = 'write-letter' and status <> 'COMPLETED'`,
        );
        return rows;
      })
      .toEqual([]);
    const { body } = await service.call<{ data: File[] }>('GET', `/api/v1/files?engagementId=${id}`);
    expect(body.data).toHaveLength(1);
  });

  test('expires by the clock, exactly on time', async () => {
    const row = await engagementIn('SENT');
    const other = await engagementIn('SENT');
    const draft = await create();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    for (const { id } of [row, draft]) await change(id, { expiresAt });
    const tick = (now: string) =>
      service.service.directory.tenant('firm').then(async (tenant) => {
        if (tenant === undefined) throw new Error('Tenant not found.');
        const origin = { operation: 'clock expire-letters', requestId: 'test' };
        await expireLetters.run({
          tenant,
          now: Temporal.Instant.from(now),
          today: Temporal.Now.plainDateISO(),
          signal: new AbortController().signal,
          log: service.service.log,
          service: service.service,
          keepProgress: async () => undefined,
          read: (work) => service.store.read(tenant.id, work),
          write: (work) => writeAsSystem(service.service, tenant, origin, work, async () => {}),
        });
      });
    await tick(new Date(Date.parse(expiresAt) - 1).toISOString());
    expect((await calls.get(row.id)).body).toMatchObject({ status: 'SENT' });
    await tick(expiresAt);
    expect((await calls.get(row.id)).body).toMatchObject({ status: 'EXPIRED', executedAt: null });
    expect((await calls.get(other.id)).body).toMatchObject({ status: 'SENT' });
    expect((await calls.get(draft.id)).body).toMatchObject({ status: 'DRAFT' });
    for (const status of ['DRAFT', 'SENT', 'CANCELLED'])
      expect((await calls.update(row.id, { status })).status).toBe(409);
    expect((await trace(row.id)).audit.at(-1)).toMatchObject({ operation: 'clock expire-letters' });
  });
});

describe('createEngagementBatch', () => {
  const { partnerId } = firm;
  const finished = async (batchId: string) => {
    await expect.poll(async () => (await calls.batch(batchId)).body.finishedAt).not.toBeNull();
    return calls.batch(batchId);
  };
  const entry = (fields: object = {}) => ({ clientId, fiscalYear: 2026, partnerId, ...fields });

  test('creates all valid entries in order, and reports the others', async () => {
    const jobId = await firm.job({ clientId });
    const taken = await create({ systemRef: 'season-0', jobIds: [jobId] });
    const accepted = await calls.createBatch([
      entry({ systemRef: 'season-1' }),
      entry({ clientId: undefined, clientRef: 'C-09999' }),
      entry({ systemRef: taken.systemRef }),
      entry({ jobIds: [jobId] }),
      entry({ systemRef: 'season-2', signerContactIds: [signerId] }),
    ]);
    expect(accepted).toMatchObject({ status: 202, body: { status: 'PENDING', total: 5 } });
    const { batchId } = accepted.body;
    expect(accepted.headers.get('location')).toBe(`/api/v1/engagements/batch/${batchId}/status`);
    const { body, headers } = await finished(batchId);
    expect(body).toMatchObject({
      id: batchId,
      batchId,
      status: 'COMPLETED_WITH_ERRORS',
      total: 5,
      succeeded: 2,
      failed: 3,
      errors: [
        { index: 1, code: 'REFERENCE_NOT_FOUND', pointer: '/engagements/1/clientRef' },
        { index: 2, code: 'DUPLICATE_REF', pointer: '/engagements/2/systemRef' },
        { index: 3, code: 'INVALID_STATE', pointer: '/engagements/3/jobIds/0' },
      ],
    });
    // It started, advanced with its entries, and ended.
    expect(headers.get('etag')).toMatch(/-4"$/);
    const rows = await Promise.all(body.engagementIds.map(async (id) => (await calls.get(id)).body));
    expect(rows).toMatchObject([
      { systemRef: 'season-1', sysRefs: [{ system: 'user-api_admin', ref: 'season-1' }], status: 'DRAFT' },
      { systemRef: 'season-2', signers: [{ contactId: signerId }] },
    ]);
    const [letter] = await writtenDocuments(body.engagementIds[1] ?? '');
    expect(await textOf(letter?.fileId ?? null)).toContain('Ines Calder');
    const { events, audit } = await trace(batchId);
    expect(events).toMatchObject([{ operation: 'UPDATE', data: { status: 'COMPLETED_WITH_ERRORS', succeeded: 2 } }]);
    expect(audit.map(({ after }) => after.status)).toEqual([
      'PENDING',
      'PROCESSING',
      'PROCESSING',
      'COMPLETED_WITH_ERRORS',
    ]);
    expect(audit.map(({ after }) => Number(after.succeeded) + Number(after.failed))).toEqual([0, 0, 5, 5]);
  });

  test('is COMPLETED or FAILED depending on its entries', async () => {
    const good = await calls.createBatch([entry(), entry()]);
    const bad = await calls.createBatch([entry({ partnerId: clientId })]);
    expect((await finished(good.body.batchId)).body).toMatchObject({ status: 'COMPLETED', errors: [] });
    expect((await finished(bad.body.batchId)).body).toMatchObject({ status: 'FAILED', engagementIds: [], failed: 1 });
  });

  test('rejects a request that violates the contract as a whole', async () => {
    const rows = () =>
      service.store.read(service.tenant.id, (session) => session.all(sql`select id from engagement_batch`));
    const before = await rows();
    const noClient = await calls.createBatch([entry(), { fiscalYear: 2026, partnerId }]);
    expect(noClient).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
    expect((noClient.body as unknown as { errors: { pointer: string }[] }).errors[0]?.pointer).toMatch(
      /^\/engagements\/1/,
    );
    expect((await calls.createBatch([])).status).toBe(400);
    expect((await calls.createBatch(Array.from({ length: 501 }, () => entry()))).status).toBe(400);
    expect(await rows()).toEqual(before);
  });

  test('an Idempotency-Key starts one batch', async () => {
    const headers = { 'Idempotency-Key': 'batch-1' };
    const [first, second] = [await calls.createBatch([entry()], headers), await calls.createBatch([entry()], headers)];
    expect(second.body.batchId).toBe(first.body.batchId);
    await finished(first.body.batchId);
  });

  test('requires ENGMT_C, and its status ENGMT_R of the same tenant', async () => {
    const { batchId } = (await calls.createBatch([entry()])).body;
    const creator = callsOf(await service.signIn({ roles: ['ENGMT_C'] }));
    const reader = callsOf(await service.signIn({ roles: ['ENGMT_R'] }));
    const tenant = await service.addTenant('elsewhere');
    const stranger = callsOf(await service.signIn({ roles: ['API_ADMIN'], tenant }));
    expect((await creator.createBatch([entry()])).status).toBe(202);
    expect((await creator.batch(batchId)).status).toBe(403);
    expect((await reader.createBatch([entry()])).status).toBe(403);
    expect((await reader.batch(batchId)).status).toBe(200);
    expect((await stranger.batch(batchId)).status).toBe(404);
    // Rows of another tenant do not exist for it.
    const { body } = await stranger.createBatch([entry()]);
    await expect.poll(async () => (await stranger.batch(body.batchId)).body.status).toBe('FAILED');
  });
});

test('the records of a tenant include engagements and their files, and no fields that cannot be written', async () => {
  const { body } = await service.call<{ data: { name: string; operations: string[] }[] }>(
    'GET',
    '/api/v1/records/types',
  );
  const found = new Map(body.data.map(({ name, operations }) => [name, operations]));
  expect(found.get('Engagement')).toEqual(['UPSERT', 'DELETE']);
  expect(found.get('File')).toEqual(['UPDATE', 'DELETE']);
  expect(found.has('EngagementDocument')).toBe(false);
  const [item] = await recordsOf(service).upsert([{ type: 'Engagement', attributes: { name: 'x' } }]);
  expect(item).toMatchObject({ status: 'FAILED' });
});
