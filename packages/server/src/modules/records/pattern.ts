import { LRUCache } from 'lru-cache';
import { RE2JS, RE2JSException } from 're2js';

/**
 * Tenants define patterns, which run on the thread that serves all requests. RE2 guarantees a time proportional to the
 * length of the text, whatever the pattern. The size of the compiled pattern, and its product with the length of a text,
 * are limited too.
 */
const largestProgram = 300;
const mostSteps = 100_000;

/** A compiled pattern of a field. */
export interface Pattern {
  /** The maximum length of text to test, in characters. */
  readonly longestText: number;
  test(text: string): boolean;
}

const compiled = new LRUCache<string, Pattern | PatternFault>({ max: 2_000 });

/** The reason why a pattern is not supported, in a sentence. */
export class PatternFault {
  readonly detail: string;

  constructor(detail: string) {
    this.detail = detail;
  }
}

/** Compiles a pattern, or returns the reason why it is not supported. */
export function compilePattern(source: string): Pattern | PatternFault {
  let pattern = compiled.get(source);
  if (pattern === undefined) {
    pattern = compile(source);
    compiled.set(source, pattern);
  }
  return pattern;
}

function compile(source: string): Pattern | PatternFault {
  try {
    new RegExp(source);
  } catch {
    return new PatternFault('The pattern is not a regular expression (ECMA-262).');
  }
  let program: RE2JS;
  try {
    program = RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return new PatternFault(
      'The pattern cannot be matched in linear time, or repeats too much. Remove lookarounds, back references and large counts.',
    );
  }
  const size = program.programSize();
  if (size > largestProgram)
    return new PatternFault(
      'The pattern is too large. Use smaller counts, and limit the length with minLength and maxLength.',
    );
  return { longestText: Math.floor(mostSteps / size), test: (text) => program.test(text) };
}
