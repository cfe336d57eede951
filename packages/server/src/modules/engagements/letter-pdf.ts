import { heightOf, type Pages, renderPages } from '../../platform/pdf/pages.ts';
import { formatAmount, formatDay, formatInstant, localeOf, pageTexts, paperIn } from '../documents/index.ts';
import type { Letter } from './letter.ts';
import { letterTexts, sectionsOf } from './letter-text.ts';

const margin = 64;
const labelWidth = 110;

/**
 * Renders the PDF of a letter. The same letter results in the same bytes.
 *
 * @throws Error if a font cannot be read.
 */
export function render(letter: Letter): Promise<Buffer> {
  const { firmName, createdAt, engagementRef: reference, language, firmCountry } = letter;
  const title = `${letterTexts[language].title} ${reference}`;
  const about = {
    title,
    author: firmName,
    createdAt,
    reference,
    margin,
    locale: localeOf(letter.language, letter.country),
  };
  return renderPages({ ...about, page: pageTexts[language], paper: paperIn(firmCountry) }, (page) =>
    setLetter(page, letter),
  );
}

function setLetter(page: Pages, letter: Letter): void {
  const texts = letterTexts[letter.language];
  page.text(letter.firmName, { size: 15, weight: 'bold' });
  page.space(14);
  page.text(formatDay(letter.date, localeOf(letter.language, letter.country)));
  page.space(14);
  page.text(letter.clientName, { weight: 'bold' });
  for (const line of letter.addressLines) page.text(line);
  page.space(20);
  page.text(letter.isSigned ? texts.signedTitle : texts.title, { size: 13, weight: 'bold' });
  page.space(6);
  for (const [label, value] of factsOf(letter)) setFact(page, label, value);
  page.space(8);
  for (const { heading, text } of sectionsOf(letter)) setSection(page, heading, text);
  page.space(12);
  for (const signer of letter.signers) setSignature(page, signer, letter);
}

function factsOf(letter: Letter): (readonly [string, string])[] {
  const { startDate, endDate, feeAmount, feeType, depositAmount, partner, manager, currency } = letter;
  const { facts: names, roles, feeTypes } = letterTexts[letter.language];
  const locale = localeOf(letter.language, letter.country);
  const day = (date: string | null) => (date === null ? null : formatDay(date, locale));
  const amount = (text: string | null) => (text === null ? null : formatAmount(text, currency, locale));
  const fee = [amount(feeAmount), feeType === null ? null : feeTypes[feeType]].filter((part) => part !== null);
  const facts: (readonly [string, string | null])[] = [
    [names.reference, letter.engagementRef],
    [names.engagement, letter.name],
    [names.fiscalYear, String(letter.fiscalYear)],
    [names.from, day(startDate)],
    [names.until, day(endDate)],
    [roles.PARTNER, partner],
    [roles.MANAGER, manager],
    ...letter.staff.map(({ name, role }) => [roles[role], name] as const),
    [names.fee, feeAmount === null ? null : fee.join(', ')],
    [names.deposit, amount(depositAmount)],
  ];
  return facts.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const]));
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
  if (letter.isSigned && signedAt !== null) {
    const time = formatInstant(signedAt, letter.timeZone, localeOf(letter.language, letter.country));
    page.text(letterTexts[letter.language].signedOn.replace('{time}', time));
  }
  page.space(2);
  page.rule({ left: margin, width: page.width / 2 });
  page.space(4);
  page.text(name);
}
