import { contract } from '../contract/contract.ts';
import { escapePointer } from '../contract/pointer.ts';
import type { ErrorCode } from '../contract/rejection.ts';

const limits = contract['x-json-limits'];

/** What can be said of a JSON text before it is parsed. Of a text that is not JSON, it says nothing. */
export interface Scan {
  /** Names of properties, duplicate ones included. */
  readonly names: number;
  /** Whether all text is ASCII, without escapes of other characters. */
  readonly isPlain: boolean;
  /** Whether the name of a property is written with an escape, `"n\u0061me"`. */
  readonly hasEscapedName: boolean;
  /** Whether the name of a property has more bytes than it may have characters. */
  readonly hasLongName: boolean;
  /** Whether a number may have a value that a double cannot represent: up to 15 digits always fit. */
  readonly mayBeInexact: boolean;
  /** The first thing that exceeds a limit of the contract. */
  readonly excess: { readonly code: ErrorCode; readonly detail: string; readonly offset: number } | undefined;
}

/** Scans the bytes of a JSON text once. It stops where a limit of the contract is exceeded. */
export function scanJson(bytes: Uint8Array): Scan {
  const { length } = bytes;
  let [depth, values, names, high] = [0, 0, 0, 0];
  let [isEscaped, hasBackslash, hasEscapedName, hasLongName, mayBeInexact] = [false, false, false, false, false];
  let bytesOfText = 0;
  const result = (excess?: Scan['excess']): Scan => ({
    names,
    isPlain: high < 0x80 && !isEscaped,
    hasEscapedName,
    hasLongName,
    mayBeInexact,
    excess,
  });
  for (let at = 0; at < length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte <= space || byte === comma) continue;
    if (byte === colon) {
      names += 1;
      if (hasBackslash) hasEscapedName = true;
      if (bytesOfText > limits.nameLength) hasLongName = true;
      continue;
    }
    if (byte === closeObject || byte === closeArray) {
      depth -= 1;
      continue;
    }
    const start = at;
    if (byte === quote) {
      hasBackslash = false;
      for (at += 1; at < length; at++) {
        const inText = bytes[at] ?? 0;
        high |= inText;
        if (inText === quote) break;
        if (inText === backslash) {
          hasBackslash = true;
          at += 1;
          if (bytes[at] === letterU) isEscaped = true;
        }
      }
      bytesOfText = at - start - 1;
    } else if (byte === openObject || byte === openArray) {
      depth += 1;
      if (depth > limits.depth)
        return result({
          code: 'DEPTH',
          detail: `The body is nested more than ${limits.depth} levels deep.`,
          offset: at,
        });
    } else if (byte === minus || isDigit(byte)) {
      while (at + 1 < length && isInNumber(bytes[at + 1] ?? 0)) {
        at += 1;
        if ((bytes[at] ?? 0) >= letterE) mayBeInexact = true;
      }
      if (at - start >= 15) mayBeInexact = true;
      if (at - start >= limits.digits)
        return result({
          code: 'DIGITS',
          detail: `A number has more than ${limits.digits} digits. Send it as a string.`,
          offset: start,
        });
    } else high |= byte;
    values += 1;
    if (values > limits.values)
      return result({
        code: 'TOO_MANY_VALUES',
        detail: `The body has more than ${limits.values} values and property names. Split the request.`,
        offset: start,
      });
    // The rest of `true`, `false` and `null`.
    if (isLetter(byte)) while (isLetter(bytes[at + 1] ?? 0)) at += 1;
  }
  return result();
}

const codeOf = (character: string) => character.charCodeAt(0);
const [space, comma, colon, quote, backslash, minus] = [0x20, 0x2c, 0x3a, 0x22, 0x5c, 0x2d];
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d];
const letterU = codeOf('u');
/** The lower one, `E`: nothing else of a number is above it. */
const letterE = codeOf('E');

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isInNumber(byte: number): boolean {
  // Digits, `+`, `-`, `.`, `e`, `E`
  return isDigit(byte) || byte === 0x2b || byte === minus || byte === 0x2e || byte === 0x45 || byte === 0x65;
}

function isLetter(byte: number): boolean {
  return byte >= 0x61 && byte <= 0x7a;
}

/** Returns the JSON Pointer of the value that starts at an offset of a JSON text. What follows is not read. */
export function pointerAt(bytes: Uint8Array, offset: number): string {
  // Of each level, the index of its current item, and the start and end of its current name; -1 while there is none.
  const levels: { readonly isObject: boolean; index: number; start: number; end: number }[] = [];
  for (let at = 0; at < offset; at++) {
    const byte = bytes[at] ?? 0;
    const level = levels.at(-1);
    if (byte === quote) {
      const start = at;
      for (at += 1; at < offset && bytes[at] !== quote; at++) if (bytes[at] === backslash) at += 1;
      if (level?.isObject === true && level.start < 0) [level.start, level.end] = [start, at + 1];
    } else if (byte === openObject || byte === openArray)
      levels.push({ isObject: byte === openObject, index: 0, start: -1, end: -1 });
    else if (byte === closeObject || byte === closeArray) levels.pop();
    else if (byte === comma && level !== undefined) {
      level.index += 1;
      level.start = -1;
    }
  }
  const steps = levels.map(({ isObject, index, start, end }) => {
    if (!isObject) return `/${index}`;
    return `/${start < 0 ? '' : escapePointer(String(JSON.parse(utf8.decode(bytes.subarray(start, end)))))}`;
  });
  return steps.join('');
}

const strings = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/gs;

/**
 * Replaces the names of a JSON text that are written with an escape, and returns the name that each replacement is for.
 *
 * V8 can take such a name for one that another text had before (https://github.com/nodejs/node/issues/63785), so a request
 * would change what the next one says. No text has the replacements, as they begin with half of a character.
 */
export function replaceEscapedNames(json: string): { json: string; names: ReadonlyMap<string, string> } {
  const names = new Map<string, string>();
  const replaced = json.replace(strings, (whole, text: string, colon: string | undefined) => {
    if (colon === undefined || !text.includes('\\')) return whole;
    const replacement = `\ud800${names.size}`;
    names.set(replacement, JSON.parse(text));
    return `"${replacement}"${colon}`;
  });
  return { json: replaced, names };
}

const utf8 = new TextDecoder();
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/gs;

/** Returns the JSON Pointer of the first property of a JSON text whose name its object already has, if there is one. */
export function findDuplicate(json: string): string | undefined {
  const levels: { readonly names: Set<string> | undefined; name: string | undefined; index: number }[] = [];
  for (const [token] of json.matchAll(tokens)) {
    const level = levels.at(-1);
    if (token === '{') levels.push({ names: new Set(), name: undefined, index: 0 });
    else if (token === '[') levels.push({ names: undefined, name: undefined, index: 0 });
    else if (token === '}' || token === ']') levels.pop();
    else if (level === undefined) continue;
    else if (token === ',') {
      level.index += 1;
      level.name = undefined;
    } else if (level.names !== undefined && level.name === undefined) {
      level.name = token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1);
      if (level.names.has(level.name))
        return levels.map(({ name, index }) => `/${name === undefined ? index : escapePointer(name)}`).join('');
      level.names.add(level.name);
    }
  }
  return undefined;
}
