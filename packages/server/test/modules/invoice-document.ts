import type { DocumentLine, InvoiceDocument } from '../../src/modules/billing/document/invoice-document.ts';

/** Example data of tests. */
export const firmAddress = {
  line1: '400 SW Fifth Avenue',
  line2: 'Suite 1200',
  city: 'Portland',
  state: 'OR',
  postalCode: '97204',
  country: 'US',
};
export const line: DocumentLine = {
  description: 'Preparation of the 2026 partnership return',
  quantity: '14.5000',
  unitAmount: '220.00',
  lineType: 'TIME',
  unitCode: 'HUR',
  taxes: [],
  includesTax: false,
  amount: '3190.00',
};
const filing: DocumentLine = {
  ...line,
  description: 'Filing fee',
  quantity: '1',
  unitAmount: '150.125',
  lineType: 'OTHER',
  unitCode: 'C62',
  taxes: [{ ratePercent: '8.2500', category: null }],
};
export const invoiceDocument: InvoiceDocument = {
  face: {
    parties: {
      firmName: 'Hartwell & Oakes LLP',
      firmAddress,
      firmVatId: null,
      bankAccounts: null,
      clientName: 'Harbor & Pine LLC',
      clientVatId: null,
      contactName: 'Ines Calder',
      language: 'en',
    },
    documentType: 'INVOICE',
    creditedNumber: null,
    clientRef: 'C-01042',
    invoiceNumber: 'INV-2026-00412',
    invoiceDate: '2026-09-30',
    dueDate: '2026-10-30',
    createdAt: '2026-09-30T16:00:00.000Z',
    voidedOn: null,
    currency: 'USD',
    billingAddress: { ...firmAddress, line1: '1180 NW Dockside Ave', line2: null, postalCode: '97209' },
    servicePeriodStart: null,
    servicePeriodEnd: null,
    purchaseOrder: 'PO-7731',
    orderReference: null,
    buyerReference: null,
    earlyPayment: null,
    taxExemptReason: null,
    memo: 'Thank you.\nPlease quote the number.',
    taxes: [{ name: 'Services tax', category: null, ratePercent: '8.2500', amount: '150.13', tax: '12.39' }],
    subtotal: '3340.13',
    discountTotal: '100.00',
    interestTotal: '5.00',
    taxTotal: '12.39',
    total: '3257.52',
  },
  lines: [line, { ...filing, amount: '150.13' }],
};
