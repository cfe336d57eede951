import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import type { Weight } from './fonts.ts';
import type { Letter } from './letter.ts';
import { feeTypeNames, sectionsOf } from './letter-text.ts';
import { linesOf, runsOf, type TextRun } from './text-runs.ts';

const margin = 64;
const bodySize = 10;
const labelWidth = 110;
/** Line height relative to the font size. */
const lineHeight = 1.45;

interface Style {
  readonly size?: number;
  readonly weight?: Weight;
  /** Distance from the left margin. */
  readonly indent?: number;
}

/**
 * Renders the PDF of a letter. The same letter results in the same bytes.
 *
 * @throws Error if a font cannot be read.
 */
export async function renderLetter(letter: Letter): Promise<Buffer> {
  const page = new Page(letter);
  page.text(letter.firmName, { size: 15, weight: 'bold' });
  page.space(14);
  page.text(dayInWords(letter.date));
  page.space(14);
  page.text(letter.clientName, { weight: 'bold' });
  for (const line of letter.addressLines) page.text(line);
  page.space(20);
  page.text(letter.isSigned ? 'Engagement letter – signed copy' : 'Engagement letter', { size: 13, weight: 'bold' });
  page.space(6);
  for (const [label, value] of factsOf(letter)) page.fact(label, value);
  page.space(8);
  for (const [heading, text] of sectionsOf(letter)) page.section(heading, text);
  page.space(12);
  for (const signer of letter.signers) page.signature(signer, letter.isSigned);
  return page.end(letter.engagementRef);
}

function factsOf(letter: Letter): (readonly [string, string])[] {
  const { startDate, endDate, feeAmount, feeType, depositAmount, partner, manager } = letter;
  const facts: (readonly [string, string | null])[] = [
    ['Reference', letter.engagementRef],
    ['Engagement', letter.name],
    ['Fiscal year', String(letter.fiscalYear)],
    ['From', startDate === null ? null : dayInWords(startDate)],
    ['Until', endDate === null ? null : dayInWords(endDate)],
    ['Partner', partner],
    ['Manager', manager],
    ...letter.staff.map(({ name, role }) => [roleName(role), name] as const),
    [
      'Fee',
      feeAmount === null ? null : money(feeAmount, letter) + (feeType === null ? '' : `, ${feeTypeNames[feeType]}`),
    ],
    ['Deposit', depositAmount === null ? null : money(depositAmount, letter)],
  ];
  return facts.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const]));
}

/** Formats a role: `IN_CHARGE` becomes "In charge". */
function roleName(role: string): string {
  if (role === 'OTHER') return 'Staff';
  const words = role.replaceAll('_', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function dayInWords(date: string): string {
  return Temporal.PlainDate.from(date).toLocaleString('en-US', { dateStyle: 'long' });
}

/** Formatted as decimal text, never as a floating-point number. */
function money(amount: string, { currency }: Pick<Letter, 'currency'>): string {
  const format = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return `${currency} ${format.format(amount as Intl.StringNumericLiteral)}`;
}

/** Sets text from the top of the page to the bottom, and continues on the next page. */
class Page {
  readonly #document: PDFKit.PDFDocument;
  readonly #content: Promise<Buffer>;
  /** Cached widths of words and characters, because shaping is most of the work. */
  readonly #widths = new Map<string, number>();

  constructor({ fileName, firmName, createdAt }: Letter) {
    this.#document = new PDFDocument({
      size: 'LETTER',
      margin,
      bufferPages: true,
      lang: 'en-US',
      displayTitle: true,
      info: {
        Title: fileName.replace(/\.pdf$/, ''),
        Author: firmName,
        CreationDate: new Date(createdAt),
        ModDate: new Date(createdAt),
      },
    });
    this.#content = buffer(this.#document);
  }

  get #width(): number {
    return this.#document.page.width - 2 * margin;
  }

  space(points: number): void {
    this.#document.y += points;
  }

  text(text: string, { size = bodySize, weight = 'regular', indent = 0 }: Style = {}): void {
    const widthOf = (part: string) => this.#widthOf(part, size, weight);
    for (const line of linesOf(text, this.#width - indent, widthOf)) {
      this.#reserve(size * lineHeight);
      this.#set(line, margin + indent, this.#document.y, size, weight);
      this.#document.y += size * lineHeight;
    }
  }

  fact(label: string, value: string): void {
    this.#reserve(bodySize * lineHeight);
    this.#set(label, margin, this.#document.y, bodySize, 'bold');
    this.text(value, { indent: labelWidth });
  }

  section(heading: string, text: string): void {
    // A heading must not be alone at the bottom of a page.
    this.#reserve(4 * bodySize * lineHeight);
    this.space(8);
    this.text(heading, { weight: 'bold' });
    this.text(text);
  }

  signature({ name, signedAt }: Letter['signers'][number], isSigned: boolean): void {
    this.#reserve(5 * bodySize * lineHeight);
    this.space(2 * bodySize * lineHeight);
    const { y } = this.#document;
    if (isSigned && signedAt !== null) this.text(`Signed on ${signedAt} UTC`);
    this.#document
      .moveTo(margin, this.#document.y + 2)
      .lineTo(margin + this.#width / 2, this.#document.y + 2)
      .lineWidth(0.5)
      .stroke();
    this.#document.y = Math.max(this.#document.y, y) + 6;
    this.text(name);
  }

  /** Numbers the pages. @returns the bytes of the document */
  end(reference: string): Promise<Buffer> {
    const { start, count } = this.#document.bufferedPageRange();
    for (let number = 0; number < count; number++) {
      this.#document.switchToPage(start + number);
      const foot = this.#document.page.height - margin / 2 - 8;
      this.#set(`${reference}   Page ${number + 1} of ${count}`, margin, foot, 8, 'regular');
    }
    this.#document.end();
    return this.#content;
  }

  #reserve(height: number): void {
    const { y, page } = this.#document;
    if (y + height <= page.height - margin) return;
    this.#document.addPage();
    this.#document.y = margin;
  }

  #widthOf(part: string, size: number, weight: Weight): number {
    const key = `${size} ${weight} ${part}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      width = 0;
      for (const run of runsOf(part, weight))
        width += this.#document.font(run.face.path, size).widthOfString(run.text, shapingOf(run));
      this.#widths.set(key, width);
    }
    return width;
  }

  #set(line: string, x: number, y: number, size: number, weight: Weight): void {
    const top = this.#document.y;
    let left = x;
    const runs = runsOf(line, weight);
    for (const [index, run] of runs.entries()) {
      const font = this.#document.font(run.face.path, size);
      // Fonts have different ascents: all text shares one baseline.
      font.text(run.text, left, y, { ...shapingOf(run), lineBreak: false, baseline: -size });
      if (index < runs.length - 1) left += font.widthOfString(run.text, shapingOf(run));
    }
    this.#document.y = top;
  }
}

/**
 * Words are shaped one by one, and cached. A right-to-left run is shaped as a whole, so that its words are in that
 * direction.
 */
function shapingOf({ level }: TextRun): { features?: PDFKit.Mixins.OpenTypeFeatures[] } {
  return level % 2 === 1 ? { features: [] } : {};
}
