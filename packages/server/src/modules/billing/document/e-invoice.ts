import { FormatFactoryService, type Invoice } from '@e-invoice-eu/core';
import { type Decimal, parseDecimal, round, sum, zero } from '../../../platform/decimal.ts';
import type { StoredAddress } from '../../documents/index.ts';
import { documentTexts } from './document-texts.ts';
import type { EInvoiceFormat } from './e-invoice-gaps.ts';
import { type LineVat, lineVats, vatTotals } from './e-invoice-taxes.ts';
import { earlyPaymentTerms } from './early-payment-terms.ts';
import type { DocumentLine, EInvoiceDocument, ElectronicAddress, InvoiceFace } from './invoice-document.ts';
import { render as renderPdf, styleOf } from './invoice-pdf.ts';
import { registrationOf } from './peppol.ts';

/** The name of each format in the library. */
const names: Readonly<Record<EInvoiceFormat, string>> = {
  ubl: 'UBL',
  xrechnung: 'XRECHNUNG-UBL',
  facturx: 'Factur-X-EN16931',
};

const peppol = 'urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0';
const scheme = { 'cbc:ID': 'VAT' };

/** Renders the electronic invoice of a document that lacks nothing. */
export async function render({
  format,
  document,
}: {
  readonly format: EInvoiceFormat;
  readonly document: EInvoiceDocument;
}): Promise<Uint8Array> {
  const service = new FormatFactoryService().createFormatService(names[format], console);
  const customization = format === 'ubl' ? { 'cbc:CustomizationID': peppol } : {};
  // The library declares each code list; the contract has checked the codes.
  const invoice = {
    'ubl:Invoice': { ...contentOf(document, format), ...customization },
  } as unknown as Invoice;
  service.fillInvoiceDefaults(invoice);
  const { language } = document.face.parties;
  const name = `${document.face.invoiceNumber}.pdf`;
  const pdf = format === 'facturx' ? await renderPdf(document) : undefined;
  const written = await service.generate(invoice, {
    format: names[format].toLowerCase(),
    lang: language,
    ...(pdf !== undefined && { pdf: { buffer: pdf, filename: name, mimetype: 'application/pdf' } }),
  });
  return typeof written === 'string' ? new TextEncoder().encode(written) : written;
}

