import { contract } from '../contract/contract.ts';
import { escapePointer } from './pointer.ts';

const limits = contract['x-json-limits'];

/** What can be said of a JSON text before it is parsed. Of a text that is not JSON, it says nothing. */
export interface Scan {
  /** Names of properties, duplicate ones included. */
  readonly names: number;
  /** Whether all text is ASCII, without escapes of other characters. */
  readonly isPlain: boolean;
  /** Whether a number may have a value that a double cannot represent: up to 15 digits always fit. */
  readonly mayBeInexact: boolean;
  /** The first thing that exceeds a limit of the contract. */
  readonly excess: { readonly code: string; readonly detail: string; readonly offset: number } | undefined;
}

/** Scans the bytes of a JSON text once. It stops where a limit of the contract is exceeded. */
export function scanJson(bytes: Uint8Array): Scan {
  const { length } = bytes;
  let [depth, values, names, high] = [0, 0, 0, 0];
  let [isEscaped, mayBeInexact] = [false, false];
  const result = (excess?: Scan['excess']): Scan => ({
    names,
    isPlain: high < 0x80 && !isEscaped,
    mayBeInexact,
    excess,
  });
  for (let at = 0; at < length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte <= space || byte === comma) continue;
    if (byte === colon) {
      names += 1;
      continue;
    }
    if (byte === closeObject || byte === closeArray) {
      depth -= 1;
      continue;
    }
    const start = at;
    if (byte === quote) {
      for (at += 1; at < length; at++) {
        const inText = bytes[at] ?? 0;
        high |= inText;
        if (inText === quote) break;
        if (inText === backslash) {
          at += 1;
          if (bytes[at] === letterU) isEscaped = true;
        }
      }
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

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/**
 * Returns the JSON Pointer of the first property whose name its object already has, or of the end of the text if there is
 * none. It is slow and only serves to point at what was found to be wrong.
 *
 * @param json valid JSON, or the start of it, up to a value.
 */
export function duplicateOrEnd(json: string): string {
  const levels: { names?: Set<string>; name?: string | undefined; index: number }[] = [];
  const pointer = () =>
    levels.map(({ names, name, index }) => `/${names === undefined ? index : escapePointer(name ?? '')}`).join('');
  for (const [token] of json.matchAll(tokens)) {
    const level = levels.at(-1);
    if (token === '{') levels.push({ names: new Set(), index: 0 });
    else if (token === '[') levels.push({ index: 0 });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' && level !== undefined) {
      level.index += 1;
      level.name = undefined;
    } else if (level?.names !== undefined && level.name === undefined && token.startsWith('"')) {
      const name = String(JSON.parse(token));
      level.name = name;
      if (level.names.has(name)) return pointer();
      level.names.add(name);
    }
  }
  return pointer();
}
