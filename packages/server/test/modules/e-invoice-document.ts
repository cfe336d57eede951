/** Documents of electronic invoices for tests. */
import { Random } from '@financial-automation/demo-data/profiles/random';
import type { EInvoiceDocument } from '../../src/modules/billing/document/invoice-document.ts';
import { calculateLines, type Pricing, totalsOf } from '../../src/modules/billing/rules/document.ts';
import { type Decimal, formatDecimal, parseDecimal, sum, zero } from '../../src/platform/decimal.ts';
import { firmAddress, invoiceDocument as invoice, line } from './invoice-document.ts';

const random = new Random(20261128);
const chance = (share: number) => random.chance(share);
const between = (least: number, most: number) => random.between(least, most);
const berlin = { ...firmAddress, line2: null, city: 'Berlin', state: null, postalCode: '10115', country: 'DE' };
const paris = { ...berlin, city: 'Paris', postalCode: '75002', country: 'FR' };
const electronicAddress = { scheme: '9930', id: 'DE136695976' };

type Face = Partial<EInvoiceDocument['face']>;

/** A document with what every format requires. */
export function documentOf(face: Face, lines: EInvoiceDocument['lines']): EInvoiceDocument {
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
export function randomDocument(): EInvoiceDocument {
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
