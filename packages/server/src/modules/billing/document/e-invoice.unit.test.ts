import { Random } from '@financial-automation/demo-data/profiles/random';
import { DOMParser } from '@xmldom/xmldom';
import { expect, test } from 'vitest';
import { firmAddress, invoiceDocument as invoice, line } from '../../../../test/modules/invoice-document.ts';
import { type Decimal, formatDecimal, parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { calculateLines, type Pricing, totalsOf } from '../rules/document.ts';
import { render } from './e-invoice.ts';
import { type EInvoiceDocument, gapsOf } from './e-invoice-gaps.ts';

const random = new Random(20261128);
const chance = (share: number) => random.chance(share);
const between = (least: number, most: number) => random.between(least, most);
const berlin = { ...firmAddress, line2: null, city: 'Berlin', state: null, postalCode: '10115', country: 'DE' };
const paris = { ...berlin, city: 'Paris', postalCode: '75002', country: 'FR' };
const electronicAddress = { scheme: '9930', id: 'DE136695976' };

type Face = Partial<EInvoiceDocument['face']>;

function documentOf(face: Face, lines: EInvoiceDocument['lines']): EInvoiceDocument {
  const accounts = [{ iban: 'DE89370400440532013000', bic: 'COBADEFFXXX', accountHolder: null }];
  const parties = {
    ...{ ...invoice.face.parties, firmAddress: berlin, firmVatId: 'DE136695976', clientVatId: 'FR40303265045' },
    ...{ bankAccounts: accounts, language: 'de' as const },
  };
  return {
    ...{ orgCode: 'HO', creditedDate: null, lines },
    ...{ firmElectronicAddress: electronicAddress, clientElectronicAddress: electronicAddress },
    firmContact: { name: 'Ada Okoye', phone: '+49 30 12345', email: 'ada@firm.example' },
    face: {
      ...{ ...invoice.face, parties, currency: 'EUR', billingAddress: paris, buyerReference: '04011000-12345-34' },
      ...{ servicePeriodStart: '2026-09-01', servicePeriodEnd: '2026-09-30', ...face },
    },
  };
}

/** A document of random lines, with its taxes as they are stored. */
function randomDocument(): EInvoiceDocument {
  const isCredit = chance(0.3);
  const taxRounding = chance(0.5) ? 'LINE' : 'DOCUMENT';
  const pricing: Pricing = { currency: 'EUR', pricesIncludeTax: chance(0.5), taxRounding };
  const rates = ['19', '7.0000', '0'] as const;
  const inputs = Array.from({ length: between(1, 20) }, (_, index) => {
    const isDiscount = index > 0 && chance(0.2);
    const ratePercent = rates[between(0, 2)] ?? '19';
    const sign = isDiscount || isCredit ? '-' : '';
    const cents = `${between(0, isDiscount ? 3 : 2000)}.${between(0, 9999)}`;
    return {
      lineType: isDiscount ? ('DISCOUNT' as const) : ('TIME' as const),
      quantity: parseDecimal(isDiscount ? '1' : `${between(1, 40)}.${between(0, 99)}`),
      unitAmount: parseDecimal(`${sign}${cents}`),
      taxable: true,
      taxes: [
        {
          name: 'VAT',
          ratePercent: parseDecimal(ratePercent),
          category: ratePercent === '0' ? ('AE' as const) : null,
          regionId: null,
        },
      ],
    };
  });
  const lines = calculateLines(inputs, pricing);
  const totals = totalsOf(lines);
  const text = (value: Decimal) => formatDecimal(value, 2);
  const taxes = rates.flatMap((rate) => {
    const own = lines.filter(({ taxes: [tax] }) => tax?.ratePercent.eq(parseDecimal(rate)));
    const [first] = own;
    const category = rate === '0' ? ('AE' as const) : null;
    const amounts = {
      amount: text(sum(own.map(({ amount }) => amount))),
      tax: text(sum(own.map(({ taxAmount }) => taxAmount))),
    };
    return first === undefined ? [] : [{ name: 'VAT', ratePercent: rate, category, ...amounts }];
  });
  const face = {
    documentType: totals.total.lt(zero) ? ('CREDIT_NOTE' as const) : ('INVOICE' as const),
    ...{ taxes, total: text(totals.total), taxTotal: text(totals.taxTotal), subtotal: text(totals.subtotal) },
    discountTotal: text(totals.discountTotal),
  };
  return documentOf(
    face,
    lines.map((one) => ({
      ...line,
      ...{ lineType: one.lineType, quantity: one.quantity.toFixed(), unitAmount: one.unitAmount.toFixed() },
      taxes: one.taxes.map(({ ratePercent, category }) => ({ ratePercent: ratePercent.toFixed(), category })),
      ...{ includesTax: pricing.pricesIncludeTax, amount: text(one.amount) },
    })),
  );
}

async function read(document: EInvoiceDocument) {
  const bytes = await render({ format: 'ubl', document });
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
  ['a rate of a category that has none', [{ ratePercent: '19', category: 'AE' }], '/lines/0/taxes'],
  ['an exemption without a reason', [{ ratePercent: '0', category: 'E' }], '/taxExemptReason'],
] as const)('gapsOf names a line with %s', (_what, taxes, pointer) => {
  const document = documentOf({ taxes: [] }, [{ ...line, taxes }]);
  expect(gapsOf(document, 'ubl').map((gap) => gap.pointer)).toContain(pointer);
});
