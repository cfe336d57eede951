import type { Letter } from './letter.ts';

/**
 * The standard letter of the service. Firms with their own text send their own letter, and only record its signatures
 * here.
 */
const scopes: Readonly<Record<Letter['type'], string>> = {
  AUDIT:
    'We will audit your financial statements for the fiscal year named above, in accordance with generally accepted auditing standards. An audit is designed to obtain reasonable, but not absolute, assurance that the statements are free of material misstatement.',
  REVIEW:
    'We will review your financial statements for the fiscal year named above. A review consists primarily of inquiries and analytical procedures. It is substantially less in scope than an audit, and we will not express an opinion.',
  COMPILATION:
    'We will compile your financial statements for the fiscal year named above from the information that you provide. We will not audit or review the statements, and will not express an opinion or any form of assurance on them.',
  TAX: 'We will prepare your income tax returns for the fiscal year named above from the information that you provide. We will not audit or otherwise verify that information, although we may ask you to clarify some of it.',
  CAS: 'We will provide client accounting services for the fiscal year named above: bookkeeping, reconciliations and the reports that we agree on with you. We will not audit or review the resulting reports.',
  ADVISORY:
    'We will advise you on the matters that we agree on with you during the fiscal year named above. Our advice is based on the information that you provide and on the law as it is when we give it.',
  OTHER:
    'We will provide the services that we agree on with you during the fiscal year named above, from the information that you provide.',
};

const fees: Readonly<Record<NonNullable<Letter['feeType']> | 'NONE', string>> = {
  TIME_AND_MATERIALS:
    'Our fees are based on the time that the work requires, at our standard rates, plus expenses. An amount stated above is an estimate; we will tell you before we exceed it.',
  FIXED_FEE:
    'Our fee is the fixed amount stated above. Work beyond the scope of this letter is agreed and billed separately.',
  RECURRING:
    'Our fee is the amount stated above for each period. Work beyond the scope of this letter is billed separately.',
  NON_BILLABLE: 'We do not charge a fee for this engagement.',
  NONE: 'Our fees are based on the time that the work requires, at our standard rates, plus expenses.',
};

export const feeTypeNames: Readonly<Record<NonNullable<Letter['feeType']>, string>> = {
  TIME_AND_MATERIALS: 'time and materials',
  FIXED_FEE: 'fixed fee',
  RECURRING: 'recurring fee',
  NON_BILLABLE: 'no fee',
};

/** Returns the sections of a letter: heading and text. They contain no user input, so the text is in one script. */
export function sectionsOf({
  type,
  feeType,
}: Pick<Letter, 'type' | 'feeType'>): readonly (readonly [string, string])[] {
  return [
    ['Scope of our services', scopes[type]],
    [
      'Your responsibilities',
      'You are responsible for the completeness and accuracy of the information that you give us, for keeping the records that support it, and for reviewing what we prepare before you use, sign or file it.',
    ],
    ['Fees', fees[feeType ?? 'NONE']],
    [
      'Confidentiality',
      'We keep your information confidential, and disclose it only as you allow or as the law and professional standards require.',
    ],
    [
      'Term',
      'This engagement begins when everybody named below has signed, and ends when the services are complete. Either party may end it earlier by written notice. Fees for work done until then remain due.',
    ],
    [
      'Agreement',
      'Changes to the terms of this letter are agreed in writing. If the letter describes our arrangement as you understand it, please sign below.',
    ],
  ];
}
