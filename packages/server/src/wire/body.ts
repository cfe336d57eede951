import { contract } from '../contract/contract.ts';
import { escapePointer } from '../contract/pointer.ts';
import { type ErrorCode, Rejection } from '../contract/rejection.ts';
import { Unstorable } from '../contract/unstorable.ts';
import { put } from './body-transfer.ts';
import { findDuplicate, pointerAt, replaceEscapedNames, scanJson } from './json-scan.ts';

const limits = contract['x-json-limits'];

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a JSON body. All text is converted to Unicode normalization form C, so that equal words are equal bytes. Numbers
 * that JavaScript cannot represent exactly and properties named `__proto__` are replaced by an `Unstorable`.
 *
 * The limits of the contract are checked before the work that they limit, so that its time is linear.
 *
 * @param isOfLines whether `jsonBody` has made the body of lines, of which the one that is not JSON is named
 * @throws Rejection `MALFORMED_REQUEST` if the bytes are not UTF-8 or not JSON, if a text contains NUL or an unpaired
 * surrogate (neither can be stored), if an object has a name twice, or if a limit is exceeded.
 */
export function parseBody(bytes: Uint8Array, isOfLines = false): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('The body is not UTF-8.');
  }
  const { names, isPlain, hasEscapedName, hasLongName, mayBeInexact, excess } = scanJson(bytes);
  if (excess !== undefined) {
    const { code, detail, offset } = excess;
    throw malformed(detail, { pointer: pointerAt(bytes, offset), code, detail });
  }
  // Inspecting the source of each number is slow, and hardly any body requires it.
  const parse = (json: string): unknown => (mayBeInexact ? JSON.parse(json, keepExact) : JSON.parse(json));
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw malformed((isOfLines ? wrongLine(text) : undefined) ?? `The body is not valid JSON: ${reasonOf(error)}.`);
  }
  const replaced = hasEscapedName ? replaceEscapedNames(text) : undefined;
  if (replaced !== undefined) value = parse(replaced.json);
  // Pure ASCII without escapes is normalized and contains nothing to reject. Most bodies are, and need no copy.
  const isClean = isPlain && !hasEscapedName && !hasLongName && !text.includes('"__proto__"');
  const reader = new Reader(!isPlain, replaced?.names);
  const read = isClean ? value : reader.clean(value);
  // JSON.parse keeps the last of several properties with the same name.
  if ((isClean ? namesIn(value) : reader.names) !== names) throw duplicate(findDuplicate(text) ?? '');
  return read;
}

/** The number of property names in a value. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof Unstorable) return 0;
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let names = Array.isArray(value) ? 0 : items.length;
  for (const item of items) if (typeof item === 'object') names += namesIn(item);
  return names;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'it cannot be parsed';
}

/** Names the first line that is not JSON. All but the first that is not empty follow a comma. */
function wrongLine(text: string): string | undefined {
  let hasItem = false;
  for (const [index, line] of text.split('\n').slice(1, -1).entries()) {
    if (line.trim() === '') continue;
    try {
      JSON.parse(hasItem ? line.slice(1) : line);
      hasItem = true;
    } catch (error) {
      return `Line ${index + 1} is not valid JSON: ${reasonOf(error)}.`;
    }
  }
  return undefined;
}

function keepExact(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || source === undefined || isSameNumber(source, String(value))) return value;
  return new Unstorable('This number has more digits than can be stored exactly. Send it as a string.');
}

/** Whether two decimal numerals have the same value. */
function isSameNumber(left: string, right: string): boolean {
  const [one, other] = [partsOf(left), partsOf(right)];
  return (
    one.digits === other.digits && (one.digits === '' || one.exponent === other.exponent) && one.sign === other.sign
  );
}

/** The significant digits of a numeral, without zeros at either end, and the power of ten of the last one. */
function partsOf(numeral: string): { sign: string; digits: string; exponent: number } {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(numeral) ?? [];
  const digits = whole + fraction;
  let [start, end] = [0, digits.length];
  while (digits[start] === '0') start += 1;
  while (end > start && digits[end - 1] === '0') end -= 1;
  const significant = digits.slice(start, end);
  const power = Number(exponent) - fraction.length + (digits.length - end);
  return { sign: significant === '' ? '' : sign, digits: significant, exponent: power };
}

/** Texts without characters that could be a fault or be normalized. */
const plain = /^[\x20-\x7e]*$/;

/** Whether a value is a text that is clean as it is. */
export function isPlainText(value: unknown): boolean {
  return typeof value === 'string' && plain.test(value);
}

