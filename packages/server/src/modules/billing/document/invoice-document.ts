import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Row } from '../../../entity/row.ts';
import type { Session } from '../../../platform/store/store.ts';
import { addressLines, fileNamePart, type Language, type StoredAddress, storedAddress } from '../../documents/index.ts';
import { documentTexts } from './document-texts.ts';
import { titleWord } from './tax-number.ts';

/** A tax of a line. */
interface LineTax {
  readonly ratePercent: string;
  readonly category: TaxTotal['category'];
}

/** A line of the document. Numbers are decimal text. */
export interface DocumentLine {
  readonly lineType: Row<'Invoice'>['lines'][number]['lineType'];
  readonly description: string;
  readonly quantity: string;
  readonly unitAmount: string;
  readonly unitCode: Row<'Invoice'>['lines'][number]['unitCode'];
  readonly taxes: readonly LineTax[];
  /** Whether the unit amount includes tax; the amount does not. */
  readonly includesTax: boolean;
  readonly amount: string;
}

/**
 * The names and addresses of a document. Each later document of the invoice repeats those of the first, with what the first one
 * lacked.
 */
interface Parties {
  readonly firmName: string;
  readonly firmAddress: StoredAddress | null;
  readonly firmVatId: string | null;
  readonly bankAccounts: Row<'Org'>['bankAccounts'] | null;
  readonly clientName: string;
  readonly clientVatId: string | null;
  readonly contactName: string | null;
  readonly language: Language;
}

interface TaxTotal {
  readonly name: string;
  readonly ratePercent: string;
  readonly category: Row<'Invoice'>['lines'][number]['taxes'][number]['category'];
  readonly amount: string;
  readonly tax: string;
}

/** What the document of an invoice shows in addition to its lines, which never change. It is stored with the document. */
export interface InvoiceFace {
  readonly parties: Parties;
  readonly documentType: Row<'Invoice'>['documentType'];
  readonly clientRef: string;
  readonly invoiceNumber: string;
  /** The number of the invoice that a credit note credits, or null. */
  readonly creditedNumber: string | null;
  readonly invoiceDate: string;
  readonly dueDate: string;
  readonly createdAt: string;
  /** The day of the void; null if the invoice is not voided. */
  readonly voidedOn: string | null;
  readonly currency: string;
  readonly billingAddress: StoredAddress;
  readonly servicePeriodStart: string | null;
  readonly servicePeriodEnd: string | null;
  readonly purchaseOrder: string | null;
  readonly orderReference: string | null;
  readonly buyerReference: string | null;
  /** Reason for taxes of the category E. */
  readonly taxExemptReason: string | null;
  readonly memo: string | null;
  readonly earlyPayment: { readonly percent: string; readonly withinDays: number } | null;
  /** The taxed amount and the tax for each tax. */
  readonly taxes: readonly TaxTotal[];
  readonly subtotal: string;
  readonly discountTotal: string;
  readonly interestTotal: string;
  readonly taxTotal: string;
  readonly total: string;
}

/** The content of the document of an invoice, from stored data. */
export interface InvoiceDocument {
  readonly face: InvoiceFace;
  readonly lines: readonly DocumentLine[];
}

/** Content of electronic invoices in addition to what the document shows. */
export interface EInvoiceDocument extends InvoiceDocument {
  readonly orgCode: string;
  readonly creditedDate: string | null;
  readonly firmElectronicAddress: ElectronicAddress | null;
  readonly clientElectronicAddress: ElectronicAddress | null;
  /** The staff member who is responsible for the client. */
  readonly firmContact: Readonly<Record<'name' | 'phone' | 'email', string | null>>;
}

export interface ElectronicAddress {
  readonly scheme: string;
  readonly id: string;
}

/** The file of a document. */
export interface DocumentFile {
  readonly fileName: string;
  readonly folderPath: string;
  readonly clientId: string;
  readonly engagementId: string | null;
  readonly jobId: string | null;
}

interface StoredInvoice extends Omit<InvoiceFace, 'parties'>, Parties {
  readonly clientId: string;
  readonly engagementId: string | null;
  readonly jobIds: readonly string[];
  readonly lines: readonly DocumentLine[];
  readonly written: InvoiceFace | null;
  readonly isImported: boolean;
  /** The address that the client has now, for an invoice without one. */
  readonly clientAddress: StoredAddress | null;
}

/**
 * Reads the current content of the document of an invoice; undefined if there is nothing to write, because the service has not
 * posted it from a draft, or its file shows this content.
 */
export async function readInvoice(
  session: Session,
  tenantId: number,
  invoiceId: string,
): Promise<(InvoiceDocument & { readonly file: DocumentFile }) | undefined> {
  const document = await readDocument(session, tenantId, invoiceId);
  if (document === undefined || document.isImported || isDeepStrictEqual(document.face, document.written))
    return undefined;
  const { face, lines, file } = document;
  return { face, lines, file };
}

/** SQL that joins the office `f` that a document of the org `o` to the client `c` is from: its own, otherwise the first of the org. */
export const joinOffice = sql`
    left join lateral (select * from office f where f.tenant_id = o.tenant_id and f.org_id = o.id and f.active
      order by f.id <> c.office_id, f.id limit 1) f on true`;

