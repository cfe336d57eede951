import { extractText, getDocumentProxy } from 'unpdf';
import { expect, test } from 'vitest';
import { firmAddress, invoiceDocument as invoice, line } from '../../../../test/modules/invoice-document.ts';
import { layoutFaults } from '../../../../test/modules/layout-faults.ts';
import { isNightly, sampleOf } from '../../../../test/nightly.ts';
import { documentTexts } from './document-texts.ts';
import type { InvoiceDocument } from './invoice-document.ts';
import { render } from './invoice-pdf.ts';
import { renderInvoice } from './write-invoice.ts';

const withFace = (face: Partial<InvoiceDocument['face']>): InvoiceDocument => ({
  ...invoice,
  face: { ...invoice.face, ...face },
});

/** Extracts the text of a PDF, page by page. */
async function pagesOf(document: InvoiceDocument): Promise<string[]> {
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(await render(document))));
  return text;
}

test('the PDF of an invoice contains the parties, the facts, the lines and the totals', async () => {
  const text = (await pagesOf(invoice)).join('\n').replaceAll(/\s+/g, ' ');
  for (const words of [
    'Hartwell & Oakes LLP',
    '400 SW Fifth Avenue Suite 1200 Portland, OR 97204',
    'Bill to',
    'Harbor & Pine LLC',
    'Ines Calder',
    '1180 NW Dockside Ave Portland, OR 97209',
    'Invoice number INV-2026-00412',
    'Invoice date September 30, 2026',
    'Due date October 30, 2026',
    'Purchase order PO-7731',
    'Client number C-01042',
    'Amount (USD)',
    '14.5 h 220.00 3,190.00',
    '1 150.125 8.25% 150.13',
    'Subtotal 3,340.13 Discounts -100.00',
    'Taxes Base Tax rate Amount Services tax 150.13 8.25% 12.39',
    'Total USD 3,257.52',
    'Amount due USD 3,257.52',
    'Thank you. Please quote the number.',
    'Invoice INV-2026-00412 Page 1 of 1',
  ])
    expect(text).toContain(words);
  expect(text).not.toMatch(/VOID|Voided|United States|null|undefined|NaN/);
});

test.each([
  ['AU83914571673', 'NZ49091850', 'Tax invoice', 'ABN 83914571673', 'GST number 49091850'],
  ['CA123456782RT0001', 'US123456789', 'Invoice', 'GST/HST number 123456782RT0001', 'VAT ID US123456789'],
  ['DE136695976', 'AU83914571673', 'Invoice', 'VAT ID DE136695976', 'ABN 83914571673'],
])('the PDF of an invoice of %s to %s has the title and the numbers of their countries', async (...row) => {
  const [firmVatId, clientVatId, title, own, others] = row;
  const parties = { ...invoice.face.parties, firmVatId, clientVatId };
  const text = (await pagesOf(withFace({ parties }))).join(' ').replaceAll(/\s+/g, ' ');
  for (const words of [own, others, `${title} INV-2026-00412 Page 1 of 1`]) expect(text).toContain(words);
  // Without tax, and of a credit note, the title is the usual one.
  const textOf = async (face: Partial<InvoiceDocument['face']>) =>
    (await pagesOf(withFace({ parties, ...face }))).join(' ');
  expect(await textOf({ taxes: [] })).not.toContain('Tax invoice');
  expect(await textOf({ documentType: 'CREDIT_NOTE' })).not.toContain('Tax invoice');
});

test('the PDF of an invoice keeps the line breaks of descriptions and the memo', async () => {
  const description = 'Federal return\nState return';
  const text = (
    await pagesOf({ ...withFace({ memo: 'Thank you.\n\nSee you.' }), lines: [{ ...line, description }] })
  ).join('\n');
  expect(text).not.toMatch(/Federal return State|Thank you\. +See/);
  expect(text).toMatch(/State return/);
});

test('the PDF of an invoice omits what the invoice does not have', async () => {
  const lines = [line];
  const face = { taxes: [], discountTotal: '0.00', interestTotal: '0.00', memo: null, purchaseOrder: null };
  const text = (await pagesOf({ ...withFace(face), lines })).join('\n');
  expect(text).not.toMatch(/Tax|Discounts|Interest|Memo|Purchase/);
});

test('the PDF of an invoice has the discount for early payment, and that of a credit note has none', async () => {
  const earlyPayment = { percent: '2.00', withinDays: 14 };
  const textOf = async (face: Partial<InvoiceDocument['face']>) =>
    (await pagesOf(withFace({ earlyPayment, ...face }))).join('\n').replaceAll(/\s+/g, ' ');
  expect(await textOf({})).toContain('2% discount if paid by October 14, 2026: pay USD 3,192.37');
  expect(await textOf({ documentType: 'CREDIT_NOTE' })).not.toContain('discount if');
});

