import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { defineJob, enqueue, type JobRun } from '../../background/job.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { ContentStorage, StoredContent } from '../../storage/storage.ts';
import { addFile } from '../files/file.ts';
import { engagementDocument } from './documents.ts';
import { type Letter, readLetter } from './letter.ts';
import { renderInThread } from './letter-thread.ts';

/** Writes the file of a document. A document that has one is left as it is, so a run can be repeated. */
export const writeLetter = defineJob({
  name: 'write-letter',
  data: { documentId: 'string' },
  // One thread sets them.
  concurrency: 2,
  run: ({ tenant, data: { documentId }, signal, service, read, write }) =>
    writeDocument({ tenantId: tenant.id, storage: service.storage, signal, read, write }, documentId),
});

/** What writes a document: a job, or the operator. */
type Writer = Pick<JobRun<unknown>, 'read' | 'write' | 'signal'> & {
  readonly tenantId: number;
  readonly storage: ContentStorage;
};

/** Sets a document, stores its content and attaches the file, unless it has one. */
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
 * Attaches the file to its document, unless the letter would say something else by now.
 *
 * @returns whether there is nothing left to do.
 */
async function attachFile(unit: UnitOfWork, documentId: string, { letter, content, fileId: id }: SetLetter) {
  // Whoever changes what the letter says locks its document too, and replaces one that has a file.
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

/** Has the documents of an engagement written that have no file yet, once the transaction has committed. */
export async function writeLetters({ transaction, tenantId }: UnitOfWork, engagementId: string): Promise<void> {
  const documents = await transaction.all<{ id: string }>(sql`
    select id from engagement_document
    where tenant_id = ${tenantId} and engagement_id = ${engagementId} and file_id is null and status <> 'SUPERSEDED'`);
  for (const { id } of documents) await enqueue(transaction, writeLetter, { documentId: id });
}
