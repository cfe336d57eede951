import { BufferFlag, Direction, Buffer as ShapingBuffer, shape } from 'harfbuzzjs';
import { LRUCache } from 'lru-cache';
import type { Face } from './faces.ts';

/** A glyph of the font, at an offset. Lengths are thousandths of the font size. */
export interface Part {
  readonly glyph: number;
  readonly x: number;
  readonly y: number;
}

/** What shows a character, or several that are shown together, such as a letter with its accents. */
export interface Glyph {
  readonly parts: readonly Part[];
  readonly text: string;
  /** Its own width. */
  readonly width: number;
  /** The distance to the next glyph, with kerning. */
  readonly advance: number;
  readonly xOffset: number;
  readonly yOffset: number;
}

/** Glyphs from left to right. */
export interface GlyphRun {
  readonly glyphs: readonly Glyph[];
  readonly width: number;
}

/** Beyond these, a letter with its accents remains several glyphs: a font measures lengths with 16 bits. */
const maxParts = 12;
const widestGlyph = 8_000;

const buffer = new ShapingBuffer();

/** By their number of glyphs. Words are measured, and then set. */
const runs = new LRUCache<string, GlyphRun>({ maxSize: 50_000, sizeCalculation: ({ glyphs }) => glyphs.length + 1 });

/** Shapes a text in one face and one direction. A character that the face lacks becomes a box. */
export function shapeText(face: Face, text: string, isRightToLeft: boolean): GlyphRun {
  const key = `${face.name} ${isRightToLeft} ${text}`;
  let run = runs.get(key);
  if (run === undefined) {
    run = shapeAnew(face, text, isRightToLeft);
    runs.set(key, run);
  }
  return run;
}

function shapeAnew(face: Face, text: string, isRightToLeft: boolean): GlyphRun {
  const { font } = face.open();
  buffer.reset();
  buffer.addText(text);
  buffer.setDirection(isRightToLeft ? Direction.RTL : Direction.LTR);
  buffer.guessSegmentProperties();
  buffer.setFlags(BufferFlag.REMOVE_DEFAULT_IGNORABLES);
  shape(font, buffer);
  const positions = buffer.getGlyphPositions();
  const shaped = buffer.getGlyphInfos().map(({ codepoint, cluster }, index) => {
    const { xAdvance = 0, xOffset = 0, yOffset = 0 } = positions[index] ?? {};
    return { glyph: codepoint, cluster, xAdvance, xOffset, yOffset };
  });
  const clusters = Map.groupBy(shaped, ({ cluster }) => cluster);
  const starts = [...clusters.keys()].toSorted((one, other) => one - other);
  const ends = new Map(starts.map((start, index) => [start, starts[index + 1]]));
  const glyphs = [...clusters].flatMap(([start, items]): Glyph[] => {
    const shown = text.slice(start, ends.get(start));
    const single = items.map(({ glyph, xAdvance: advance, xOffset, yOffset }, index): Glyph => {
      const parts = [{ glyph, x: 0, y: 0 }];
      return {
        parts,
        text: index === 0 ? shown : '\u200b',
        width: font.glyphHAdvance(glyph),
        advance,
        xOffset,
        yOffset,
      };
    });
    const width = items.reduce((sum, { xAdvance }) => sum + xAdvance, 0);
    if (items.length === 1 || items.length > maxParts || width > widestGlyph) return single;
    let advance = 0;
    const parts = items.map(({ glyph, xAdvance, xOffset, yOffset }) => {
      const part = { glyph, x: advance + xOffset, y: yOffset };
      advance += xAdvance;
      return part;
    });
    return [{ parts, text: shown, width, advance: width, xOffset: 0, yOffset: 0 }];
  });
  return { glyphs, width: glyphs.reduce((sum, { advance }) => sum + advance, 0) };
}
