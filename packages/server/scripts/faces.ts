/**
 * Writes the faces of documents, `src/platform/pdf/faces`, from the packages that `faces.json` names: the packages have 230 MB,
 * with each face in many weights and formats, of which documents use 15. To add or update a face, edit its package in `faces.json`,
 * and run this.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { Blob, Face, Font } from 'harfbuzzjs';
import type { FaceEntry } from '../src/platform/pdf/faces.ts';

const folder = fileURLToPath(new URL('../src/platform/pdf/faces/', import.meta.url));
const index = join(folder, 'faces.json');
const entries: readonly FaceEntry[] = JSON.parse(readFileSync(index, 'utf8'));
/** Characters without ink, in every font. */
const blank = /^[\s\p{Z}\p{Default_Ignorable_Code_Point}\p{Cc}\u2800]$/u;

const temporary = mkdtempSync(join(tmpdir(), 'faces-'));
try {
  const packages = [...entries.map((entry) => entry.package), 'woff2-encoder@2.0.0'];
  execFileSync('npm', ['install', '--no-save', '--ignore-scripts', '--prefix', temporary, ...new Set(packages)]);
  const woff2 = pathToFileURL(join(temporary, 'node_modules/woff2-encoder/dist/index.js')).href;
  const { decompress }: { decompress(bytes: Uint8Array): Promise<Uint8Array> } = await import(woff2);
  const written: FaceEntry[] = [];
  const notices = new Set<string>();
  for (const entry of entries) {
    const from = join(temporary, 'node_modules', entry.package.replace(/@[^@]+$/, ''));
    const bytes = readFileSync(join(from, entry.file));
    const content = entry.file.endsWith('.woff2') ? await decompress(bytes) : bytes;
    written.push({ ...entry, characters: rangesOf(charactersOf(content)) });
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
    writeFileSync(join(folder, `${entry.name}.ttf.br`), brotliCompressSync(content, { params: quality }));
    const license = ['LICENSE_FONT', 'LICENSE'].map((name) => join(from, name)).find(existsSync);
    const [notice = ''] = license === undefined ? [] : readFileSync(license, 'utf8').split('\n');
    if (/^Copyright/.test(notice)) notices.add(notice.trim());
  }
  const license = readFileSync(join(temporary, 'node_modules/@fontsource/noto-sans-arabic/LICENSE'), 'utf8');
  const [, ...terms] = license.split('\n');
  writeFileSync(join(folder, 'OFL.txt'), [...[...notices].toSorted(), ...terms].join('\n'));
  writeFileSync(index, `[\n${written.map((entry) => `  ${JSON.stringify(entry)}`).join(',\n')}\n]\n`);
  const names = new Set(entries.map(({ name }) => `${name}.ttf.br`));
  for (const file of readdirSync(folder)) if (file.endsWith('.br') && !names.has(file)) rmSync(join(folder, file));
} finally {
  rmSync(temporary, { recursive: true });
}

/** Returns the characters that a font shows. One that it has no ink for would be invisible. */
function charactersOf(content: Uint8Array): readonly number[] {
  const face = new Face(new Blob(content));
  const font = new Font(face);
  return [...face.collectUnicodes()]
    .filter((codePoint) => {
      if (blank.test(String.fromCodePoint(codePoint))) return true;
      const glyph = font.nominalGlyph(codePoint);
      const ink = glyph === undefined ? undefined : font.glyphExtents(glyph);
      return ink !== undefined && ink.width !== 0 && ink.height !== 0;
    })
    .toSorted((one, other) => one - other);
}

/** Writes sorted numbers as hexadecimal ranges, such as `41-5a,61`. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges
    .map(([from, to]) => (from === to ? [from] : [from, to]).map((one) => one.toString(16)).join('-'))
    .join();
}
