import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { defineJob } from '../../../background/job.ts';
import { planJob } from '../../../background/plan-job.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { UnitOfWork } from '../../../entity/unit-of-work.ts';
import type { StoredContent } from '../../../platform/storage/storage.ts';
import { renderThread, type Writer, writeDocument } from '../../documents/index.ts';
import { addFile } from '../../files/index.ts';
import { invoice } from '../invoice/invoice.ts';
import { type DocumentFile, type InvoiceDocument, readInvoice } from './invoice-document.ts';

/** Renders the document of an invoice in the worker thread. */
export const renderInvoice = renderThread.renderer<InvoiceDocument>('modules/billing/document/invoice-pdf.ts');

/** Writes the document of an invoice, unless its file shows the current content, so that a run can be repeated. */
export const writeInvoice = defineJob({
  name: 'write-invoice',
  data: { invoiceId: 'string' },
  // One thread renders them.
  concurrency: 2,
  run: ({ tenant, data: { invoiceId }, signal, service, read, write }) =>
    writeInvoiceDocument({ tenantId: tenant.id, storage: service.storage, signal, read, write }, invoiceId),
  died: (unit, { invoiceId }) => unit.plan((plan) => plan.set(invoice, invoiceId, { pdfFailedAt: plan.now })),
});

/** Renders the document of an invoice and attaches the file. */
export function writeInvoiceDocument(writer: Writer, invoiceId: string): Promise<void> {
  return writeDocument(writer, {
    read: (session) => readInvoice(session, writer.tenantId, invoiceId),
    render: renderInvoice,
    attach: (unit, document, content) => attachFile(unit, invoiceId, document, content),
  });
}

/** @returns whether the document is done: what it shows has not changed. */
async function attachFile(
  unit: UnitOfWork,
  invoiceId: string,
  { face }: InvoiceDocument,
  content: StoredContent,
): Promise<boolean> {
  const { transaction, tenantId } = unit;
  await unit.plan((plan) => plan.getForUpdate(invoice, invoiceId));
  const current = await readInvoice(transaction, tenantId, invoiceId);
  if (current === undefined) return true;
  if (!isDeepStrictEqual(current.face, face)) return false;
  await unit.plan((plan) => {
    const pdfFileId = addFile(plan, describe(current.file), content);
    plan.set(invoice, invoiceId, { pdfFileId, pdfFailedAt: null });
  });
  await transaction.all(sql`
    update invoice set document = ${JSON.stringify(face)}::jsonb where tenant_id = ${tenantId} and id = ${invoiceId}`);
  return true;
}

function describe(file: DocumentFile) {
  return { ...file, source: 'DELIVERABLE', mimeType: 'application/pdf' } as const;
}

/** Plans that the document of an invoice is written once the transaction has committed. */
export function planDocument(plan: Plan, { id, draftInvoiceId, creditedInvoiceId }: Row<'Invoice'>): void {
  // An imported invoice was issued elsewhere, and has its document there.
  if (draftInvoiceId !== null || creditedInvoiceId !== null) planJob(plan, invoice, writeInvoice, { invoiceId: id });
}
