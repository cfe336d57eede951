import type { DocumentTexts } from './document-texts.ts';

interface NationalNumber {
  /** What its country calls it, in each language. The number after it is without the code of the country. */
  readonly name: string;
  /** Whether an invoice with tax must have the title "tax invoice". */
  readonly hasTaxInvoices?: true;
}

/**
 * By the code of the country with which a `vatId` begins.
 *
 * Sources: A New Tax System (Goods and Services Tax) Act 1999, s 29-70 (AU); Input Tax Credit Information Regulations, s 3 (CA); Cabinet
 * Decision 52 of 2017, art. 59 (AE); Central Goods and Services Tax Rules 2017, rule 46 (IN); Goods and Services Tax Act 1985, s 19F (NZ);
 * Goods and Services Tax (General) Regulations, reg. 11 (SG); Value-Added Tax Act 1991, s 20 (ZA).
 */
const national: Readonly<Record<string, NationalNumber>> = {
  AE: { name: 'TRN', hasTaxInvoices: true },
  AU: { name: 'ABN', hasTaxInvoices: true },
  CA: { name: 'GST/HST number' },
  IN: { name: 'GSTIN', hasTaxInvoices: true },
  NZ: { name: 'GST number' },
  SG: { name: 'GST registration number', hasTaxInvoices: true },
  ZA: { name: 'VAT number' },
};

/** What decides about the title of a document. */
interface Titled {
  readonly documentType: keyof DocumentTexts['title'];
  readonly parties: { readonly firmVatId: string | null };
  readonly taxes: readonly unknown[];
}

/** The line of a document with a `vatId`, as the country that it begins with writes it. */
export function taxNumberLine(vatId: string, texts: DocumentTexts): string {
  const name = national[vatId.slice(0, 2)]?.name;
  return name === undefined ? `${texts.vatId} ${vatId}` : `${name} ${vatId.slice(2)}`;
}

/** The word for the kind of a document: some countries require another one if a firm that is registered there charges tax. */
export function titleWord({ documentType, parties, taxes }: Titled, texts: DocumentTexts): string {
  const isTaxInvoice =
    documentType === 'INVOICE' && taxes.length > 0 && national[parties.firmVatId?.slice(0, 2) ?? '']?.hasTaxInvoices;
  return isTaxInvoice ? texts.taxInvoice : texts.title[documentType];
}
