import { readFileSync } from 'node:fs';
import { extractText, getDocumentProxy } from 'unpdf';
import { describe, expect, test } from 'vitest';
import { sampleOf } from '../../../test/nightly.ts';
import { type Face, type FaceEntry, faces } from './faces.ts';
import { type Pages, renderPages } from './pages.ts';
import { shapeText } from './shaping.ts';
import { linesOf, runsOf } from './text-runs.ts';

/** The scripts of ISO 15924 that are in Unicode and that a font of the npm registry covers, and those that none covers. */
const scripts =
  `Adlm Ahom Arab Armn Avst Bali Bamu Beng Bopo Brah Brai Bugi Buhd Cans Cari Cham Cher Copt Cprt Cyrl Deva Dogr
  Dsrt Egyp Ethi Geor Glag Goth Gran Grek Gujr Guru Hang Hani Hano Hatr Hebr Hira Hmnp Hung Ital Java Kali Kana Kawi Khar Khmr
  Khoj Kits Knda Lana Laoo Latn Lepc Limb Lina Linb Lisu Lyci Lydi Maka Mani Marc Mend Miao Mlym Modi Mong Mtei Mymr Narb Newa
  Nkoo Nshu Ogam Olck Orkh Orya Osge Osma Ougr Pauc Perm Phnx Rjng Rohg Runr Samr Sarb Saur Sgnw Shaw Shrd Sidd Sind Sinh Sogo
  Sora Sund Sylo Syrc Tagb Tale Talu Taml Tang Tavt Telu Tfng Tglg Thaa Thai Tibt Tirh Tnsa Toto Vaii Wara Xpeo Xsux Yiii
  Zanb`.split(/\s+/);
const uncovered =
  `Aghb Armi Bass Batk Berf Bhks Cakm Chrs Cpmn Diak Dupl Elba Elym Gara Gong Gonm Gukh Hluw Hmng Krai Kthi Mahj Mand
  Medf Merc Mero Mroo Mult Nagm Nand Nbat Onao Palm Phag Phli Phlp Prti Sidt Sogd Soyo Sunu Takr Tayo Todr Tols Tutg Ugar Vith Wcho
  Yezi`.split(/\s+/);
const inkless = /^[\s\p{Z}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]$/u;
const about = { title: 'Test', author: 'Test', createdAt: '2026-01-01T00:00:00.000Z', reference: 'T', margin: 40 };

const everyCharacter = Array.from({ length: 0x11_0000 }, (_, codePoint) => codePoint)
  .filter((codePoint) => codePoint < 0xd800 || codePoint > 0xdfff)
  .map((codePoint) => String.fromCodePoint(codePoint));
const letters = everyCharacter.filter((character) => /\p{L}|\p{So}|\p{M}/u.test(character));
// One match of all letters takes a hundredth of a test of each.
const allLetters = letters.join('');
const lettersOf = (script: string) => allLetters.match(new RegExp(`\\p{sc=${script}}`, 'gu')) ?? [];
const entries: readonly FaceEntry[] = JSON.parse(readFileSync(new URL('faces/faces.json', import.meta.url), 'utf8'));
/** The characters of a face, as its entry lists them: asking the face for each that exists takes seconds. */
const charactersOf = ({ name }: Face) =>
  (entries.find((entry) => entry.name === name)?.characters ?? '').split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map((hexadecimal) => Number.parseInt(hexadecimal, 16));
    return Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index));
  });

/** Renders lines, and extracts the text of each page. */
async function render(set: (page: Pages) => void): Promise<string> {
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(await renderPages(about, set))));
  return text.join('\n');
}

/** Whether each character is shown by a glyph with ink. */
function isShown(face: Face, text: string): boolean {
  const { font } = face.open();
  const parts = shapeText(face, text, false).glyphs.flatMap((glyph) => glyph.parts);
  return parts.some(({ glyph }) => {
    const { width = 0, height = 0 } = font.glyphExtents(glyph) ?? {};
    return width !== 0 && height !== 0;
  });
}

describe('each face', () => {
  test.each(
    sampleOf(
      faces.regular.concat(faces.bold[0]).map((face) => [face.name, face] as const),
      6,
    ),
  )('%s can be read, and has ink for each of its characters', (_, face) => {
    const characters = charactersOf(face);
    expect(characters.filter((character) => !face.has(character.codePointAt(0) ?? 0))).toEqual([]);
    expect(characters.length).toBeGreaterThan(20);
    const { font } = face.open();
    const invisible = characters.filter((character) => {
      const glyph = font.nominalGlyph(character.codePointAt(0) ?? 0) ?? 0;
      const { width = 0, height = 0 } = font.glyphExtents(glyph) ?? {};
      return glyph === 0 || (!inkless.test(character) && (width === 0 || height === 0));
    });
    expect(invisible).toEqual([]);
  });
});

