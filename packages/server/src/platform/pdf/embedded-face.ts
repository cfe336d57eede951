import type { Face } from './faces.ts';
import { FontSubset } from './font-subset.ts';
import type { Glyph, GlyphRun } from './shaping.ts';

/** From here on, a glyph is embedded once, whatever text it shows: PDFKit numbers the glyphs of a font with 16 bits. */
const maxTexts = 40_000;

/**
 * A face in one document, in the shape of a font of fontkit, which is what PDFKit reads. It sets glyphs that are shaped
 * already: `run` is what the next text consists of.
 */
export class EmbeddedFace {
  run: GlyphRun = { glyphs: [], width: 0 };
  readonly postscriptName: string;
  readonly unitsPerEm = 1000;
  readonly ascent: number;
  readonly descent: number;
  readonly lineGap = 0;
  readonly xHeight = 500;
  readonly capHeight = 700;
  readonly italicAngle = 0;
  readonly bbox: Readonly<Record<'minX' | 'minY' | 'maxX' | 'maxY', number>>;
  readonly post = { isFixedPitch: false };
  readonly head = { macStyle: { italic: false } };
  readonly #face: Face;

  constructor(face: Face) {
    this.#face = face;
    const { ascender, descender } = face.open().font.hExtents();
    this.postscriptName = face.name;
    this.ascent = ascender;
    this.descent = descender;
    this.bbox = { minX: -1000, minY: descender, maxX: 3000, maxY: ascender };
  }

  layout() {
    const { glyphs, width } = this.run;
    return {
      glyphs: glyphs.map((glyph) => ({
        id: glyph,
        advanceWidth: glyph.width,
        get codePoints() {
          return Array.from(glyph.text, (character) => character.codePointAt(0) ?? 0);
        },
      })),
      positions: glyphs.map(({ advance, xOffset, yOffset }) => ({ xAdvance: advance, yAdvance: 0, xOffset, yOffset })),
      advanceWidth: width,
    };
  }

  getGlyph(glyph: number) {
    return { id: glyph, advanceWidth: this.#face.open().font.glyphHAdvance(glyph) };
  }

  createSubset() {
    const subset = new FontSubset(this.#face.open().face);
    const numbers = new Map<string, number>();
    return {
      includeGlyph({ parts, text, width }: Glyph): number {
        const shape = parts.map(({ glyph, x, y }) => `${glyph} ${x} ${y}`).join();
        const key = numbers.size < maxTexts ? `${shape} ${width} ${text}` : `${shape} ${width}`;
        const number = numbers.get(key) ?? subset.add(parts, width);
        numbers.set(key, number);
        return number;
      },
      encode: () => subset.encode(),
    };
  }
}

declare global {
  namespace PDFKit.Mixins {
    interface PDFFont {
      /** It also reads any object that can lay out text as fontkit does. */
      font(src: EmbeddedFace, family: string, size: number): this;
    }
  }
}
