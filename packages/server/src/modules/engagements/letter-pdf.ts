import { heightOf, type Pages, renderPages } from '../../platform/pdf/pages.ts';
import { formatAmount, formatDay, formatInstant } from '../documents/index.ts';
import type { Letter } from './letter.ts';
import { feeTypeNames, sectionsOf } from './letter-text.ts';

const margin = 64;
const labelWidth = 110;

/**
 * Renders the PDF of a letter. The same letter results in the same bytes.
 *
 * @throws Error if a font cannot be read.
 */
export function render(letter: Letter): Promise<Buffer> {
  const { fileName, firmName, createdAt, engagementRef: reference } = letter;
  const about = { title: fileName.replace(/\.pdf$/, ''), author: firmName, createdAt, reference, margin };
  return renderPages(about, (page) => setLetter(page, letter));
}

function setLetter(page: Pages, letter: Letter): void {
  page.text(letter.firmName, { size: 15, weight: 'bold' });
  page.space(14);
  page.text(formatDay(letter.date));
  page.space(14);
  page.text(letter.clientName, { weight: 'bold' });
  for (const line of letter.addressLines) page.text(line);
  page.space(20);
  page.text(letter.isSigned ? 'Engagement letter – signed copy' : 'Engagement letter', { size: 13, weight: 'bold' });
  page.space(6);
  for (const [label, value] of factsOf(letter)) setFact(page, label, value);
  page.space(8);
  for (const [heading, text] of sectionsOf(letter)) setSection(page, heading, text);
  page.space(12);
  for (const signer of letter.signers) setSignature(page, signer, letter);
}

function factsOf(letter: Letter): (readonly [string, string])[] {
  const { startDate, endDate, feeAmount, feeType, depositAmount, partner, manager } = letter;
  const facts: (readonly [string, string | null])[] = [
    ['Reference', letter.engagementRef],
    ['Engagement', letter.name],
    ['Fiscal year', String(letter.fiscalYear)],
    ['From', startDate === null ? null : formatDay(startDate)],
    ['Until', endDate === null ? null : formatDay(endDate)],
    ['Partner', partner],
    ['Manager', manager],
    ...letter.staff.map(({ name, role }) => [roleName(role), name] as const),
    [
      'Fee',
      feeAmount === null
        ? null
        : formatAmount(feeAmount, letter.currency) + (feeType === null ? '' : `, ${feeTypeNames[feeType]}`),
    ],
    ['Deposit', depositAmount === null ? null : formatAmount(depositAmount, letter.currency)],
  ];
  return facts.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const]));
}

/** Formats a role: `IN_CHARGE` becomes "In charge". */
function roleName(role: string): string {
  if (role === 'OTHER') return 'Staff';
  const words = role.replaceAll('_', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function setFact(page: Pages, label: string, value: string): void {
  page.reserve(heightOf());
  page.line(label, { weight: 'bold' }, { left: margin, width: labelWidth });
  page.text(value, {}, { left: margin + labelWidth, width: page.width - labelWidth });
}

function setSection(page: Pages, heading: string, text: string): void {
  // A heading must not be alone at the bottom of a page.
  page.reserve(4 * heightOf());
  page.space(8);
  page.text(heading, { weight: 'bold' });
  page.text(text);
}

function setSignature(page: Pages, { name, signedAt }: Letter['signers'][number], letter: Letter): void {
  page.reserve(5 * heightOf());
  page.space(2 * heightOf());
  if (letter.isSigned && signedAt !== null) page.text(`Signed on ${formatInstant(signedAt, letter.timeZone)}`);
  page.space(2);
  page.rule({ left: margin, width: page.width / 2 });
  page.space(4);
  page.text(name);
}
