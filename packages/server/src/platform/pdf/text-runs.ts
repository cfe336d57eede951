import { createRequire } from 'node:module';
import type { Bidi } from 'bidi-js';
import { LRUCache } from 'lru-cache';
import { type Face, type FontWeight, faces } from './faces.ts';

// Its type declarations describe the module for bundlers, which Node does not load.
const createBidi: () => Bidi = createRequire(import.meta.url)('bidi-js');
const bidi = createBidi();

/** A part of a line in one face and one direction. */
export interface TextRun {
  readonly text: string;
  readonly face: Face;
  /** The level of the bidirectional algorithm: odd for right to left. */
  readonly level: number;
  /** Where it starts in the line. */
  readonly start: number;
}

const segmenter = new Intl.Segmenter('en');
const words = new Intl.Segmenter('en', { granularity: 'word' });

/** Splits a line into runs in visual order, from left to right, whatever scripts it contains (UAX #9, rule L2). */
export function runsOf(line: string, weight: FontWeight): readonly TextRun[] {
  if (/^[\x20-\x7e]*$/.test(line))
    return line === '' ? [] : [{ text: line, face: faces[weight][0], level: 0, start: 0 }];
  const runs = logicalRuns(line, weight);
  const levels = runs.map(({ level }) => level);
  const lowestOdd = Math.min(...levels.filter((level) => level % 2 === 1), Number.POSITIVE_INFINITY);
  for (let level = Math.max(0, ...levels); level >= lowestOdd; level--) reverseFrom(runs, level);
  return runs;
}

function logicalRuns(line: string, weight: FontWeight): TextRun[] {
  const { levels } = bidi.getEmbeddingLevels(line);
  const runs: TextRun[] = [];
  const add = (run: TextRun) => {
    const last = runs.at(-1);
    if (last?.level === run.level && last.face === run.face)
      runs[runs.length - 1] = { ...last, text: last.text + run.text };
    else runs.push(run);
  };
  for (const { segment, index } of segmenter.segment(line)) {
    const level = levels[index] ?? 0;
    const last = runs.at(-1);
    // Readers take words from right to left for one text only if the spaces between them belong to it.
    const isWithin = segment === ' ' && level % 2 === 1 && last?.level === level && last.face.has(0x20);
    if (isWithin) add({ ...last, text: segment });
    else for (const [text, face] of facesOf(segment, weight, last?.face)) add({ text, face, level, start: index });
  }
  return runs;
}

const ignorable = /^\p{Default_Ignorable_Code_Point}$/u;
/** Characters that belong to the script of the preceding text, if its face has them. */
const shared = /^[\p{sc=Zyyy}\p{sc=Zinh}]+$/u;

/**
 * Returns the face of a character with its accents: one that has all of them, if any does. Accents, and punctuation of a
 * script, keep the face of the preceding text.
 */
function facesOf(segment: string, weight: FontWeight, last: Face | undefined): readonly (readonly [string, Face])[] {
  const [main] = faces[weight];
  const characters = [...segment].filter((character) => !ignorable.test(character));
  const hasAll = (face: Face) => characters.every((character) => face.has(character.codePointAt(0) ?? 0));
  const isShared = last !== undefined && shared.test(segment) && (/^\p{M}/u.test(segment) || !hasAll(main));
  if (last !== undefined && (characters.length === 0 || (isShared && hasAll(last)))) return [[segment, last]];
  const key = `${weight} ${segment}`;
  let found = known.get(key);
  if (found === undefined) {
    const face = faces[weight].find(hasAll);
    // No face has all of them: each is shown, those of no face as a box.
    found =
      face === undefined && characters.length > 1
        ? characters.flatMap((character) => facesOf(character, weight, undefined))
        : [[segment, face ?? main]];
    known.set(key, found);
  }
  return found;
}

/** The faces of characters that occurred lately, since there are 125 faces to look through. */
const known = new LRUCache<string, readonly (readonly [string, Face])[]>({ max: 5_000 });

/** Reverses each sequence of runs of this level or a higher one. */
function reverseFrom(runs: TextRun[], level: number): void {
  for (let start = 0; start < runs.length; start++) {
    let end = start;
    while ((runs[end]?.level ?? -1) >= level) end++;
    runs.splice(start, end - start, ...runs.slice(start, end).reverse());
    start = Math.max(start, end);
  }
}

/** The direction of a text is that of its first letter (UAX #9, rules P2 and P3). */
function isRightToLeft(text: string): boolean {
  return !/^[\x20-\x7e]*$/.test(text) && bidi.getEmbeddingLevels(text).paragraphs[0]?.level === 1;
}

/** Invisible letters, which give a line the direction of its text. */
const marks = { leftToRight: '\u200e', rightToLeft: '\u200f' };

/** A line break; more than one blank line is one, so that text cannot fill pages with nothing. */
const lineBreak = /\r\n?|[\n\v\f\u0085\u2028\u2029]/gu;

/** Breaks text into lines of a maximum width, between words if possible, and where it has line breaks. */
export function linesOf(text: string, width: number, widthOf: (part: string) => number): readonly string[] {
  const paragraphs = text
    .replaceAll(lineBreak, '\n')
    .replaceAll(/\n(?:\s*\n){2,}/g, '\n\n')
    .trim()
    .split('\n');
  return paragraphs.flatMap((paragraph) => paragraphLines(paragraph, width, widthOf));
}

function paragraphLines(text: string, width: number, widthOf: (part: string) => number): readonly string[] {
  const isReversed = isRightToLeft(text);
  const mark = isReversed ? marks.rightToLeft : marks.leftToRight;
  return brokenLines(text, width, widthOf).map((line) => (isRightToLeft(line) === isReversed ? line : mark + line));
}

function brokenLines(text: string, width: number, widthOf: (part: string) => number): readonly string[] {
  const lines: string[] = [];
  const whole = text.replaceAll(/\p{Cc}+/gu, ' ').trimEnd();
  // The widths of words do not add up to it exactly.
  if (widthOf(whole) <= width) return [whole];
  let line = '';
  let lineWidth = 0;
  const add = (part: string) => {
    line += part;
    lineWidth += widthOf(part);
  };
  const end = () => {
    lines.push(line.trimEnd());
    line = '';
    lineWidth = 0;
  };
  for (const word of wordsOf(text)) {
    const wordWidth = widthOf(word.trimEnd());
    if (line !== '' && lineWidth + wordWidth > width) end();
    if (wordWidth <= width) add(word);
    else {
      for (const { segment } of segmenter.segment(word)) {
        if (line !== '' && lineWidth + widthOf(segment.trimEnd()) > width) end();
        add(segment);
      }
    }
  }
  end();
  return lines;
}

/** Scripts without spaces between words. */
const unspaced = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;
/** What a line does not start with: closing punctuation, and marks of repetition. */
const continued = /^[\p{Pe}\p{Pf}\p{Po}\p{M}ーゝゞヽヾ々ๆ]/u;

/** Splits text into words with the following space. Control characters, including line breaks, count as spaces; others do not break. */
export function wordsOf(text: string): readonly string[] {
  const spaced = text.replaceAll(/\p{Cc}+/gu, ' ').match(/[\S\u00a0\u202f]+\s*|\s+/gu) ?? [];
  return spaced.flatMap((word) => {
    if (!unspaced.test(word)) return [word];
    const parts: string[] = [];
    for (const { segment } of words.segment(word)) {
      if (parts.length > 0 && (continued.test(segment) || /^\s/.test(segment)))
        parts.push((parts.pop() ?? '') + segment);
      else parts.push(segment);
    }
    return parts;
  });
}
