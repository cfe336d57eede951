import { createRequire } from 'node:module';
import type { Bidi } from 'bidi-js';
import { type Face, faceFor, type Weight } from './fonts.ts';

// Its type declarations describe the module for bundlers, which Node does not load.
const createBidi: () => Bidi = createRequire(import.meta.url)('bidi-js');
const bidi = createBidi();

/** A part of a line in one font and one direction. */
export interface TextRun {
  readonly text: string;
  readonly face: Face;
  /** The level of the bidirectional algorithm: odd for right to left. */
  readonly level: number;
}

/** Splits a line into runs in visual order, from left to right, whatever scripts it contains (UAX #9, rule L2). */
export function runsOf(line: string, weight: Weight): readonly TextRun[] {
  const runs = logicalRuns(line, weight);
  const levels = runs.map(({ level }) => level);
  const lowestOdd = Math.min(...levels.filter((level) => level % 2 === 1), Number.POSITIVE_INFINITY);
  for (let level = Math.max(0, ...levels); level >= lowestOdd; level--) reverseFrom(runs, level);
  return runs;
}

function logicalRuns(line: string, weight: Weight): TextRun[] {
  const { levels } = bidi.getEmbeddingLevels(line, 'ltr');
  const runs: TextRun[] = [];
  let index = 0;
  for (const character of line) {
    const level = levels[index] ?? 0;
    index += character.length;
    const codePoint = character.codePointAt(0) ?? 0;
    const last = runs.at(-1);
    // Spaces and accents keep the font of the preceding character.
    const isContinued = last !== undefined && /^[\s\p{M}]$/u.test(character) && last.face.has(codePoint);
    const face = isContinued ? last.face : faceFor(codePoint, weight);
    if (last !== undefined && last.level === level && last.face === face)
      runs[runs.length - 1] = { ...last, text: last.text + character };
    else runs.push({ text: character, face, level });
  }
  return runs;
}

/** Reverses each sequence of runs of this level or a higher one. */
function reverseFrom(runs: TextRun[], level: number): void {
  for (let start = 0; start < runs.length; start++) {
    let end = start;
    while ((runs[end]?.level ?? -1) >= level) end++;
    runs.splice(start, end - start, ...runs.slice(start, end).reverse());
    start = Math.max(start, end);
  }
}

/** Breaks text into lines of a maximum width, between words if possible. */
export function linesOf(text: string, width: number, widthOf: (part: string) => number): readonly string[] {
  const lines: string[] = [];
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
      for (const { segment } of new Intl.Segmenter('en').segment(word)) {
        if (line !== '' && lineWidth + widthOf(segment.trimEnd()) > width) end();
        add(segment);
      }
    }
  }
  end();
  return lines;
}

/** Splits text into words with the following space. Control characters, including line breaks, count as spaces. */
function wordsOf(text: string): readonly string[] {
  return text.replaceAll(/\p{Cc}+/gu, ' ').match(/\S+\s*|\s+/gu) ?? [];
}