test('the PDF of an invoice with prices that include tax says that the amounts of its lines do not', async () => {
  const taxes = [{ ratePercent: '19', category: null }];
  const lines = [{ ...line, includesTax: true, unitAmount: '238.00', quantity: '1', amount: '200.00', taxes }];
  const parties = { ...invoice.face.parties, language: 'de' as const };
  const text = (await pagesOf({ ...withFace({ parties }), lines })).join('\n').replaceAll(/\s+/g, ' ');
  expect(text).toContain('Preis mit Steuer Steuer Nettobetrag (USD)');
  expect(text).toContain('1 h 238,00 19 % 200,00');
});

test('the PDF of an invoice says that its rates include tax', async () => {
  const lines = [{ ...line, includesTax: true }];
  expect((await pagesOf({ ...invoice, lines })).join('\n')).toContain('Rate with tax');
  expect((await pagesOf(invoice)).join('\n')).not.toContain('with tax');
});

test('the PDF of an invoice names the country of foreign addresses, and has the decimal places of the currency', async () => {
  const billingAddress = { ...firmAddress, city: '東京', country: 'JP' };
  const text = (await pagesOf(withFace({ currency: 'JPY', billingAddress, total: '12500.00' }))).join('\n');
  for (const words of ['Japan', 'United States', 'JPY 12,500']) expect(text).toContain(words);
  expect(text).not.toContain('12,500.00');
});

test('the PDF of a credit note has its title and its sign, and nothing is due', async () => {
  const credit = {
    documentType: 'CREDIT_NOTE',
    invoiceNumber: 'CN-2026-00007',
    creditedNumber: 'INV-2026-00412',
  } as const;
  const amounts = { taxes: [], discountTotal: '0.00', interestTotal: '0.00', subtotal: '-190.00', total: '-190.00' };
  const lines = [{ ...line, quantity: '-1', unitAmount: '190.00', amount: '-190.00' }];
  const text = (await pagesOf({ ...withFace({ ...credit, ...amounts }), lines })).join('\n').replaceAll(/\s+/g, ' ');
  for (const words of [
    'Credit note number CN-2026-00007',
    'Credit note date September 30, 2026',
    'Credited invoice INV-2026-00412',
    '-1 h 190.00 -190.00',
    'Total USD -190.00',
    'Amount credited USD 190.00',
    'Credit note CN-2026-00007 Page 1 of 1',
  ])
    expect(text).toContain(words);
  expect(text).not.toMatch(/Due|due|Invoice number/);
});

test('the PDF of a voided invoice is stamped on every page', async () => {
  const lines = Array.from({ length: 60 }, () => line);
  const pages = await pagesOf({ ...withFace({ voidedOn: '2026-10-02' }), lines });
  expect(pages.length).toBeGreaterThan(1);
  for (const text of pages) expect(text).toContain('VOID');
  expect(pages[0]).toMatch(/Voided\s+October 2, 2026/);
  // Nothing is due any more.
  expect(pages.at(-1)).toMatch(/Amount due\s+USD 0\.00/);
  expect(pages.at(-1)).not.toContain('Due by');
});

test('the totals of an invoice are never alone on a page, however many lines there are', async () => {
  // The totals are higher than four lines: if they moved to a page without a line, several counts in a row would show it.
  const counts = sampleOf(
    Array.from({ length: 48 }, (_, index) => 15 + index),
    4,
  );
  for (const count of counts) {
    const lines = Array.from({ length: count }, (_, index) => ({ ...line, description: `Work ${index + 1}.` }));
    const pages = await pagesOf({ ...invoice, lines });
    expect([count, pages.find((text) => text.includes('Subtotal'))]).toEqual([
      count,
      expect.stringContaining(`Work ${count - 1}.`),
    ]);
  }
});

test('the PDF of an invoice is the same each time, also from the worker thread', async () => {
  const bytes = await render(invoice);
  expect(await render(invoice)).toEqual(bytes);
  expect(await renderInvoice(invoice)).toEqual(new Uint8Array(bytes));
  expect(await render(withFace({ memo: 'Other' }))).not.toEqual(bytes);
});

test('the PDF of an invoice with many lines repeats its head on each page, in a few seconds', async () => {
  const lines = Array.from({ length: isNightly ? 1000 : 200 }, (_, index) => ({
    ...line,
    description: `Work ${index + 1} of the year.`,
  }));
  const started = performance.now();
  const pages = await pagesOf({ ...invoice, lines });
  // A second on an idle machine.
  expect(performance.now() - started).toBeLessThan(30_000);
  for (const [index, text] of pages.entries()) {
    expect(text).toContain(`Page ${index + 1} of ${pages.length}`);
    expect(text).toContain('INV-2026-00412');
    if (/Work \d/.test(text)) expect(text).toMatch(/Description\s+Quantity\s+Rate\s+Amount \(USD\)/);
  }
  const found = pages.join('\n').match(/Work \d+ of the year\.\s+14\.5 h\s+220\.00\s+3,190\.00/g);
  expect(found).toHaveLength(lines.length);
  // The totals are together.
  expect(pages.at(-1)).toMatch(/Subtotal[\s\S]*Amount due/);
});

