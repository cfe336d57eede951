import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { defineJob, enqueueAll } from '../../background/job.ts';
import { planJob } from '../../background/plan-job.ts';
import type { Plan } from '../../entity/plan.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { StoredContent } from '../../platform/storage/storage.ts';
import { renderThread, type Writer, writeDocument } from '../documents/index.ts';
import { addFile } from '../files/index.ts';
import { engagementDocument } from './documents.ts';
import { type Letter, readLetter } from './letter.ts';

/** Renders a letter in the worker thread. */
export const renderLetter = renderThread.renderer<Letter>('modules/engagements/letter-pdf.ts');

/** Writes the file of a document. A document with a file is skipped, so that a run can be repeated. */
export const writeLetter = defineJob({
  name: 'write-letter',
  data: { documentId: 'string' },
  // One thread renders them.
  concurrency: 2,
  run: ({ tenant, data: { documentId }, signal, service, read, write }) =>
    writeEngagementDocument({ tenantId: tenant.id, storage: service.storage, signal, read, write }, documentId),
  died: (unit, { documentId }) =>
    unit.plan((plan) => plan.set(engagementDocument, documentId, { fileFailedAt: plan.now })),
});

/** Renders a document of an engagement and attaches the file, unless it has one. */
export function writeEngagementDocument(writer: Writer, documentId: string, fileId?: string): Promise<void> {
  return writeDocument(writer, {
    read: (session) => readLetter(session, writer.tenantId, documentId),
    render: renderLetter,
    attach: (unit, letter, content) => attachFile(unit, documentId, { letter, content, fileId }),
  });
}

interface RenderedLetter {
  readonly letter: Letter;
  readonly content: StoredContent;
  readonly fileId: string | undefined;
}

/** @returns whether the document is done: its terms have not changed. */
async function attachFile(unit: UnitOfWork, documentId: string, { letter, content, fileId: id }: RenderedLetter) {
  // A change of the terms also locks the document, and supersedes it if it has a file.
  await unit.plan((plan) => plan.getForUpdate(engagementDocument, documentId));
  const current = await readLetter(unit.transaction, unit.tenantId, documentId);
  if (current === undefined) return true;
  if (!isDeepStrictEqual(current, letter)) return false;
  await unit.plan((plan) => {
    const { fileName, engagementId, clientId, folderPath, fiscalYear } = letter;
    const about = { fileName, clientId, engagementId, folderPath, taxYear: fiscalYear } as const;
    const described = { ...about, source: 'DELIVERABLE', mimeType: 'application/pdf' } as const;
    const fileId = addFile(plan, described, content, id === undefined ? {} : { id });
    plan.set(engagementDocument, documentId, { fileId, sizeBytes: content.sizeBytes, fileFailedAt: null });
  });
  return true;
}

/** Plans that the documents of an engagement without a file are written once the transaction has committed. */
export function planLetters(plan: Plan, engagementId: string): void {
  for (const { id, fileId, status } of plan.all(engagementDocument, 'engagementId', engagementId))
    if (fileId === null && status !== 'SUPERSEDED') planJob(plan, engagementDocument, writeLetter, { documentId: id });
}

/** Enqueues writing all documents of engagements without a file, once the transaction has committed. */
export async function writeLetters({ transaction, tenantId }: UnitOfWork, ...engagementIds: string[]): Promise<void> {
  if (engagementIds.length === 0) return;
  const documents = await transaction.all<{ id: string }>(sql`
    select id from engagement_document
    where tenant_id = ${tenantId} and engagement_id = any(${engagementIds}) and file_id is null and status <> 'SUPERSEDED'
    order by id`);
  const all = documents.map(({ id }) => ({ documentId: id }));
  await enqueueAll(transaction, writeLetter, all);
}