/** Reads the current content of the document of an invoice, and what its file shows; undefined if it is not posted. */
export async function readDocument(session: Session, tenantId: number, invoiceId: string) {
  const row = await session.first<StoredInvoice>(sql`
    select coalesce(i.draft_invoice_id, i.credited_invoice_id) is null as "isImported", o.vat_id as "firmVatId", nullif(o.bank_accounts, '[]') as "bankAccounts", c.vat_id as "clientVatId", c.document_language as language,
      i.service_period_start as "servicePeriodStart", i.service_period_end as "servicePeriodEnd", i.order_reference as "orderReference",
      i.buyer_reference as "buyerReference", i.tax_exempt_reason as "taxExemptReason", i.client_id as "clientId", i.engagement_id as "engagementId", i.job_ids as "jobIds",
      i.document as written, o.legal_name as "firmName", ${storedAddress('f')} as "firmAddress",
      coalesce(c.legal_name, c.name) as "clientName", k.display_name as "contactName", c.client_ref as "clientRef",
      i.document_type as "documentType", credited.invoice_number as "creditedNumber",
      i.invoice_number as "invoiceNumber", i.invoice_date as "invoiceDate", i.due_date as "dueDate",
      i.posted_at as "createdAt", tenant_day(i.voided_at) as "voidedOn", i.currency, ${storedAddress('i')} as "billingAddress", ${storedAddress('a')} as "clientAddress",
      i.purchase_order as "purchaseOrder", i.memo, i.early_payment as "earlyPayment",
      (select coalesce(json_agg(json_build_object('name', name, 'ratePercent', rate::text, 'category', category, 'amount', amount::text,
          'tax', tax::text) order by first, rate, name, category), '[]')
        from (select t.name, t.rate_percent as rate, t.category, min(t.position) as first, sum(t.taxable_amount) as amount,
            sum(t.tax_amount) as tax
          from invoice_line_tax t where t.tenant_id = i.tenant_id and t.invoice_id = i.id and t.name is not null
          group by 1, 2, 3) taxes) as taxes,
      i.subtotal::text as subtotal, i.discount_total::text as "discountTotal", i.interest_total::text as "interestTotal", i.tax_total::text as "taxTotal",
      i.total::text as total,
      (select coalesce(json_agg(json_build_object('description', l.description, 'quantity', l.quantity::text,
          'unitAmount', l.unit_amount::text, 'lineType', l.line_type, 'unitCode', l.unit_code,
          'taxes', (select coalesce(json_agg(json_build_object('ratePercent', t.rate_percent::text, 'category', t.category) order by t.position), '[]')
            from invoice_line_tax t where t.tenant_id = l.tenant_id and t.line_id = l.id and t.name is not null),
          'includesTax', i.prices_include_tax, 'amount', l.amount::text) order by l.position), '[]')
        from invoice_line l where l.tenant_id = i.tenant_id and l.invoice_id = i.id) as lines
    from invoice i
    join client c on c.tenant_id = i.tenant_id and c.id = i.client_id
    join org o on o.tenant_id = i.tenant_id and o.id = i.org_id
    left join invoice credited on credited.tenant_id = i.tenant_id and credited.id = i.credited_invoice_id
    ${joinOffice}
    left join contact_info a on a.tenant_id = c.tenant_id and a.id = coalesce(c.billing_address_id, c.client_contact_info_id)
    left join contact k on k.tenant_id = i.tenant_id and k.id = i.billing_contact_id
    where i.tenant_id = ${tenantId} and i.id = ${invoiceId} and i.posted_at is not null`);
  if (row === undefined) return undefined;
  const { clientId, engagementId, jobIds, lines, written, firmName, firmAddress, firmVatId, bankAccounts, ...others } =
    row;
  const { clientName, clientVatId, contactName, language, isImported, clientAddress, ...rest } = others;
  const current = { firmName, firmAddress, firmVatId, bankAccounts, clientName, clientVatId, contactName, language };
  const known = Object.entries(written?.parties ?? {}).filter(([, value]) => value !== null);
  const parties: Parties = { ...current, ...Object.fromEntries(known) };
  const hasAddress = Object.values(rest.billingAddress).some((part) => part !== null);
  const billingAddress = hasAddress ? rest.billingAddress : (clientAddress ?? rest.billingAddress);
  const face: InvoiceFace = { ...rest, billingAddress, parties };
  const [jobId = null] = jobIds.length === 1 ? jobIds : [];
  const texts = documentTexts[parties.language];
  const mark = face.voidedOn === null ? '' : ` ${texts.void.toLowerCase()}`;
  const fileName = `${titleWord(face, texts)} ${fileNamePart(face.invoiceNumber)}${mark}.pdf`;
  const folderPath = `/${fileNamePart(parties.clientName)}/Invoices`;
  return { face, lines, written, isImported, file: { fileName, folderPath, clientId, engagementId, jobId } };
}

/** The lines of the two addresses of a document. A country is only named if they have different ones. */
export function addressesOf({ parties: { firmAddress, language }, billingAddress }: InvoiceFace) {
  const isDomestic = firmAddress?.country === billingAddress.country;
  const linesOf = (address: StoredAddress | null) => addressLines(address, language, isDomestic);
  return { firm: linesOf(firmAddress), billing: linesOf(billingAddress) };
}
