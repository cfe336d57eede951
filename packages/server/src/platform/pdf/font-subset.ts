import type { Part } from './shaping.ts';

/** Flags of a component of a composite glyph (OpenType, "glyf"). */
const wordArguments = 0x0001;
const argumentsAreOffsets = 0x0002;
const hasScale = 0x0008;
const moreComponents = 0x0020;
const hasTwoScales = 0x0040;
const hasTransformation = 0x0080;

/** What a PDF requires of a TrueType font, in addition to the tables that depend on its glyphs (PDF 32000-1, 9.9). */
const copied = ['cvt ', 'fpgm', 'prep'];

/** Where the tables of a font are read. */
export interface FontTables {
  referenceTable(name: string): Uint8Array | undefined;
}

/** A glyph of the subset. Lengths are thousandths of the font size. */
interface Entry {
  readonly parts: readonly Part[];
  readonly width: number;
}

/**
 * The glyphs of a TrueType font that a document uses, as a font. In contrast to what libraries do, a glyph can occur several
 * times, for different texts, and consist of several others: a PDF says for each glyph which text it shows, so that readers
 * find words in scripts whose letters are composed and reordered.
 */
export class FontSubset {
  readonly #font: FontTables;
  /** The first one is the box for unknown characters. */
  readonly #entries: Entry[] = [{ parts: [{ glyph: 0, x: 0, y: 0 }], width: 0 }];

  constructor(font: FontTables) {
    this.#font = font;
  }

  /** @returns its number in the subset. */
  add(parts: readonly Part[], width: number): number {
    return this.#entries.push({ parts, width }) - 1;
  }

