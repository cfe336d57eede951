import type { components } from '@financial-automation/spec';
import { exceedsTolerance, lineVats, vatTotals } from './e-invoice-taxes.ts';
import type { EInvoiceDocument, ElectronicAddress } from './invoice-document.ts';
import { addressGaps, type PossibleGap, peppolGaps } from './peppol.ts';

type Format = components['schemas']['InvoiceDocumentFormat']['format'];
export type EInvoiceFormat = Exclude<Format, 'pdf'>;

/** Media types of all formats. */
export const documentTypes: Readonly<Record<Format, string>> = {
  pdf: 'application/pdf',
  ubl: 'application/xml',
  xrechnung: 'application/xml',
  facturx: 'application/pdf',
};
export const documentFormats = Object.keys(documentTypes) as readonly Format[];

/** What an invoice lacks for a format, with a pointer into the invoice and the rows that it names. */
export interface Gap {
  readonly pointer: string;
  readonly detail: string;
}

/** Returns what an invoice lacks for a format: what EN 16931, Peppol BIS Billing 3.0 or XRechnung require. A PDF requires nothing. */
export function gapsOf(document: EInvoiceDocument, format: Format): readonly Gap[] {
  if (format === 'pdf') return [];
  const { face, firmElectronicAddress, clientElectronicAddress, firmContact } = document;
  const { parties, billingAddress } = face;
  const isGerman = format === 'xrechnung' || (format === 'ubl' && isDomestic('DE', document));
  const parts = isGerman ? (['country', 'city', 'postalCode'] as const) : (['country'] as const);
  const lacks: readonly PossibleGap[] = [
    ...addressGaps('office', parties.firmAddress, parts),
    ...addressGaps('client', billingAddress, parts),
    ...endpointGaps('org', firmElectronicAddress, format),
    ...endpointGaps('client', clientElectronicAddress, format),
    ...(format === 'ubl' ? peppolGaps(document) : []),
    [
      format === 'ubl' && face.buyerReference === null && face.purchaseOrder === null,
      '/buyerReference',
      'The invoice has neither a buyerReference nor a purchaseOrder.',
    ],
    [isGerman && face.buyerReference === null, '/buyerReference', 'The invoice has no buyerReference.'],
    [isGerman && parties.bankAccounts === null, '/org/bankAccounts', 'The org has no bank account.'],
    [isGerman && firmContact.name === null, '/client/managerId', 'The client has no biller, manager or partner.'],
    [
      isGerman && firmContact.email === null,
      '/client/managerId',
      'The staff member of the client has no email address.',
    ],
    [
      isGerman && firmContact.phone === null,
      '/client/managerId',
      'Neither the staff member nor the office has a phone.',
    ],
    ...taxGaps(document),
    [
      format === 'facturx' && lineVats(document.lines).some((vat) => vat?.category === 'O'),
      '/lines',
      'Factur-X names the org by its VAT ID, which an invoice outside the scope of tax does not have.',
    ],
  ];
  const found = lacks.flatMap(([isMissing, pointer, detail]) => (isMissing ? [{ pointer, detail }] : []));
  return found.filter(({ pointer }, index) => found.findIndex((gap) => gap.pointer === pointer) === index);
}

function isDomestic(country: string, { face: { parties, billingAddress } }: EInvoiceDocument): boolean {
  return parties.firmAddress?.country === country && billingAddress.country === country;
}

/** A document for Peppol is delivered to a participant, and one by XRechnung can also be delivered by mail. */
function endpointGaps(
  owner: 'org' | 'client',
  address: ElectronicAddress | null,
  format: EInvoiceFormat,
): readonly PossibleGap[] {
  const pointer = `/${owner}/electronicAddress`;
  // EN 16931 no longer has this scheme (BR-CL-25).
  const isWithdrawn = address?.scheme === '9901';
  return [
    [format !== 'facturx' && address === null, pointer, `The ${owner} has no electronic address.`],
    [isWithdrawn, `${pointer}/scheme`, `The electronic address of the ${owner} has a scheme that was withdrawn.`],
  ];
}

function taxGaps({ face, lines }: EInvoiceDocument): readonly PossibleGap[] {
  const { parties } = face;
  const vats = lineVats(lines);
  const has = (...categories: readonly string[]) => vats.some((vat) => vat && categories.includes(vat.category));
  const onlyDiscounts = face.documentType === 'INVOICE' && lines.every(({ lineType }) => lineType === 'DISCOUNT');
  return [
    [lines.length === 0 || onlyDiscounts, '/lines', 'An electronic invoice has at least one line that is no discount.'],
    ...vats.map(
      (vat, index) =>
        [
          vat === undefined,
          `/lines/${index}/taxes`,
          'A line of an electronic invoice has one tax with a category: S with a rate above 0, or another one with the rate 0.',
        ] as const,
    ),
    [
      has('O') && !vats.every((vat) => vat?.category === 'O'),
      '/lines',
      'The category O cannot be combined with others.',
    ],
    [has('S', 'Z', 'E', 'AE', 'K', 'G') && parties.firmVatId === null, '/org/vatId', 'The org has no VAT ID.'],
    [has('AE', 'K') && parties.clientVatId === null, '/client/vatId', 'The client has no VAT ID.'],
    [has('E') && face.taxExemptReason === null, '/taxExemptReason', 'The invoice has no reason for the exemption.'],
    [
      has('K') && face.servicePeriodStart === null && face.servicePeriodEnd === null,
      '/servicePeriodStart',
      'The invoice has no service period.',
    ],
    [
      vatTotals(face).some(exceedsTolerance),
      '/taxTotal',
      'The tax of the lines differs from the rate of their sum by 1.00 or more. Set taxRounding of the org to DOCUMENT.',
    ],
  ];
}
