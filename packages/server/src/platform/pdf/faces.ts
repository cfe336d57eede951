import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { Blob, Font, Face as FontFace } from 'harfbuzzjs';
import { sourceFile } from '../source-file.ts';

/** A face in `faces/faces.json`. `scripts/faces.ts` writes its file, and the characters. */
export interface FaceEntry {
  readonly name: string;
  /** The npm package that it comes from, with the version, and the file there. */
  readonly package: string;
  readonly file: string;
  /** The characters that it shows, as hexadecimal ranges. */
  readonly characters: string;
}

export type FontWeight = 'regular' | 'bold';

/** A font in HarfBuzz, whose unit is a thousandth of the font size, as in a PDF. */
export interface OpenFont {
  readonly face: FontFace;
  readonly font: Font;
}

/** By name. The file of a font is read when a text requires it, and then stays in memory: all of them have 55 MB. */
const open = new Map<string, OpenFont>();

function openFont(name: string): OpenFont {
  const file = sourceFile(`platform/pdf/faces/${name}.ttf.br`);
  const face = new FontFace(new Blob(brotliDecompressSync(readFileSync(file))));
  const font = new Font(face);
  font.setScale(1000, 1000);
  return { face, font };
}

/** A typeface in one weight. */
export class Face {
  /** Unique among all faces. */
  readonly name: string;
  /** Whether its glyphs are drawn bold, because the font is regular. */
  readonly isEmboldened: boolean;
  readonly #entry: FaceEntry;
  /** The first and the last character of each range, in order. */
  readonly #ranges: Uint32Array;

  constructor(entry: FaceEntry, isEmboldened: boolean) {
    this.name = isEmboldened ? `${entry.name}-emboldened` : entry.name;
    this.isEmboldened = isEmboldened;
    this.#entry = entry;
    this.#ranges = Uint32Array.from(
      entry.characters.split(',').flatMap((range) => {
        const [first = '', last = first] = range.split('-');
        return [Number.parseInt(first, 16), Number.parseInt(last, 16)];
      }),
    );
  }

  has(codePoint: number): boolean {
    let low = 0;
    let high = this.#ranges.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ranges[2 * middle + 1] ?? 0) < codePoint) low = middle + 1;
      else high = middle;
    }
    return (this.#ranges[2 * low] ?? Number.POSITIVE_INFINITY) <= codePoint;
  }

  open(): OpenFont {
    return open.getOrInsertComputed(this.#entry.name, openFont);
  }
}

const entries: readonly FaceEntry[] = JSON.parse(readFileSync(sourceFile('platform/pdf/faces/faces.json'), 'utf8'));
const mainNames: Readonly<Record<FontWeight, string>> = { regular: 'noto-sans', bold: 'noto-sans-bold' };
const others = entries.filter(({ name }) => !Object.values(mainNames).includes(name));

/** The faces of each weight, in the order of preference. The first one has a box for characters that none of them has. */
export const faces: Readonly<Record<FontWeight, readonly [Face, ...Face[]]>> = {
  regular: facesOf('regular'),
  bold: facesOf('bold'),
};

function facesOf(weight: FontWeight): readonly [Face, ...Face[]] {
  const main = entries.find(({ name }) => name === mainNames[weight]);
  if (main === undefined) throw new Error(`faces.json has no ${mainNames[weight]}.`);
  return [new Face(main, false), ...others.map((entry) => new Face(entry, weight === 'bold'))];
}