describe('each script', () => {
  test('has a face, or is known to have none', () => {
    const known = [...scripts, ...uncovered, 'Zyyy', 'Zinh'];
    const unknown = new RegExp(`^[${known.map((script) => `\\P{sc=${script}}`).join('&&')}]$`, 'v');
    expect(letters.filter((character) => unknown.test(character))).toEqual([]);
    const hasFace = (character: string) => faces.regular.some((face) => face.has(character.codePointAt(0) ?? 0));
    for (const script of uncovered) expect(lettersOf(script).some(hasFace)).toBe(false);
  });

  test('is shaped in both weights without boxes, and can be read again', async () => {
    const samples = sampleOf(scripts, 4).map((script) => {
      const shown = lettersOf(script).filter((one) => faces.regular.some((face) => face.has(one.codePointAt(0) ?? 0)));
      const step = Math.ceil(shown.length / 24);
      const sample = shown.filter((one, index) => index % step === 0 && !/\p{M}/u.test(one));
      const [accent = ''] = shown.filter((one) => /\p{M}/u.test(one));
      return [script, sample.map((one, index) => (index === 3 ? one + accent : one)).join(' ')] as const;
    });
    for (const [script, sample] of samples) {
      expect([script, sample.length > 10]).toEqual([script, true]);
      for (const weight of ['regular', 'bold'] as const)
        for (const { text, face, level } of runsOf(sample, weight)) {
          const { glyphs } = shapeText(face, text, level % 2 === 1);
          expect([script, glyphs.filter(({ parts }) => parts.some(({ glyph }) => glyph === 0))]).toEqual([script, []]);
        }
    }
    const text = await render((page) => {
      for (const [, sample] of samples) page.text(sample);
    });
    const found = new Set(text.normalize('NFKC'));
    for (const [script, sample] of samples) {
      const lost = [...sample.normalize('NFKC')].filter((one) => !found.has(one));
      expect([script, lost]).toEqual([script, []]);
    }
  });

  test.each([
    'राजेश शर्मा',
    'বাংলাদেশ কোম্পানি',
    'தமிழ் நிறுவனம்',
    'ไทย จำกัด',
    'ຄຳປະກາດ',
    'កម្ពុជា',
    'မြန်မာ',
    '한국 회사',
    '業師場結經',
    '東京都「株式会社」',
    'שרה בת (abc) יעקב',
    'Sara שרה (abc), בת יעקב 12.5',
    'محمد بن عبد الله (abc) 123 درهم',
    'ܣܘܪܝܝܐ',
    '𞴁𞴂 𞴃𞴄',
    'ኢትዮጵያ',
    'བོད་ཡིག',
    '👩‍👩‍👧 🇩🇪 👍🏽 ☎',
    'ﬁ office Ṩ x̂ Ω ₹ → ½',
  ])('as in %s can be found by readers', async (words) => {
    const text = await render((page) => page.text(`${words} Ltd`));
    const plain = (one: string) => one.normalize('NFKC').replaceAll(/\s+/g, '');
    expect(plain(text)).toContain(plain(words));
  });
});

describe('a character that no face has', () => {
  test.each(['\u{10d40}\u{10d41}', '\u{e000}', '\u{378}', '\u{1f9ff}\u{fe0f}\u{10ffff}', 'a\u{10d69}'])(
    'is shown as a box, and can be read again: %j',
    async (text) => {
      for (const weight of ['regular', 'bold'] as const)
        for (const run of runsOf(text, weight))
          for (const one of run.text) expect(inkless.test(one) || isShown(run.face, one)).toBe(true);
      const found = await render((page) => page.text(`Name ${text}.`));
      for (const one of text) if (!inkless.test(one)) expect(found).toContain(one);
    },
  );

  test('does not prevent a document, whatever the text', async () => {
    const sample = everyCharacter.filter((_, index) => index % 331 === 0);
    const texts = [
      '\ud800 \udc00',
      '\ufffe\uffff',
      '\u202e\u2066abc',
      `e${'\u0301'.repeat(500)}`,
      '',
      ' ',
      sample.join(''),
    ];
    const text = await render((page) => {
      for (const one of texts) for (const weight of ['regular', 'bold'] as const) page.text(one, { weight });
    });
    expect(text).toContain('Page 1 of');
  });
});

test('a text has the line breaks that it was written with, and at most one blank line', () => {
  const text = ' Return\r\n- Federal\u2028- State of Oregon\n\n \n\nThank you\n';
  const lines = linesOf(text, 9, (part) => part.length).map((line) => line.replaceAll('\u200e', ''));
  expect(lines).toEqual(['Return', '- Federal', '- State', 'of Oregon', '', 'Thank you']);
});

describe('a text from right to left', () => {
  const seen = (line: string) => runsOf(line, 'regular').map(({ text }) => text.replaceAll(/[\s\u200e\u200f]/g, ''));

  test('begins at the right, and ends at the left with its period', () => {
    expect(seen('ייעוץ (Form 1301) כולל.').join('|')).toBe('.|כולל|)|Form1301|(|ייעוץ');
    expect(seen('Advice (ייעוץ) for 2025.').at(-1)).toBe(')for2025.');
  });

  test('has one direction in all its lines, whatever they begin with', () => {
    const lines = linesOf('ייעוץ מס Form 1301 כולל. Advice in Hebrew: ייעוץ', 9, (part) => part.length);
    expect(lines.map((line) => line.replaceAll(/[\u200e\u200f]/g, ''))).toContain('Form 1301');
    for (const line of lines) expect(runsOf(`${line} א`, 'regular')[0]?.text).toContain('א');
    const others = linesOf('Advice in ייעוץ מס, English', 9, (part) => part.length);
    for (const line of others) expect(runsOf(`${line} z`, 'regular').at(-1)?.text).toContain('z');
  });
});
