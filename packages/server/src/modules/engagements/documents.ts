import { command } from '../../entity/command.ts';
import { defineEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { fileNamePart } from '../documents/index.ts';

/** A document of an engagement. The service creates them; their files are written in the background. */
export const engagementDocument = defineEntity('EngagementDocument', { table: 'engagement_document' });

/** The types of documents that the service creates. Their IDs are the same in all tenants. */
export const documentTypes = {
  letter: { id: '0199a1c2-0d0b-7c01-8a4f-5d2e9b60f101', name: 'Engagement letter' },
  signedCopy: { id: '0199a1c2-0d0b-7c01-8a4f-5d2e9b60f102', name: 'Signed copy' },
} as const;

export function createLetter(plan: Plan, row: Row<'Engagement'>, versionNumber = 1): void {
  const fileName = `Engagement letter ${fileNamePart(row.engagementRef)}.pdf`;
  create(plan, row.id, documentTypes.letter, { fileName, versionNumber, status: 'DRAFT', signedAt: null });
}

/**
 * Supersedes a letter that was already written. One that is not written yet is written with the current terms. An import whose letter
 * is no draft has it elsewhere.
 */
export const replaceLetter = command('documentReplaced', (plan, row: Row<'Engagement'>) => {
  const letter = currentLetter(plan, row.id);
  const isElsewhere = plan.isImport && row.status !== 'DRAFT';
  if (letter === undefined || (letter.fileId === null && !isElsewhere)) return;
  plan.set(engagementDocument, letter.id, { status: 'SUPERSEDED' });
  if (!isElsewhere) createLetter(plan, row, letter.versionNumber + 1);
});

/** Creates the signed copy of a letter. */
export function createSignedCopy(plan: Plan, { id, engagementRef }: Row<'Engagement'>, signedAt: string): void {
  const fileName = `Engagement letter ${fileNamePart(engagementRef)} signed.pdf`;
  create(plan, id, documentTypes.signedCopy, { fileName, versionNumber: 1, status: 'SIGNED', signedAt });
}

function create(
  plan: Plan,
  engagementId: string,
  { id: documentTypeId, name: documentTypeName }: (typeof documentTypes)[keyof typeof documentTypes],
  fields: Pick<Row<'EngagementDocument'>, 'fileName' | 'versionNumber' | 'status' | 'signedAt'>,
): void {
  const type = { engagementId, documentTypeId, documentTypeName, mimeType: 'application/pdf', sizeBytes: 0 };
  plan.insert(engagementDocument, { ...type, ...fields });
}

/** Changes the current letter. @returns whether there is one: that of an imported engagement can be elsewhere. */
export function changeLetter(
  plan: Plan,
  engagementId: string,
  values: Partial<Pick<Row<'EngagementDocument'>, 'status' | 'signedAt'>>,
): boolean {
  const letter = currentLetter(plan, engagementId);
  if (letter !== undefined) plan.set(engagementDocument, letter.id, values);
  return letter !== undefined;
}

/** Locked, so that it is not written at the same time. */
function currentLetter(plan: Plan, engagementId: string): Row<'EngagementDocument'> | undefined {
  return plan
    .allForUpdate(engagementDocument, 'engagementId', engagementId)
    .find((row) => row.documentTypeId === documentTypes.letter.id && row.status !== 'SUPERSEDED');
}
