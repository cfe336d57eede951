import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { defineJob, enqueue, type JobRun } from '../../background/job.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { ContentStorage, StoredContent } from '../../platform/storage/storage.ts';
import { addFile } from '../files/file.ts';
import { engagementDocument } from './documents.ts';
import { type Letter, readLetter } from './letter.ts';
import { renderInThread } from './letter-thread.ts';

/** Writes the file of a document. A document with a file is skipped, so that a run can be repeated. */
export const writeLetter = defineJob({
  name: 'write-letter',
  data: { documentId: 'string' },
  // One thread renders them.
  concurrency: 2,
  run: ({ tenant, data: { documentId }, signal, service, read, write }) =>
    writeDocument({ tenantId: tenant.id, storage: service.storage, signal, read, write }, documentId),
});

/** The parts of a run that writing requires: those of a job, or of the operator. */
type Writer = Pick<JobRun<unknown>, 'read' | 'write' | 'signal'> & {
  readonly tenantId: number;
  readonly storage: ContentStorage;
};

/** Renders a document, stores its content and attaches the file, unless it has one. */
export async function writeDocument(
  { tenantId, storage, signal, read, write }: Writer,
  documentId: string,
  fileId?: string,
): Promise<void> {
  let isWritten = false;
  while (!isWritten) {
    signal.throwIfAborted();
    const letter = await read((session) => readLetter(session, tenantId, documentId));
    if (letter === undefined) return;
    const content = await storage.put(tenantId, await renderInThread(letter));
    isWritten = await write((unit) => attachFile(unit, documentId, { letter, content, fileId }));
  }
}

interface SetLetter {
  readonly letter: Letter;
  readonly content: StoredContent;
  readonly fileId: string | undefined;
}

/**
 * Attaches the file to its document, unless the terms of the letter have changed.
 *
 * @returns whether the document is done.
 */
async function attachFile(unit: UnitOfWork, documentId: string, { letter, content, fileId: id }: SetLetter) {
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
    plan.setSystemFields(engagementDocument, documentId, { fileId, sizeBytes: content.sizeBytes });
  });
  return true;
}

/** Enqueues writing all documents of an engagement without a file, once the transaction has committed. */
export async function writeLetters({ transaction, tenantId }: UnitOfWork, engagementId: string): Promise<void> {
  const documents = await transaction.all<{ id: string }>(sql`
    select id from engagement_document
    where tenant_id = ${tenantId} and engagement_id = ${engagementId} and file_id is null and status <> 'SUPERSEDED'`);
  for (const { id } of documents) await enqueue(transaction, writeLetter, { documentId: id });
}
