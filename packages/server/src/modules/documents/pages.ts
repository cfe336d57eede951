import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import type { Weight } from './fonts.ts';
import { linesOf, runsOf, type TextRun } from './text-runs.ts';

/** Line height relative to the font size. */
const lineHeight = 1.45;
const bodySize = 10;
const footSize = 8;

export interface Style {
  readonly size?: number;
  readonly weight?: Weight;
  readonly color?: string;
}

/** A part of the width of a page, in points. Text is aligned to one of its edges. */
export interface Column {
  readonly left: number;
  readonly width: number;
  readonly align?: 'left' | 'right';
}

/** What a document says of itself. */
export interface About {
  readonly title: string;
  readonly author: string;
  readonly createdAt: string;
}

/**
 * The pages of a document, with text in any script. Text starts at the top of a page and continues on the next one. The same
 * calls result in the same bytes.
 */
export class Pages {
  readonly margin: number;
  readonly #document: PDFKit.PDFDocument;
  readonly #content: Promise<Buffer>;
  /** Cached widths of words and characters, because shaping is most of the work. */
  readonly #widths = new Map<string, number>();
  #head: (() => void) | undefined;

  constructor({ title, author, createdAt }: About, margin: number) {
    this.margin = margin;
    const created = new Date(createdAt);
    this.#document = new PDFDocument({
      size: 'LETTER',
      margin,
      bufferPages: true,
      lang: 'en-US',
      displayTitle: true,
      info: { Title: title, Author: author, CreationDate: created, ModDate: created },
    });
    this.#content = buffer(this.#document);
  }

  get width(): number {
    return this.#document.page.width - 2 * this.margin;
  }

  /** The distance of the next line from the top of the page. */
  get y(): number {
    return this.#document.y;
  }

  set y(points: number) {
    this.#document.y = points;
  }

  space(points: number): void {
    this.y += points;
  }

  /** Sets text within a column, by default the whole width, in as many lines and pages as it requires. */
  text(text: string, style: Style = {}, column: Column = { left: this.margin, width: this.width }): void {
    for (const line of this.lines(text, column.width, style)) {
      this.reserve(heightOf(style));
      this.line(line, style, column);
      this.space(heightOf(style));
    }
  }

  widthOf(text: string, { size = bodySize, weight = 'regular' }: Style = {}): number {
    return this.#widthOf(text, size, weight);
  }

  /** Breaks text into lines of a maximum width. */
  lines(text: string, width: number, { size = bodySize, weight = 'regular' }: Style = {}): readonly string[] {
    return linesOf(text, width, (part) => this.#widthOf(part, size, weight));
  }

  /** Sets one line at the current height, which remains. */
  line(
    text: string,
    { size = bodySize, weight = 'regular', color = 'black' }: Style,
    { left, width, align = 'left' }: Column,
  ): void {
    const x = align === 'left' ? left : left + width - this.#widthOf(text, size, weight);
    const { y } = this;
    let at = x;
    const runs = runsOf(text, weight);
    for (const [index, run] of runs.entries()) {
      const font = this.#document.font(run.face.path, size).fillColor(color);
      // Fonts have different ascents: all text shares one baseline.
      font.text(run.text, at, y, { ...shapingOf(run), lineBreak: false, baseline: -size });
      if (index < runs.length - 1) at += font.widthOfString(run.text, shapingOf(run));
    }
    this.y = y;
  }

  /** Draws a line across a part of the width, at the current height. */
  rule({ left, width }: Column = { left: this.margin, width: this.width }, color = 'black'): void {
    this.#document
      .moveTo(left, this.y)
      .lineTo(left + width, this.y)
      .lineWidth(0.5)
      .stroke(color);
  }

  /** Fills the background of the next lines. */
  shade(height: number, color: string): void {
    const { y } = this;
    this.#document.rect(this.margin, y, this.width, height).fill(color);
    this.y = y;
  }

  /** Starts a page if less than this height remains on the current one. */
  reserve(height: number): void {
    const { page } = this.#document;
    if (this.y + height <= page.height - this.margin) return;
    this.#document.addPage();
    this.y = this.margin;
    this.#head?.();
  }

  /** Repeats something at the top of each further page, until it is replaced or undefined. */
  repeat(head: (() => void) | undefined): void {
    this.#head = head;
  }

  /**
   * Ends the document.
   *
   * @param reference set at the foot of each page, beside its number.
   * @param stamp a word across each page, if any.
   * @returns the bytes of the document.
   */
  end(reference: string, stamp?: string): Promise<Buffer> {
    const { start, count } = this.#document.bufferedPageRange();
    for (let number = 0; number < count; number++) {
      this.#document.switchToPage(start + number);
      this.y = this.#document.page.height - this.margin / 2 - footSize;
      const page = `${reference}   Page ${number + 1} of ${count}`;
      this.line(page, { size: footSize }, { left: this.margin, width: this.width });
      if (stamp !== undefined) this.#stamp(stamp);
    }
    this.#document.end();
    return this.#content;
  }

  #stamp(word: string): void {
    const { width, height } = this.#document.page;
    const size = 140;
    this.#document
      .save()
      .rotate(-45, { origin: [width / 2, height / 2] })
      .opacity(0.25);
    this.y = height / 2 - size / 2;
    const style = { size, weight: 'bold', color: '#b00020' } as const;
    const length = this.#widthOf(word, size, style.weight);
    this.line(word, style, { left: (width - length) / 2, width: length });
    this.#document.restore();
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
}

/** The height of a line of text in points. */
export function heightOf({ size = bodySize }: Style = {}): number {
  return size * lineHeight;
}

/**
 * Words are shaped one by one, and cached. A right-to-left run is shaped as a whole, so that its words are in that
 * direction.
 */
function shapingOf({ level }: TextRun): { features?: PDFKit.Mixins.OpenTypeFeatures[] } {
  return level % 2 === 1 ? { features: [] } : {};
}