/** Rejects or normalizes a single text from a path or a query, like `parseBody`. */
export function cleanParameter(name: string, location: 'path' | 'query', text: string): string {
  if (plain.test(text)) return text;
  const fault = faultOf(text);
  if (fault === undefined) return text.normalize('NFC');
  throw new Rejection('MALFORMED_REQUEST', 'A parameter contains characters that are not allowed in text.', {
    errors: [{ in: location, pointer: `/${name}`, ...fault }],
  });
}

/** Reads a parsed body: its property names are counted and limited in length, and its texts are normalized. */
class Reader {
  readonly #cleans: boolean;
  readonly #names: ReadonlyMap<string, string> | undefined;
  readonly #path: (string | number)[] = [];
  names = 0;

  constructor(cleans: boolean, names: ReadonlyMap<string, string> | undefined) {
    this.#cleans = cleans;
    this.#names = names;
  }

  clean(value: unknown): unknown {
    if (typeof value === 'string') return this.#cleanText(value);
    if (typeof value !== 'object' || value === null || value instanceof Unstorable) return value;
    if (Array.isArray(value)) return value.map((item, index) => this.#at(index, () => this.clean(item)));
    const cleaned: Record<string, unknown> = {};
    for (const [name, item] of Object.entries(value)) {
      const key = this.#cleanText(this.#names?.get(name) ?? name);
      this.#at(key, () => {
        this.#count(key);
        if (Object.hasOwn(cleaned, key)) throw duplicate(this.#pointer());
        if (key === '__proto__') {
          this.clean(item);
          put(cleaned, key, new Unstorable('A property cannot be called __proto__.'));
        } else cleaned[key] = this.clean(item);
      });
    }
    return cleaned;
  }

  #at<Result>(step: string | number, work: () => Result): Result {
    this.#path.push(step);
    const result = work();
    this.#path.pop();
    return result;
  }

  #count(name: string): void {
    this.names += 1;
    if (name.length <= limits.nameLength) return;
    const detail = `The name of a property has more than ${limits.nameLength} characters.`;
    throw malformed(detail, { pointer: this.#pointer(), code: 'NAME_LENGTH', detail });
  }

  #cleanText(text: string): string {
    if (!this.#cleans) return text;
    const fault = faultOf(text);
    if (fault === undefined) return text.normalize('NFC');
    const detail = 'A string in the body contains characters that are not allowed in text.';
    throw malformed(detail, { pointer: this.#pointer(), ...fault });
  }

  #pointer(): string {
    return this.#path.map((step) => `/${escapePointer(String(step))}`).join('');
  }
}

function duplicate(pointer: string): Rejection {
  const detail = 'The object has several properties with this name. Names are compared in normalization form C.';
  return malformed('An object in the body has several properties with the same name.', {
    pointer,
    code: 'DUPLICATE_KEY',
    detail,
  });
}

/** Control characters and blanks, but not blanks alone, which are allowed where a text may be empty. */
const onlyControls = /^\s*(?!\s)[\p{Cc}\p{NChar}][\s\p{Cc}\p{NChar}]*$/u;

/** Normalization takes quadratic time in the number of combining marks in a row. All of them are in the category M. */
const tooManyMarks = new RegExp(`\\p{M}{${limits.combiningMarks + 1}}`, 'u');

export function faultOf(text: string): { readonly code: ErrorCode; readonly detail: string } | undefined {
  const character = (detail: string) => ({ code: 'CHARACTER', detail }) as const;
  if (text.includes('\0')) return character('NUL (U+0000) is not allowed in text.');
  // The embedded database interprets it as an encoding mark, and returns the text without it.
  if (text.startsWith('\uFEFF'))
    return character('A byte order mark (U+FEFF) is not allowed at the start of a string.');
  if (!text.isWellFormed()) return character('Unpaired surrogates are not allowed in text.');
  // XML cannot contain them: on an electronic invoice such a text would be empty.
  if (onlyControls.test(text)) return character('A text must not consist of control characters.');
  if (!tooManyMarks.test(text)) return undefined;
  const detail = `The text has more than ${limits.combiningMarks} combining marks in a row.`;
  return { code: 'COMBINING_MARKS', detail };
}

function malformed(detail: string, error?: { pointer: string; code: ErrorCode; detail: string }): Rejection {
  return new Rejection('MALFORMED_REQUEST', detail, error && { errors: [{ in: 'body', ...error }] });
}
