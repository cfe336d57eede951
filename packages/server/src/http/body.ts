import { Problem } from './problem.ts';

/** Deeper bodies only serve to exhaust the stack; the deepest legitimate one, a where clause, has about 40 levels. */
const maximumDepth = 100;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Placeholder in a body for a value that cannot be stored exactly as sent. It matches no schema of the contract; where a
 * schema accepts any JSON, `findUnstorable` detects it, so that one record fails and not the whole request.
 */
export class Unstorable {
  readonly detail: string;

  constructor(detail: string) {
    this.detail = detail;
  }

  /** Throws, because storing a different value than the one sent would be worse. */
  toJSON(): never {
    throw new Error(`A value that cannot be stored was not rejected: ${this.detail}`);
  }
}

/** Returns the first value that cannot be stored, with its JSON Pointer. */
export function findUnstorable(value: unknown, pointer = ''): { pointer: string; detail: string } | undefined {
  if (value instanceof Unstorable) return { pointer, detail: value.detail };
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, item] of Object.entries(value)) {
    const found = findUnstorable(item, `${pointer}/${escapePointer(name)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Parses a JSON body. All text is converted to Unicode normalization form C, so that equal words are equal bytes. Numbers
 * that JavaScript cannot represent exactly and properties named `__proto__` are replaced by an `Unstorable`.
 *
 * @throws Problem `MALFORMED_REQUEST` if the bytes are not UTF-8 or not JSON, if a text contains NUL or an unpaired
 * surrogate (neither can be stored), or if it is nested too deeply.
 */
export function parseBody(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('The body is not UTF-8.');
  }
  let value: unknown;
  try {
    // Inspecting the source of each number is slow, and hardly any body requires it.
    value = mayHaveInexactNumber.test(text) ? JSON.parse(text, keepExact) : JSON.parse(text);
  } catch (error) {
    throw malformed(`The body is not valid JSON: ${error instanceof Error ? error.message : 'it cannot be parsed'}.`);
  }
  // Pure ASCII without escapes is normalized and contains nothing to reject. Most bodies are, and need no copy.
  const isPlain = !needsCleaning(text);
  if (!isPlain || text.includes('"__proto__"')) return cleanText(value, '', 0, !isPlain);
  checkDepth(value, 0);
  return value;
}

/** Up to 15 digits always fit a double; more digits, or an exponent, may not. */
const mayHaveInexactNumber = /\d(?:\.?\d){15}|\d[eE]/;

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
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return { sign: significant === '' ? '' : sign, digits: significant, exponent: power };
}

/** Rejects or normalizes a single text from a path or a query, like `parseBody`. */
export function cleanParameter(name: string, place: 'path' | 'query', text: string): string {
  const fault = faultOf(text);
  if (fault === undefined) return text.normalize('NFC');
  throw new Problem('MALFORMED_REQUEST', 'A parameter contains a character that is not allowed in text.', {
    errors: [{ in: place, pointer: `/${name}`, code: 'CHARACTER', detail: fault }],
  });
}

function needsCleaning(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the range of ASCII that is meant.
  return /[^\x00-\x7f]|\\u/.test(text);
}

function cleanText(value: unknown, pointer: string, depth: number, clean: boolean): unknown {
  if (typeof value === 'string') return clean ? cleanOne(value, pointer) : value;
  if (typeof value !== 'object' || value === null || value instanceof Unstorable) return value;
  if (depth >= maximumDepth) throw tooDeep();
  if (Array.isArray(value)) return value.map((item, index) => cleanText(item, `${pointer}/${index}`, depth + 1, clean));
  const cleaned: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) {
    const key = clean ? cleanOne(name, pointer) : name;
    // An assignment would set the prototype.
    if (key === '__proto__') defineProperty(cleaned, key, new Unstorable('A property cannot be called __proto__.'));
    else cleaned[key] = cleanText(item, `${pointer}/${escapePointer(key)}`, depth + 1, clean);
  }
  return cleaned;
}

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null || value instanceof Unstorable) return;
  if (depth >= maximumDepth) throw tooDeep();
  if (Array.isArray(value)) for (const item of value) checkDepth(item, depth + 1);
  else for (const name in value) checkDepth(Reflect.get(value, name), depth + 1);
}

function tooDeep(): Problem {
  return malformed(`The body is nested more than ${maximumDepth} levels deep.`);
}

function defineProperty(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function cleanOne(text: string, pointer: string): string {
  const fault = faultOf(text);
  if (fault === undefined) return text.normalize('NFC');
  throw malformed('A string in the body contains a character that is not allowed in text.', pointer, fault);
}

function faultOf(text: string): string | undefined {
  if (text.includes('\0')) return 'NUL (U+0000) is not allowed in text.';
  // The embedded database interprets it as an encoding mark, and returns the text without it.
  if (text.startsWith('\uFEFF')) return 'A byte order mark (U+FEFF) is not allowed at the start of a string.';
  if (!text.isWellFormed()) return 'Unpaired surrogates are not allowed in text.';
  return undefined;
}

function malformed(detail: string, pointer?: string, fault?: string): Problem {
  return new Problem('MALFORMED_REQUEST', detail, {
    ...(pointer === undefined || fault === undefined
      ? {}
      : { errors: [{ in: 'body' as const, pointer, code: 'CHARACTER', detail: fault }] }),
  });
}

/** One segment of a JSON Pointer (RFC 6901). */
export function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}
