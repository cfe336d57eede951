import { sql } from 'kysely';
import { Rejection } from '../../../contract/rejection.ts';
import { ResponseFile } from '../../../contract/response-file.ts';
import type { Handler } from '../../../entity/context.ts';
import type { Session } from '../../../platform/store/session.ts';
import { renderThread } from '../../documents/index.ts';
import { documentFormats, documentTypes, type EInvoiceFormat, type Gap, gapsOf } from './e-invoice-gaps.ts';
import { type EInvoiceDocument, joinOffice, readDocument } from './invoice-document.ts';
import { renderInvoice } from './write-invoice.ts';

interface Task {
  readonly format: EInvoiceFormat;
  readonly document: EInvoiceDocument;
}

const renderEInvoice = renderThread.renderer<Task>('modules/billing/document/e-invoice.ts');

/** Returns an invoice or credit note in a format, or what it lacks for each. */
export const getInvoiceDocument: Handler<'getInvoiceDocument'> = async (context, { path: { id, format } }) => {
  const { tenant } = context;
  const document = await context.read((session) => readEInvoice(session, tenant.id, id));
  if (format === 'json') {
    const found = documentFormats.map((name) => ({ format: name, missing: [...gapsOf(document, name)] }));
    return { status: 200, body: { invoiceId: id, formats: found } };
  }
  if (format === 'pdf')
    return {
      status: 200,
      body: new ResponseFile(document.file.fileName, documentTypes.pdf, await renderInvoice(document)),
    };
  if (document.face.voidedOn !== null)
    throw new Rejection('INVALID_STATE', 'The invoice is voided. Only its PDF, which says so, can be read.');
  const gaps = gapsOf(document, format);
  if (gaps.length > 0) throw incomplete(gaps);
  const type = documentTypes[format];
  const name = document.file.fileName.replace(/pdf$/, `${format}.${type.replace('application/', '')}`);
  return { status: 200, body: new ResponseFile(name, type, await renderEInvoice({ format, document })) };
};

function incomplete(gaps: readonly Gap[]): Rejection {
  const errors = gaps.map((gap) => ({ in: 'body', code: 'REQUIRED', ...gap }) as const);
  return new Rejection('DOCUMENT_INCOMPLETE', 'The invoice lacks what the format requires. See errors.', { errors });
}

async function readEInvoice(session: Session, tenantId: number, invoiceId: string) {
  const [document, exchange] = await Promise.all([
    readDocument(session, tenantId, invoiceId),
    session.first<Omit<EInvoiceDocument, 'face' | 'lines'>>(sql`
      select o.code as "orgCode", o.electronic_address as "firmElectronicAddress", c.electronic_address as "clientElectronicAddress",
        credited.invoice_date::text as "creditedDate",
        json_build_object('name', s.display_name, 'email', s.email, 'phone', coalesce(s.phone, f.phone)) as "firmContact"
      from invoice i
      join client c on c.tenant_id = i.tenant_id and c.id = i.client_id
      join org o on o.tenant_id = i.tenant_id and o.id = i.org_id
      left join invoice credited on credited.tenant_id = i.tenant_id and credited.id = i.credited_invoice_id
      left join staff s on s.tenant_id = c.tenant_id and s.id = coalesce(c.biller_id, c.manager_id, c.partner_id)
      ${joinOffice}
      where i.tenant_id = ${tenantId} and i.id = ${invoiceId}`),
  ]);
  if (exchange === undefined) throw new Rejection('NOT_FOUND', 'Your tenant has no invoice with this ID.');
  if (document === undefined)
    throw new Rejection('INVALID_STATE', 'The invoice is not posted yet, so it has no document.');
  return { ...document, ...exchange };
}