  /** Returns the font. */
  encode(): Buffer {
    const head = this.#table('head');
    const hhea = this.#table('hhea');
    const maxp = this.#table('maxp');
    const scale = head.readUInt16BE(18) / 1000;
    const outlineOf = this.#outlines(head);
    // Components of composite glyphs are added as they are found.
    const components = new Map<number, number>();
    const addComponent = (glyph: number) => {
      const number = components.get(glyph) ?? this.add([{ glyph, x: 0, y: 0 }], 0);
      components.set(glyph, number);
      return number;
    };
    const outlines: Buffer[] = [];
    for (let number = 0; number < this.#entries.length; number++) {
      const { parts = [] } = this.#entries[number] ?? {};
      const inked = parts.filter(({ glyph }) => outlineOf(glyph).length > 0);
      const [first] = inked;
      if (first === undefined) outlines.push(empty);
      else if (parts.length === 1) outlines.push(withComponents(outlineOf(first.glyph), addComponent));
      else outlines.push(compose(inked, scale, outlineOf, addComponent));
    }
    const offsets = Buffer.alloc(4 * (outlines.length + 1));
    const metrics = Buffer.alloc(4 * outlines.length);
    let position = 0;
    for (const [number, outline] of outlines.entries()) {
      position += outline.length;
      offsets.writeUInt32BE(position, 4 * (number + 1));
      metrics.writeUInt16BE(Math.round((this.#entries[number]?.width ?? 0) * scale), 4 * number);
      if (outline.length > 0) metrics.writeInt16BE(outline.readInt16BE(2), 4 * number + 2);
    }
    // Offsets of 32 bits, and a width for each glyph.
    head.writeUInt16BE(1, 50);
    hhea.writeUInt16BE(outlines.length, 34);
    maxp.writeUInt16BE(outlines.length, 4);
    // Composed glyphs can have composite ones as components.
    maxp.writeUInt16BE(Math.max(maxp.readUInt16BE(28), 64), 28);
    maxp.writeUInt16BE(maxp.readUInt16BE(30) + 1, 30);
    const tables: [string, Buffer][] = [
      ['glyf', Buffer.concat(outlines)],
      ['head', head],
      ['hhea', hhea],
      ['hmtx', metrics],
      ['loca', offsets],
      ['maxp', maxp],
    ];
    for (const name of copied) if (this.#font.referenceTable(name)) tables.push([name, this.#table(name)]);
    return fontOf(tables);
  }

  /** Returns a copy: the memory that a table is read from can move. */
  #table(name: string): Buffer {
    const table = this.#font.referenceTable(name);
    if (table === undefined) throw new Error(`The font has no table ${name}.`);
    return Buffer.from(table);
  }

  #outlines(head: Buffer): (glyph: number) => Buffer {
    const isLong = head.readUInt16BE(50) === 1;
    const offsets = this.#table('loca');
    const outlines = this.#table('glyf');
    const position = (index: number) =>
      isLong ? offsets.readUInt32BE(4 * index) : 2 * offsets.readUInt16BE(2 * index);
    return (glyph) => outlines.subarray(position(glyph), position(glyph + 1));
  }
}

const empty = Buffer.alloc(0);

/** Returns an outline whose components have their numbers in the subset, padded to a multiple of four bytes. */
function withComponents(outline: Buffer, numberOf: (glyph: number) => number): Buffer {
  const padded = Buffer.alloc(Math.ceil(outline.length / 4) * 4);
  outline.copy(padded);
  const isComposite = outline.readInt16BE(0) < 0;
  let at = 10;
  for (let flags = isComposite ? moreComponents : 0; flags & moreComponents; ) {
    flags = outline.readUInt16BE(at);
    padded.writeUInt16BE(numberOf(outline.readUInt16BE(at + 2)), at + 2);
    at += flags & wordArguments ? 8 : 6;
    if (flags & hasScale) at += 2;
    else if (flags & hasTwoScales) at += 4;
    else if (flags & hasTransformation) at += 8;
  }
  return padded;
}

/** Returns a composite outline. */
function compose(
  parts: readonly Part[],
  scale: number,
  outlineOf: (glyph: number) => Buffer,
  numberOf: (glyph: number) => number,
): Buffer {
  const placed = parts.map(({ glyph, x, y }) => ({ glyph, x: Math.round(x * scale), y: Math.round(y * scale) }));
  const composed = Buffer.alloc(Math.ceil((10 + 8 * placed.length) / 4) * 4);
  const bound = (at: number, axis: 'x' | 'y', choose: (...values: number[]) => number) =>
    composed.writeInt16BE(choose(...placed.map((part) => outlineOf(part.glyph).readInt16BE(at) + part[axis])), at);
  composed.writeInt16BE(-1, 0);
  bound(2, 'x', Math.min);
  bound(4, 'y', Math.min);
  bound(6, 'x', Math.max);
  bound(8, 'y', Math.max);
  for (const [index, { glyph, x, y }] of placed.entries()) {
    const at = 10 + 8 * index;
    const more = index < placed.length - 1 ? moreComponents : 0;
    composed.writeUInt16BE(wordArguments | argumentsAreOffsets | more, at);
    composed.writeUInt16BE(numberOf(glyph), at + 2);
    composed.writeInt16BE(x, at + 4);
    composed.writeInt16BE(y, at + 6);
  }
  return composed;
}

/** Returns the file of a font with these tables. */
function fontOf(tables: readonly (readonly [string, Buffer])[]): Buffer {
  const sorted = tables.toSorted(([one], [other]) => (one < other ? -1 : 1));
  const directory = Buffer.alloc(12 + 16 * sorted.length);
  const largest = 2 ** Math.floor(Math.log2(sorted.length));
  directory.writeUInt32BE(0x00010000, 0);
  directory.writeUInt16BE(sorted.length, 4);
  directory.writeUInt16BE(largest * 16, 6);
  directory.writeUInt16BE(Math.log2(largest), 8);
  directory.writeUInt16BE((sorted.length - largest) * 16, 10);
  const parts = [directory];
  let offset = directory.length;
  for (const [index, [name, table]] of sorted.entries()) {
    const at = 12 + 16 * index;
    const padded = Buffer.alloc(Math.ceil(table.length / 4) * 4);
    table.copy(padded);
    let sum = 0;
    for (let position = 0; position < padded.length; position += 4) sum = (sum + padded.readUInt32BE(position)) >>> 0;
    directory.write(name, at, 'latin1');
    directory.writeUInt32BE(sum, at + 4);
    directory.writeUInt32BE(offset, at + 8);
    directory.writeUInt32BE(table.length, at + 12);
    parts.push(padded);
    offset += padded.length;
  }
  return Buffer.concat(parts);
}
