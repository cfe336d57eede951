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

/** Supersedes a letter that was already written. One that is not written yet is written with the current terms. */
export function replaceLetter(plan: Plan, row: Row<'Engagement'>): void {
  const letter = currentLetter(plan, row.id);
  if (letter === undefined || letter.fileId === null) return;
  plan.update(engagementDocument, letter.id, {}, { system: { status: 'SUPERSEDED' }, event: 'documentReplaced' });
  createLetter(plan, row, letter.versionNumber + 1);
}

export function sendLetter(plan: Plan, engagementId: string): void {
  move(plan, engagementId, { status: 'SENT' }, 'letterSent');
}

export function recallLetter(plan: Plan, engagementId: string): void {
  move(plan, engagementId, { status: 'DRAFT' }, 'letterRecalled');
}

/** Creates the signed copy of the letter. */
export function signLetter(plan: Plan, row: Row<'Engagement'>): void {
  const signedAt =
    row.signers
      .map((signer) => signer.signedAt ?? plan.now)
      .sort()
      .at(-1) ?? plan.now;
  move(plan, row.id, { status: 'SIGNED', signedAt }, 'letterSigned');
  const fileName = `Engagement letter ${fileNamePart(row.engagementRef)} signed.pdf`;
  create(plan, row.id, documentTypes.signedCopy, { fileName, versionNumber: 1, status: 'SIGNED', signedAt });
}

function create(
  plan: Plan,
  engagementId: string,
  { id: documentTypeId, name: documentTypeName }: (typeof documentTypes)[keyof typeof documentTypes],
  fields: Pick<Row<'EngagementDocument'>, 'fileName' | 'versionNumber' | 'status' | 'signedAt'>,
): void {
  const type = { engagementId, documentTypeId, documentTypeName, mimeType: 'application/pdf', sizeBytes: 0 };
  plan.create(engagementDocument, {}, { system: { ...type, ...fields } });
}

function move(
  plan: Plan,
  engagementId: string,
  system: Partial<Pick<Row<'EngagementDocument'>, 'status' | 'signedAt'>>,
  event: string,
): void {
  const letter = currentLetter(plan, engagementId);
  if (letter !== undefined) plan.update(engagementDocument, letter.id, {}, { system, event });
}

/** Locked, so that it is not written at the same time. */
function currentLetter(plan: Plan, engagementId: string): Row<'EngagementDocument'> | undefined {
  return plan
    .allForUpdate(engagementDocument, 'engagementId', engagementId)
    .find((row) => row.documentTypeId === documentTypes.letter.id && row.status !== 'SUPERSEDED');
}
