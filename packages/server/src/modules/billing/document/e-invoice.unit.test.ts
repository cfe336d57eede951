import { DOMParser } from '@xmldom/xmldom';
import { expect, test } from 'vitest';
import { documentOf, randomDocument } from '../../../../test/modules/e-invoice-document.ts';
import { line } from '../../../../test/modules/invoice-document.ts';
import { type Decimal, parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { render } from './e-invoice.ts';
import { type EInvoiceDocument, gapsOf } from './e-invoice-gaps.ts';

async function read(document: EInvoiceDocument, format: 'ubl' | 'xrechnung' = 'ubl') {
  const bytes = await render({ format, document });
  const root = new DOMParser().parseFromString(new TextDecoder().decode(bytes), 'text/xml').documentElement;
  if (root === null) throw new Error('The electronic invoice is empty.');
  const all = (name: string, within = root) => Array.from(within.getElementsByTagName(name));
  const number = (name: string, within = root) => parseDecimal(all(name, within)[0]?.textContent ?? '0');
  return { root, all, number };
}

test('the totals of an electronic invoice are those of the document and the sums of its lines, whatever these are', async () => {
  for (let round = 0; round < 60; round += 1) {
    const document = randomDocument();
    const { face } = document;
    if (gapsOf(document, 'ubl').length > 0) continue;
    const { root, all, number } = await read(document);
    const isCredit = face.documentType === 'CREDIT_NOTE';
    const signed = (text: string) => (isCredit ? zero.minus(parseDecimal(text)) : parseDecimal(text));
    expect(root.localName).toBe(isCredit ? 'CreditNote' : 'Invoice');
    const expectEqual = (value: Decimal, expected: Decimal) => expect(value.toFixed(2)).toBe(expected.toFixed(2));
    expectEqual(number('cbc:PayableAmount'), signed(face.total));
    expectEqual(number('cbc:TaxAmount'), signed(face.taxTotal));
    expectEqual(number('cbc:TaxExclusiveAmount'), signed(face.total).minus(signed(face.taxTotal)));
    const subtotals = all('cac:TaxSubtotal');
    expectEqual(sum(subtotals.map((one) => number('cbc:TaxAmount', one))), signed(face.taxTotal));
    expectEqual(sum(subtotals.map((one) => number('cbc:TaxableAmount', one))), number('cbc:TaxExclusiveAmount'));
    const billed = all(isCredit ? 'cac:CreditNoteLine' : 'cac:InvoiceLine');
    expectEqual(sum(billed.map((one) => number('cbc:LineExtensionAmount', one))), number('cbc:LineExtensionAmount'));
    const allowances = all('cac:AllowanceCharge').map((one) => number('cbc:Amount', one));
    expectEqual(sum(allowances), isCredit ? zero : parseDecimal(face.discountTotal));
    for (const one of billed) {
      const [price, size] = [
        number('cbc:PriceAmount', one),
        number(isCredit ? 'cbc:CreditedQuantity' : 'cbc:InvoicedQuantity', one),
      ];
      expect(price.lt(zero)).toBe(false);
      expect(price.times(size).minus(number('cbc:LineExtensionAmount', one)).abs().lte(parseDecimal('0.02'))).toBe(
        true,
      );
    }
  }
});

test('an electronic invoice contains characters that XML reserves, and none that it forbids', async () => {
  const description = 'Audit <2026> & "co"\u0001';
  const taxes = [{ ratePercent: '19', category: 'S' as const }];
  const one = { ...line, description, quantity: '1', unitAmount: '100.00', amount: '100.00', taxes };
  const sums = { total: '119.00', taxTotal: '19.00', subtotal: '100.00', discountTotal: '0.00' };
  const vat = [{ name: 'VAT', ratePercent: '19', category: 'S' as const, amount: '100.00', tax: '19.00' }];
  const { all } = await read(documentOf({ ...sums, taxes: vat }, [one]));
  expect(all('cbc:Name').map(({ textContent }) => textContent)).toContain('Audit <2026> & "co" ');
});

test('an electronic invoice has the discount for early payment, in XRechnung as its rule BR-DE-18 has it', async () => {
  const document = documentOf({ earlyPayment: { percent: '2.50', withinDays: 14 }, total: '119.00' }, [line]);
  const termsIn = async (format: 'ubl' | 'xrechnung') => {
    const [terms] = (await read(document, format)).all('cac:PaymentTerms');
    return terms?.getElementsByTagName('cbc:Note')[0]?.textContent?.replaceAll(/[\u00a0\u202f]/g, ' ');
  };
  expect(await termsIn('ubl')).toBe('2,5 % Skonto bei Zahlung bis 14. Oktober 2026: EUR 116,02 zu zahlen');
  expect(await termsIn('xrechnung')).toBe('#SKONTO#TAGE=14#PROZENT=2.50#\n');
});

test.each([
  [
    'several taxes',
    [
      { ratePercent: '5', category: null },
      { ratePercent: '9.975', category: null },
    ],
    '/lines/0/taxes',
  ],
  ['a rate of 0 without category', [{ ratePercent: '0', category: null }], '/lines/0/taxes'],
  ['a rate of 0 of the category S', [{ ratePercent: '0', category: 'S' }], '/lines/0/taxes'],
  ['a rate of a category that has none', [{ ratePercent: '19', category: 'AE' }], '/lines/0/taxes'],
  ['an exemption without a reason', [{ ratePercent: '0', category: 'E' }], '/taxExemptReason'],
] as const)('gapsOf names a line with %s', (_what, taxes, pointer) => {
  const document = documentOf({ taxes: [] }, [{ ...line, taxes }]);
  const gap = gapsOf(document, 'ubl').find((one) => one.pointer === pointer);
  expect(gap?.detail).toMatch(
    pointer === '/taxExemptReason' ? /no reason/ : /S with a rate above 0, or another one with/,
  );
});

test('an electronic invoice names an account without an IBAN by its number', async () => {
  const document = documentOf({}, [line]);
  const account = { iban: null, accountNumber: '01-0902-0068389-00', bic: null, accountHolder: null };
  const parties = { ...document.face.parties, bankAccounts: [account] };
  const { all } = await read({ ...document, face: { ...document.face, parties } });
  const [means] = all('cac:PaymentMeans');
  expect(all('cbc:PaymentMeansCode', means)[0]?.textContent).toBe('30');
  expect(all('cac:PayeeFinancialAccount', means)[0]?.textContent).toContain('01-0902-0068389-00');
});

test('gapsOf says of each address what it lacks', () => {
  const { face } = documentOf({}, [line]);
  const empty = { ...face.billingAddress, country: null };
  const document = documentOf({ billingAddress: empty, parties: { ...face.parties, firmAddress: empty } }, [line]);
  expect(gapsOf(document, 'ubl').map(({ detail }) => detail)).toEqual(
    expect.arrayContaining(['The address of the office has no country.', 'The billing address has no country.']),
  );
});
