import { remembered } from '../json.ts';

const expressions = new Map<string, RegExp>();

/** Patterns that are no regular expressions of ECMA-262, and are not checked. */
export const skippedPatterns = new Set<string>();

/** What other flavors of regular expressions write otherwise: those of Ruby, Python, PCRE and POSIX. */
const flavors: readonly (readonly [RegExp, string])[] = [
  [/\\A/g, '^'],
  [/\\[zZ]/g, '$'],
  [/\(\?P</g, '(?<'],
  [/\[:alpha:\]/g, 'A-Za-z'],
  [/\[:digit:\]/g, '0-9'],
  [/\[:alnum:\]/g, 'A-Za-z0-9'],
  [/\[:upper:\]/g, 'A-Z'],
  [/\[:lower:\]/g, 'a-z'],
  [/\[:space:\]/g, '\\s'],
  [/\[:xdigit:\]/g, '0-9A-Fa-f'],
  [/\[:word:\]/g, '\\w'],
  [/\[:punct:\]/g, '!-\\/:-@\\[-`{-~'],
];

/** The pattern as the validator compiles it. One of another flavor is translated, and an invalid one matches everything. */
export function regularExpression(pattern: string): RegExp {
  return remembered(expressions, pattern, () => {
    const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
    const text = flavors.reduce((before, [other, own]) => before.replace(other, own), rest);
    // Unicode mode rejects some patterns that are in use, such as `\\@`.
    const found = compiled(text, `u${flags}`) ?? compiled(text, flags);
    if (found === undefined) skippedPatterns.add(pattern);
    return found ?? /(?:)/;
  });
}

function compiled(pattern: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return undefined;
  }
}
