/** The threads of `pattern.ts`: nothing else compiles a pattern that a tenant defined. */

import { parentPort } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { RE2JS, RE2JSException } from 're2js';
import type { PatternReport, PatternTask } from './pattern.ts';

/**
 * RE2 guarantees a time proportional to the length of the text, whatever the pattern. The size of the compiled pattern, and its
 * product with the length of a text, are limited too.
 */
const maxSize = 300;
const maxSteps = 100_000;

/** A compiled pattern, or the reason why it is not supported, in a sentence. */
type Compiled = { readonly program: RE2JS; readonly maxTextLength: number } | { readonly fault: string };

const compiled = new LRUCache<string, Compiled>({ max: 2_000, memoMethod: compile });

parentPort?.on('message', (tasks: readonly PatternTask[]) => parentPort?.postMessage(tasks.map(run)));
parentPort?.postMessage('ready');

function run({ pattern, texts }: PatternTask): PatternReport {
  const found = compiled.memo(pattern);
  if ('fault' in found) return found;
  const { program, maxTextLength } = found;
  const faultOf = (text: string) => {
    // Characters outside the basic plane are two code units each.
    if (text.length > maxTextLength && [...text.slice(0, 2 * maxTextLength + 1)].length > maxTextLength)
      return `The text must have at most ${maxTextLength} characters.`;
    return program.test(text) ? null : `The value must have the form ${pattern}.`;
  };
  return { maxTextLength, faults: texts.map(faultOf) };
}

function compile(pattern: string): Compiled {
  try {
    new RegExp(pattern);
  } catch {
    return { fault: 'The pattern is not a regular expression (ECMA-262).' };
  }
  let program: RE2JS;
  try {
    program = RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const detail =
      'The pattern cannot be matched in linear time, or repeats too much. Remove lookarounds, back references and large counts.';
    return { fault: detail };
  }
  const size = program.programSize();
  if (size > maxSize) {
    const detail = 'The pattern is too large. Use smaller counts, and limit the length with minLength and maxLength.';
    return { fault: detail };
  }
  return { program, maxTextLength: Math.floor(maxSteps / size) };
}
