import * as abn from 'stdnum/lib/cjs/au/abn.js';
import * as belgian from 'stdnum/lib/cjs/be/vat.js';
import * as ean from 'stdnum/lib/cjs/gen/ean.js';
import * as norwegian from 'stdnum/lib/cjs/no/orgnr.js';
import * as swedish from 'stdnum/lib/cjs/se/orgnr.js';
import type { StoredAddress } from '../../documents/index.ts';
import { lineVats } from './e-invoice-taxes.ts';
import type { EInvoiceDocument, ElectronicAddress } from './invoice-document.ts';

/** Whether something is missing, where, and what. */
export type PossibleGap = readonly [boolean, string, string];

/** Schemes of the contract that are not in the code list of Peppol (PEPPOL-EN16931-CL008). Those that are not numbers are not either. */
const otherSchemes = ['0037', '0177', '0193', '0202', '0212', '0213', '0215', '9901'];

/** Numbers with a form or check digits (PEPPOL-COMMON-R040 to R053), by scheme. */
const numbers: Readonly<Record<string, (id: string) => boolean>> = {
  '0007': (id) => /^\d{10}$/.test(id) && swedish.validate(id).isValid,
  '0088': (id) => /^\d{13}$/.test(id) && ean.validate(id).isValid,
  '0096': (id) => /^\d{10}$/.test(id),
  '0151': (id) => /^\d{11}$/.test(id) && abn.validate(id).isValid,
  '0184': (id) => /^(DK)?\d{8}$/.test(id),
  '0192': (id) => /^\d{9}$/.test(id) && norwegian.validate(id).isValid,
  '0198': (id) => /^DK\d{8}$/.test(id),
  '0208': (id) => /^\d{10}$/.test(id) && belgian.validate(id).isValid,
};

/** Countries whose sellers name their registration number, with its scheme. It is that of their electronic address. */
const registrationSchemes: Readonly<Record<string, string>> = { DK: '0184', IS: '0196' };

/** The registration number of a party whose country has it on electronic invoices; undefined otherwise. */
export function registrationOf(address: StoredAddress | null, electronic: ElectronicAddress | null) {
  return electronic !== null && registrationSchemes[address?.country ?? ''] === electronic.scheme
    ? electronic
    : undefined;
}

/** What a document lacks by the rules of Peppol BIS Billing that EN 16931 does not have, those of the seller's country included. */
export function peppolGaps(document: EInvoiceDocument): readonly PossibleGap[] {
  const { parties, billingAddress } = document.face;
  const country = parties.firmAddress?.country ?? '';
  const isDomestic = country === billingAddress.country;
  // Some rules look at the VAT ID, in which Greece is EL, others at the address.
  const countries = new Set([country, (parties.firmVatId?.slice(0, 2) ?? country).replace('EL', 'GR')]);
  return [
    ...participantGaps('org', document.firmElectronicAddress),
    ...participantGaps('client', document.clientElectronicAddress),
    ...[...countries].flatMap((one) => national[one]?.(document, isDomestic) ?? []),
  ];
}

function participantGaps(owner: 'org' | 'client', address: ElectronicAddress | null): readonly PossibleGap[] {
  if (address === null) return [];
  const { scheme, id } = address;
  const pointer = `/${owner}/electronicAddress`;
  const isOutside = !/^\d{4}$/.test(scheme) || otherSchemes.includes(scheme);
  const isWrong = numbers[scheme]?.(id) === false;
  return [
    [isOutside, `${pointer}/scheme`, `The electronic address of the ${owner} has a scheme that Peppol does not have.`],
    [isWrong, `${pointer}/id`, `The electronic address of the ${owner} has an ID that is no number of its scheme.`],
  ];
}

/** The rules of countries for their sellers, by country code. Those of Germany are those of XRechnung. */
const national: Readonly<Record<string, (document: EInvoiceDocument, isDomestic: boolean) => readonly PossibleGap[]>> =
  {
    // DK-R-002, DK-R-005, DK-R-006.
    DK: (document, isDomestic) => [
      registrationGap('org', document.firmElectronicAddress, 'DK'),
      [
        isDomestic && (document.face.parties.bankAccounts ?? []).some(({ bic }) => bic === null),
        '/org/bankAccounts',
        'A bank account of the org has no BIC, which Peppol requires within Denmark.',
      ],
    ],
    // GR-R-001, GR-R-004.
    GR: () => [
      [
        true,
        '/office/address/country',
        'Peppol requires the registration of Greek invoices with the tax authority, which this service does not do.',
      ],
    ],
    // IS-R-002 to IS-R-005.
    IS: ({ face, firmElectronicAddress, clientElectronicAddress }, isDomestic) => [
      registrationGap('org', firmElectronicAddress, 'IS'),
      ...addressGaps('office', face.parties.firmAddress, ['line1', 'postalCode']),
      ...(isDomestic
        ? [
            registrationGap('client', clientElectronicAddress, 'IS'),
            ...addressGaps('client', face.billingAddress, ['line1', 'postalCode']),
          ]
        : []),
    ],
    // IT-R-002 to IT-R-004.
    IT: ({ face }) => addressGaps('office', face.parties.firmAddress, ['line1', 'city', 'postalCode']),
    // NL-R-001, NL-R-002, NL-R-004, NL-R-007.
    NL: ({ face }, isDomestic) => [
      ...addressGaps('office', face.parties.firmAddress, ['line1', 'city', 'postalCode']),
      ...(isDomestic ? addressGaps('client', face.billingAddress, ['line1', 'city', 'postalCode']) : []),
      [face.parties.bankAccounts === null, '/org/bankAccounts', 'The org has no bank account.'],
      [
        face.documentType === 'CREDIT_NOTE' && face.creditedNumber === null,
        '/creditedInvoiceId',
        'Peppol requires that a credit note of a Dutch seller refers to an invoice.',
      ],
    ],
    // SE-R-006.
    SE: ({ lines }) =>
      lineVats(lines).map((vat, index) => [
        vat?.category === 'S' && !['6', '12', '25'].includes(vat.rate.toFixed()),
        `/lines/${index}/taxes`,
        'Peppol has the rates 6, 12 and 25 percent for Swedish sellers.',
      ]),
  };

function registrationGap(
  owner: 'org' | 'client',
  address: ElectronicAddress | null,
  country: 'DK' | 'IS',
): PossibleGap {
  const scheme = registrationSchemes[country];
  const detail = `The electronic address of the ${owner} must have the scheme ${scheme}: Peppol requires its registration number.`;
  return [address?.scheme !== scheme, `/${owner}/electronicAddress/scheme`, detail];
}

/** What an address lacks. */
export function addressGaps(
  owner: 'office' | 'client',
  address: StoredAddress | null,
  required: readonly (keyof StoredAddress)[],
): readonly PossibleGap[] {
  const [pointer, words] =
    owner === 'office' ? ['/office/address', 'The address of the office'] : ['/billingAddress', 'The billing address'];
  return required.map((part) => [(address?.[part] ?? null) === null, `${pointer}/${part}`, `${words} has no ${part}.`]);
}