test.each([
  'Zoë Müller-Łukasiewicz Ștefănescu',
  'Νίκος Παπαδόπουλος',
  'שרה בת יעקב',
  'محمد بن عبد الله',
  '王小明 & 田中さくら',
])('the PDF of an invoice contains %s as readable text', async (name) => {
  const parties = { ...invoice.face.parties, firmName: name, clientName: `${name} Ltd`, contactName: name };
  const text = (await pagesOf({ ...withFace({ parties, memo: name }), lines: [{ ...line, description: name }] })).join(
    '\n',
  );
  // A font may use one glyph for several characters: equivalent characters are compared.
  const words = text.normalize('NFKC').replaceAll(/\s+/g, ' ');
  expect(words.split(name.normalize('NFKC')).length - 1).toBe(5);
});

test.each(['en', 'de', 'fr', 'es'] as const)(
  'the PDF of an invoice in %s has room for values of any length',
  async (language) => {
    const [number, amount, rate] = ['99999999999.9999', '-9999999999999.99', '24.9999'];
    const taxes = Array.from({ length: 4 }, () => ({ ratePercent: rate, category: null }));
    const numbers = { quantity: number, unitAmount: `-${number}`, amount, taxes, includesTax: true };
    const long = { ...line, ...numbers, description: 'x'.repeat(2000) };
    const billingAddress = {
      ...firmAddress,
      line1: 'l'.repeat(200),
      city: 'c '.repeat(50),
      country: language.toUpperCase(),
    };
    const parties = { ...invoice.face.parties, language, firmName: 'F'.repeat(200), clientName: 'C '.repeat(100) };
    const face = {
      ...{
        parties,
        billingAddress,
        memo: 'm'.repeat(2000),
        invoiceNumber: 'N'.repeat(40),
        purchaseOrder: 'P'.repeat(64),
      },
      taxes: [{ name: 't'.repeat(200), category: 'E' as const, ratePercent: rate, amount, tax: amount }],
      ...{
        taxExemptReason: 'r'.repeat(100),
        subtotal: amount,
        taxTotal: amount,
        discountTotal: '9999999999999.99',
        total: amount,
      },
    };
    for (const documentType of ['INVOICE', 'CREDIT_NOTE'] as const) {
      const document = { ...withFace({ ...face, documentType }), lines: [long] };
      const pdf = await render(document);
      expect(await layoutFaults(pdf, 54)).toEqual([]);
      const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)), { mergePages: true });
      expect(text.match(/x/g)?.length).toBeGreaterThanOrEqual(2000);
      expect(text.replaceAll(/[\s.,]/g, '')).toContain('-999999999999999');
    }
  },
);

test.each([
  ['en', 'Invoice', 'Service period September 1 – 30, 2026', 'EUR 3,257.52', 'Reverse charge', 'Germany'],
  ['de', 'Rechnung', 'Leistungszeitraum 1.–30. September 2026', 'EUR 3.257,52', 'Steuerschuldnerschaft', 'Deutschland'],
  ['fr', 'Facture', 'Période de prestation 1–30 septembre 2026', 'EUR 3 257,52', 'Autoliquidation', 'Allemagne'],
  ['es', 'Factura', 'Periodo de servicio 1–30 de septiembre de 2026', 'EUR 3257,52', 'Inversión', 'Alemania'],
] as const)('the PDF of an invoice says in %s what the law requires', async (language, title, ...words) => {
  const german = { ...firmAddress, line1: 'Musterstraße 1', city: 'Berlin', postalCode: '10115', country: 'DE' };
  const country = { en: 'US', de: 'DE', fr: 'FR', es: 'ES' }[language];
  const firm = { firmAddress: language === 'de' ? firmAddress : german, firmVatId: 'DE136695976' };
  const national = { iban: null, accountNumber: '01-0902-0068389-00', bank: 'Pier Bank', bic: null };
  const accounts = [
    { iban: 'DE89370400440532013000', bic: 'COBADEFFXXX', accountHolder: null },
    { ...national, accountHolder: null },
  ];
  const parties = { ...invoice.face.parties, ...firm, bankAccounts: accounts, clientVatId: 'FR40303265045', language };
  const tax = { amount: '100.00', tax: '0.00', ratePercent: '0' };
  const face = {
    ...{ parties, currency: 'EUR', servicePeriodStart: '2026-09-01', servicePeriodEnd: '2026-09-30' },
    ...{ orderReference: 'OC-114', buyerReference: '04011000-12345-34', taxExemptReason: 'Diplomatic mission' },
    billingAddress: { ...german, country },
    taxes: [{ ...tax, name: 'VAT 0', category: 'AE' } as const, { ...tax, name: 'VAT', category: 'E' } as const],
  };
  const text = (await pagesOf(withFace(face))).join('\n').replaceAll(/\s+/g, ' ');
  const same = [
    'DE136695976',
    'FR40303265045',
    'DE89 3704 0044 0532 0130 00',
    'COBADEFFXXX',
    `${documentTexts[language].accountNumber} 01-0902-0068389-00 Pier Bank`,
    'OC-114',
    'Diplomatic mission',
  ];
  for (const one of [`${title} INV-2026-00412`, ...same, '04011000-12345-34', ...words])
    expect(text.replaceAll(/[\u2009\u202f\u00a0]/g, ' ')).toContain(one);
  expect(text).not.toMatch(/undefined|null/);
});
