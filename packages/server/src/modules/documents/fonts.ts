import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { create } from 'fontkit';

/** A font of a document: the file, and its supported characters. */
export interface Face {
  readonly path: string;
  has(codePoint: number): boolean;
}

export type Weight = 'regular' | 'bold';

const require = createRequire(import.meta.url);
const dejavu = dirname(require.resolve('dejavu-fonts-ttf/package.json'));
const noto = dirname(require.resolve('@fontsource/noto-sans-sc/package.json'));

/** Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic and more. */
const main: Readonly<Record<Weight, Face>> = {
  regular: fileFace(join(dejavu, 'ttf/DejaVuSans.ttf')),
  bold: fileFace(join(dejavu, 'ttf/DejaVuSans-Bold.ttf')),
};

/** Chinese and Japanese, in many files of which a name requires one or two. */
const others = chineseFaces();

/** Returns the font for a character; if none supports it, the main one, which shows a box. */
export function faceFor(codePoint: number, weight: Weight): Face {
  const first = main[weight];
  if (first.has(codePoint)) return first;
  let face = otherFaces.get(codePoint);
  if (face === undefined) {
    face = others().find((one) => one.has(codePoint)) ?? null;
    otherFaces.set(codePoint, face);
  }
  return face ?? first;
}

/** The fonts of characters that the main one lacks; null if none supports them. */
const otherFaces = new Map<number, Face | null>();

function fileFace(path: string): Face {
  const known = once(() => {
    const font = create(readFileSync(path));
    if (!('characterSet' in font)) throw new Error(`${path} is a collection of fonts.`);
    return new Set(font.characterSet);
  });
  return { path, has: (codePoint) => known().has(codePoint) };
}

/** Each file of the package has some ranges of characters, which the package lists. */
function chineseFaces(): () => readonly Face[] {
  return once(() => {
    const ranges: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(noto, 'unicode.json'), 'utf8'));
    return Object.entries(ranges).map(([name, list]): Face => {
      const subset = name.replaceAll(/[[\]]/g, '');
      const parts = list.split(',').map((range) => {
        const [first = '', last = first] = range.replace('U+', '').split('-');
        return [Number.parseInt(first, 16), Number.parseInt(last, 16)] as const;
      });
      return {
        path: join(noto, `files/noto-sans-sc-${subset}-400-normal.woff`),
        has: (codePoint) => parts.some(([first, last]) => first <= codePoint && codePoint <= last),
      };
    });
  });
}

function once<Value>(make: () => Value): () => Value {
  let cached: { readonly value: Value } | undefined;
  return () => {
    cached ??= { value: make() };
    return cached.value;
  };
}
