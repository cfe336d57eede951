import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import PDFDocument from 'pdfkit';
import { EmbeddedFace } from './embedded-face.ts';
import type { Face, FontWeight } from './faces.ts';
import { shapeText } from './shaping.ts';
import { linesOf, runsOf, wordsOf } from './text-runs.ts';

/** Line height relative to the font size. */
const lineHeight = 1.45;
const bodySize = 10;
const footSize = 8;

export interface Style {
  readonly size?: number;
  readonly weight?: FontWeight;
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
  /** Set at the foot of each page, beside its number. */
  readonly reference: string;
  /** The locale of its texts; by default that of the United States. */
  readonly locale?: string | undefined;
  /** What the foot says about the page; by default in English. */
  readonly page?: string | undefined;
  readonly paper?: 'A4' | 'LETTER' | undefined;
  /** A word across each page, if any. */
  readonly stamp?: string | undefined;
  readonly margin: number;
}

/**
 * Renders a document. It is set twice: each page says how many there are, and is complete, and thus out of memory, before
 * the next one starts.
 *
 * @returns the bytes of the PDF; the same for the same calls.
 */
export async function renderPages(about: About, set: (page: Pages) => void): Promise<Buffer> {
  const draft = new Pages(about);
  set(draft);
  const pages = new Pages(about, draft.number);
  set(pages);
  return pages.end();
}

/** By face and text, in thousandths of the font size. Shaping is most of the work. */
const widths = new LRUCache<string, number>({ maxSize: 2_000_000, sizeCalculation: (_, key) => key.length + 40 });

/** The pages of a document, with text in any script. Text starts at the top of a page and continues on the next one. */
export class Pages {
  readonly margin: number;
  readonly #about: About;
  /** The number of pages; undefined while they are counted, and nothing is drawn. */
  readonly #count: number | undefined;
  readonly #document: PDFKit.PDFDocument;
  readonly #content: Promise<Buffer>;
  readonly #faces = new Map<Face, EmbeddedFace>();
  #number = 1;
  #head: (() => void) | undefined;

  constructor(about: About, count?: number) {
    this.#about = about;
    this.margin = about.margin;
    this.#count = count;
    const created = new Date(about.createdAt);
    this.#document = new PDFDocument({
      size: about.paper ?? 'LETTER',
      margin: about.margin,
      lang: about.locale ?? 'en-US',
      displayTitle: true,
      fontLayoutCache: false,
      info: { Title: about.title, Author: about.author, CreationDate: created, ModDate: created },
    });
    this.#content = buffer(this.#document);
  }

  /** The number of the current page. */
  get number(): number {
    return this.#number;
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

  /** The width of the widest part of a text that is not broken into lines, unless the line is narrower. */
  widestWord(text: string, style: Style = {}): number {
    return Math.max(0, ...wordsOf(text).map((word) => this.widthOf(word.trimEnd(), style)));
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
    if (this.#count === undefined) return;
    let x = align === 'left' ? left : left + width - this.#widthOf(text, size, weight);
    const { y } = this;
    const placed = runsOf(text, weight).map((run) => {
      const glyphs = shapeText(run.face, run.text, run.level % 2 === 1);
      const left = x;
      x += (glyphs.width * size) / 1000;
      return { ...run, glyphs, left };
    });
    // Readers take texts in the order in which they are set.
    for (const { text: part, face, glyphs, left: start } of placed.toSorted((one, other) => one.start - other.start)) {
      const embedded = this.#faces.getOrInsertComputed(face, () => new EmbeddedFace(face));
      embedded.run = glyphs;
      const font = this.#document.font(embedded, face.name, size).fillColor(color);
      if (face.isEmboldened) font.strokeColor(color).lineWidth(size / 30);
      // Fonts have different ascents: all text shares one baseline.
      const drawing = { fill: true, stroke: face.isEmboldened, baseline: -size, lineBreak: false };
      font.text(part, start, y, { ...drawing, features: [] });
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
    this.#endPage();
    this.#document.addPage();
    this.#number += 1;
    this.y = this.margin;
    this.#head?.();
  }

  /** Repeats something at the top of each further page, until it is replaced or undefined. */
  repeat(head: (() => void) | undefined): void {
    this.#head = head;
  }

  /** Ends the document. @returns its bytes. */
  end(): Promise<Buffer> {
    this.#endPage();
    this.#document.end();
    return this.#content;
  }

  #endPage(): void {
    const { reference, stamp, page = 'Page {page} of {pages}' } = this.#about;
    this.y = this.#document.page.height - this.margin / 2 - footSize;
    const foot = `${reference}   ${page.replace('{page}', `${this.#number}`).replace('{pages}', `${this.#count}`)}`;
    this.line(foot, { size: footSize }, { left: this.margin, width: this.width });
    if (stamp !== undefined) this.#stamp(stamp);
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

  #widthOf(part: string, size: number, weight: FontWeight): number {
    const key = `${weight} ${part}`;
    let width = widths.get(key);
    if (width === undefined) {
      width = 0;
      for (const { text, face, level } of runsOf(part, weight)) width += shapeText(face, text, level % 2 === 1).width;
      widths.set(key, width);
    }
    return (width * size) / 1000;
  }
}

/** The height of a line of text in points. */
export function heightOf({ size = bodySize }: Style = {}): number {
  return size * lineHeight;
}
