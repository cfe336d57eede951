import { LRUCache } from 'lru-cache';
import { RE2JS, RE2JSException } from 're2js';

/**
 * Patterns are the tenant's own and run on the one thread that serves everybody, so they run on RE2, whose time grows with
 * the text only in proportion, however the pattern is made. What remains is that proportion, the size of the compiled
 * pattern; both it and its product with the length of a text are bounded.
 */
const largestProgram = 300;
const mostSteps = 100_000;

/** A pattern of a field that can be tested. */
export interface Pattern {
  /** The longest text that it may be tested on, in characters. */
  readonly longestText: number;
  test(text: string): boolean;
}

const compiled = new LRUCache<string, Pattern | PatternFault>({ max: 2_000 });

/** Why a pattern cannot be taken, in a sentence. */
export class PatternFault {
  readonly detail: string;

  constructor(detail: string) {
    this.detail = detail;
  }
}

/** The pattern, ready to test; or what is wrong with it. */
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