/** The content of an electronic invoice in UBL, whose totals are those of the document. A credit note has the opposite signs. */
function contentOf(document: EInvoiceDocument, format: EInvoiceFormat) {
  const { face, lines } = document;
  const { parties } = face;
  const texts = documentTexts[parties.language];
  const isCredit = face.documentType === 'CREDIT_NOTE';
  const { currency } = face;
  const signed = (text: string) => (isCredit ? zero.minus(parseDecimal(text)) : parseDecimal(text));
  const vats = lineVats(lines);
  const vatAt = (index: number): LineVat => vats[index] ?? { category: 'O', rate: zero };
  const isAllowance = ({ lineType }: DocumentLine) => !isCredit && lineType === 'DISCOUNT';
  const numbered = lines.map((line, index) => ({
    line,
    vat: vatAt(index),
    amount: signed(line.amount),
    number: index + 1,
  }));
  const billed = numbered.filter(({ line }) => !isAllowance(line));
  const allowances = numbered.filter(({ line }) => isAllowance(line));
  const [lineTotal, allowanceTotal] = [billed, allowances].map((all) => sum(all.map(({ amount }) => amount)));
  const [first, ...rest] = billed.map((one) => lineOf(one, signed(one.line.quantity), currency));
  if (first === undefined || lineTotal === undefined || allowanceTotal === undefined)
    throw new Error('An electronic invoice without lines.');
  const isOutside = vats.every((vat) => vat?.category === 'O');
  const vatId = (id: string | null) => (isOutside ? null : id);
  const taxTotal = amountOf(signed(face.taxTotal));
  const total = amountOf(signed(face.total));
  const period = present({ 'cbc:StartDate': face.servicePeriodStart, 'cbc:EndDate': face.servicePeriodEnd });
  const order = present({ 'cbc:ID': face.purchaseOrder, 'cbc:SalesOrderID': face.orderReference });
  const terms = isCredit ? texts.amountCredited : termsOf(face, format);
  // The schema of CII requires an element of the delivery, which the library omits without content.
  const hasDelivery = format === 'facturx' || vats.some((vat) => vat?.category === 'K');
  return {
    'cbc:ID': face.invoiceNumber,
    'cbc:IssueDate': face.invoiceDate,
    ...(!isCredit && { 'cbc:DueDate': face.dueDate }),
    'cbc:InvoiceTypeCode': isCredit ? '381' : '380',
    ...(face.memo !== null && { 'cbc:Note': [clean(face.memo)] }),
    'cbc:DocumentCurrencyCode': currency,
    ...(face.buyerReference !== null && { 'cbc:BuyerReference': clean(face.buyerReference) }),
    ...(period && { 'cac:InvoicePeriod': period }),
    ...(order && { 'cac:OrderReference': order }),
    ...(face.creditedNumber !== null && {
      'cac:BillingReference': [
        {
          'cac:InvoiceDocumentReference': {
            'cbc:ID': face.creditedNumber,
            ...(document.creditedDate !== null && { 'cbc:IssueDate': document.creditedDate }),
          },
        },
      ],
    }),
    'cac:AccountingSupplierParty': {
      'cac:Party': {
        ...partyOf(parties.firmName, parties.firmAddress, document.firmElectronicAddress),
        // The rules of Denmark allow no identification without a scheme.
        ...(registrationOf(parties.firmAddress, document.firmElectronicAddress) === undefined && {
          'cac:PartyIdentification': [{ 'cbc:ID': document.orgCode }],
        }),
        ...(vatId(parties.firmVatId) !== null && {
          'cac:PartyTaxScheme': [{ 'cbc:CompanyID': parties.firmVatId ?? '', 'cac:TaxScheme': scheme }],
        }),
        ...contactOf(document.firmContact),
      },
    },
    'cac:AccountingCustomerParty': {
      'cac:Party': {
        ...partyOf(parties.clientName, face.billingAddress, document.clientElectronicAddress),
        ...(vatId(parties.clientVatId) !== null && {
          'cac:PartyTaxScheme': { 'cbc:CompanyID': parties.clientVatId ?? '', 'cac:TaxScheme': scheme },
        }),
        ...contactOf({ name: parties.contactName, phone: null, email: null }),
      },
    },
    ...(hasDelivery && {
      'cac:Delivery': { 'cac:DeliveryLocation': { 'cac:Address': addressOf(face.billingAddress) } },
    }),
    ...(parties.bankAccounts !== null && {
      'cac:PaymentMeans': parties.bankAccounts.map(({ iban, accountNumber, bic, accountHolder }) => ({
        // A transfer in SEPA names an IBAN. Denmark allows no other transfers, but payments to an account.
        'cbc:PaymentMeansCode':
          currency === 'EUR' && iban !== null ? '58' : parties.firmAddress?.country === 'DK' ? '42' : '30',
        'cbc:PaymentID': face.invoiceNumber,
        'cac:PayeeFinancialAccount': {
          'cbc:ID': iban ?? accountNumber ?? '',
          'cbc:Name': clean(accountHolder ?? parties.firmName),
          ...(bic !== null && { 'cac:FinancialInstitutionBranch': { 'cbc:ID': bic } }),
        },
      })),
    }),
    ...(terms !== undefined && { 'cac:PaymentTerms': { 'cbc:Note': terms } }),
    ...(allowances.length > 0 && {
      'cac:AllowanceCharge': allowances.map(({ line, vat, amount }) => ({
        'cbc:ChargeIndicator': 'false',
        'cbc:AllowanceChargeReason': clean(line.description),
        'cbc:Amount': amountOf(zero.minus(amount)),
        'cbc:Amount@currencyID': currency,
        'cac:TaxCategory': categoryOf(vat),
      })),
    }),
    'cac:TaxTotal': [
      {
        'cbc:TaxAmount': taxTotal,
        'cbc:TaxAmount@currencyID': currency,
        'cac:TaxSubtotal': vatTotals(face).map((vat) => ({
          'cbc:TaxableAmount': amountOf(signed(vat.base.toFixed())),
          'cbc:TaxableAmount@currencyID': currency,
          'cbc:TaxAmount': amountOf(signed(vat.tax.toFixed())),
          'cbc:TaxAmount@currencyID': currency,
          'cac:TaxCategory': {
            ...categoryOf(vat),
            'cbc:Percent': vat.rate.toFixed(),
            ...reasonOf(vat, face.taxExemptReason ?? texts.reasons.O ?? '', texts.reasons),
          },
        })),
      },
    ],
    'cac:LegalMonetaryTotal': {
      'cbc:LineExtensionAmount': amountOf(lineTotal),
      'cbc:LineExtensionAmount@currencyID': currency,
      'cbc:TaxExclusiveAmount': amountOf(lineTotal.plus(allowanceTotal)),
      'cbc:TaxExclusiveAmount@currencyID': currency,
      'cbc:TaxInclusiveAmount': total,
      'cbc:TaxInclusiveAmount@currencyID': currency,
      ...(allowances.length > 0 && {
        'cbc:AllowanceTotalAmount': amountOf(zero.minus(allowanceTotal)),
        'cbc:AllowanceTotalAmount@currencyID': currency,
      }),
      'cbc:PayableAmount': total,
      'cbc:PayableAmount@currencyID': currency,
    },
    'cac:InvoiceLine': [first, ...rest],
  };
}

