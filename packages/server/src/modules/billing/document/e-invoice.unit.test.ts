import { DOMParser } from '@xmldom/xmldom';
import { expect, test } from 'vitest';
import { documentOf, randomDocument } from '../../../../test/modules/e-invoice-document.ts';
import { line } from '../../../../test/modules/invoice-document.ts';
import { type Decimal, parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { render } from './e-invoice.ts';
import { gapsOf } from './e-invoice-gaps.ts';
import type { EInvoiceDocument } from './invoice-document.ts';

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

test.each([
  ['0088', '4012345678901', '4012345678902'],
  ['0007', '5561888404', '5561888405'],
  ['0151', '51824753556', '51824753557'],
  ['0192', '974760673', '974760674'],
  ['0208', '0403019261', '0403019262'],
  ['0184', 'DK13585628', '1358562'],
  ['0096', '1003403288', 'DK10034032'],
  ['0198', 'DK13585628', '13585628'],
])('gapsOf checks the ID of an electronic address of the scheme %s', (scheme, id, wrong) => {
  const gaps = (address: { scheme: string; id: string }) =>
    gapsOf({ ...documentOf({}, [line]), clientElectronicAddress: address }, 'ubl').map(({ pointer }) => pointer);
  expect(gaps({ scheme, id })).not.toContain('/client/electronicAddress/id');
  expect(gaps({ scheme, id: wrong })).toContain('/client/electronicAddress/id');
});

test.each(['0037', '9901', 'EM'])('gapsOf rejects the scheme %s, which Peppol does not have', (scheme) => {
  const document = { ...documentOf({}, [line]), clientElectronicAddress: { scheme, id: '1' } };
  expect(gapsOf(document, 'ubl').map(({ pointer }) => pointer)).toContain('/client/electronicAddress/scheme');
});

test.each([
  ['IT', { firm: ['line1'], client: [] }],
  ['IS', { firm: ['line1', 'postalCode'], client: ['line1', 'postalCode'] }],
  ['NL', { firm: ['line1', 'city', 'postalCode'], client: ['line1', 'city', 'postalCode'] }],
] as const)('gapsOf requires the address that Peppol requires of sellers in %s', (country, parts) => {
  const { face } = documentOf({}, [line]);
  const without = (names: readonly string[]) => ({
    ...{ line1: 'Via 1', line2: null, city: 'Roma', state: null, postalCode: '00100', country },
    ...Object.fromEntries(names.map((name) => [name, null])),
  });
  const parties = { ...face.parties, firmAddress: without(parts.firm) };
  const document = documentOf({ parties, billingAddress: without(parts.client) }, [line]);
  const pointers = gapsOf(document, 'ubl').map(({ pointer }) => pointer);
  for (const part of parts.firm) expect(pointers).toContain(`/office/address/${part}`);
  for (const part of parts.client) expect(pointers).toContain(`/billingAddress/${part}`);
  expect(gapsOf(document, 'facturx').filter(({ pointer }) => pointer.includes('ddress'))).toEqual([]);
});

/** A document of a seller in a country, to a client there. */
function domestic(country: string, id: EInvoiceDocument['firmElectronicAddress'], more: object = {}) {
  const { face } = documentOf({}, [line]);
  const address = { line1: 'Street 1', line2: null, city: 'City', state: null, postalCode: '1000', country };
  const parties = { ...face.parties, firmAddress: address, firmVatId: null, clientVatId: null };
  const tax = [{ ratePercent: '19', category: 'S' as const }];
  const document = documentOf({ parties, billingAddress: address, currency: 'DKK', ...more }, [
    { ...line, taxes: tax },
  ]);
  return { ...document, firmElectronicAddress: id, clientElectronicAddress: id };
}

test('gapsOf has the rules of Peppol for sellers in Denmark, Greece, Iceland, the Netherlands and Sweden', () => {
  const pointersOf = (document: EInvoiceDocument) => gapsOf(document, 'ubl').map(({ pointer }) => pointer);
  const other = { scheme: '9930', id: 'DE136695976' };
  expect(pointersOf(domestic('DK', other))).toContain('/org/electronicAddress/scheme');
  expect(pointersOf(domestic('DK', { scheme: '0184', id: '13585628' }))).toEqual(['/org/vatId']);
  const { parties } = domestic('DK', other).face;
  const accounts = [{ iban: 'DK5000400440116243', bic: null, accountHolder: null }];
  const withoutBic = domestic('DK', other, { parties: { ...parties, bankAccounts: accounts } });
  expect(pointersOf(withoutBic)).toContain('/org/bankAccounts');
  expect(pointersOf(domestic('IS', other))).toEqual(
    expect.arrayContaining(['/org/electronicAddress/scheme', '/client/electronicAddress/scheme']),
  );
  const greek = { ...documentOf({}, [line]).face.parties, firmVatId: 'EL094259216' };
  expect(pointersOf(documentOf({ parties: greek }, [line]))).toEqual(['/office/address/country']);
  expect(pointersOf(domestic('GR', other))).toContain('/office/address/country');
  const inGreece = domestic('GR', other, {
    parties: { ...domestic('GR', other).face.parties, firmVatId: 'EL094259216' },
  });
  expect(pointersOf(inGreece).filter((pointer) => pointer === '/office/address/country')).toHaveLength(1);
  expect(pointersOf(domestic('NL', other, { documentType: 'CREDIT_NOTE' }))).toContain('/creditedInvoiceId');
  expect(
    pointersOf(domestic('NL', other, { parties: { ...domestic('NL', other).face.parties, bankAccounts: null } })),
  ).toContain('/org/bankAccounts');
  expect(pointersOf(domestic('SE', other))).toContain('/lines/0/taxes');
});

test('an electronic invoice of a Danish seller names its registration number, and a payment to its account', async () => {
  const { all } = await read(domestic('DK', { scheme: '0184', id: '13585628' }));
  expect(all('cbc:CompanyID').map((one) => [one.getAttribute('schemeID'), one.textContent])).toEqual([
    ['0184', '13585628'],
    ['0184', '13585628'],
  ]);
  expect(all('cac:PartyIdentification')).toEqual([]);
  expect(all('cbc:PaymentMeansCode').map(({ textContent }) => textContent)).toEqual(['42']);
});