/** The discount for early payment. XRechnung requires it in the form of its rule BR-DE-18. */
function termsOf(face: InvoiceFace, format: EInvoiceFormat): string | undefined {
  const { earlyPayment } = face;
  if (earlyPayment === null) return undefined;
  if (format !== 'xrechnung') return earlyPaymentTerms(face, styleOf(face));
  const percent = parseDecimal(earlyPayment.percent).toFixed(2);
  return `#SKONTO#TAGE=${earlyPayment.withinDays}#PROZENT=${percent}#\n`;
}

interface BilledLine {
  readonly line: DocumentLine;
  readonly vat: LineVat;
  /** Without tax. */
  readonly amount: Decimal;
  readonly number: number;
}

/** A price is never negative and without tax, so a line over a negative amount has a negative quantity. */
function lineOf({ line, vat, amount, number }: BilledLine, quantity: Decimal, currency: string) {
  const [size, listed] = [quantity.abs(), parseDecimal(line.unitAmount).abs()];
  const isExact = !line.includesTax && round(size.times(listed), 2).eq(amount.abs());
  const price = isExact || size.eq(zero) ? listed : round(amount.abs().div(size), 10);
  return {
    'cbc:ID': String(number),
    'cbc:InvoicedQuantity': (amount.lt(zero) ? zero.minus(size) : size).toFixed(),
    'cbc:InvoicedQuantity@unitCode': line.unitCode,
    'cbc:LineExtensionAmount': amountOf(amount),
    'cbc:LineExtensionAmount@currencyID': currency,
    'cac:Item': { 'cbc:Name': clean(line.description), 'cac:ClassifiedTaxCategory': categoryOf(vat) },
    'cac:Price': { 'cbc:PriceAmount': price.toFixed(), 'cbc:PriceAmount@currencyID': currency },
  };
}

function categoryOf({ category, rate }: LineVat) {
  return { 'cbc:ID': category, ...(category !== 'O' && { 'cbc:Percent': rate.toFixed() }), 'cac:TaxScheme': scheme };
}

/** Codes of reasons that EN 16931 lists, for categories with only one. */
const reasonCodes: Readonly<Partial<Record<LineVat['category'], string>>> = {
  AE: 'VATEX-EU-AE',
  K: 'VATEX-EU-IC',
  G: 'VATEX-EU-G',
  O: 'VATEX-EU-O',
};

function reasonOf({ category }: LineVat, exemption: string, reasons: Readonly<Partial<Record<string, string>>>) {
  if (category === 'S' || category === 'Z') return {};
  const code = reasonCodes[category];
  const reason = clean(category === 'E' ? exemption : (reasons[category] ?? exemption));
  return { ...(code && { 'cbc:TaxExemptionReasonCode': code }), 'cbc:TaxExemptionReason': reason };
}

function partyOf(name: string, address: StoredAddress | null, electronic: ElectronicAddress | null) {
  const registration = registrationOf(address, electronic);
  return {
    ...(electronic !== null && { 'cbc:EndpointID': electronic.id, 'cbc:EndpointID@schemeID': electronic.scheme }),
    'cac:PostalAddress': addressOf(address),
    'cac:PartyLegalEntity': {
      'cbc:RegistrationName': clean(name),
      ...(registration && {
        'cbc:CompanyID': registration.id,
        'cbc:CompanyID@schemeID': registration.scheme,
      }),
    },
  };
}

function addressOf(address: StoredAddress | null) {
  const known = present({
    'cbc:StreetName': address?.line1 ?? null,
    'cbc:AdditionalStreetName': address?.line2 ?? null,
    'cbc:CityName': address?.city ?? null,
    'cbc:PostalZone': address?.postalCode ?? null,
    'cbc:CountrySubentity': address?.state ?? null,
  });
  return { ...known, 'cac:Country': { 'cbc:IdentificationCode': address?.country ?? '' } };
}

function contactOf({ name, phone, email }: EInvoiceDocument['firmContact']) {
  const contact = present({ 'cbc:Name': name, 'cbc:Telephone': phone, 'cbc:ElectronicMail': email });
  return contact && { 'cac:Contact': contact };
}

/** The members that are known; undefined if none is. */
function present(members: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> | undefined {
  const known = Object.entries(members).flatMap(([name, value]) =>
    value === null ? [] : [[name, clean(value)] as const],
  );
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function amountOf(value: Decimal): string {
  return value.eq(zero) ? '0.00' : value.toFixed(2);
}

/** Removes what XML cannot contain. */
function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones.
  return text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ' ');
}
