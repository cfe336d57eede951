import secureJsonParse from 'secure-json-parse';
import { Problem } from './problem.ts';

/** Deeper bodies than this exist only to exhaust a stack; the deepest honest one, a where clause, has about 40 levels. */
const maximumDepth = 100;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * A JSON body as a value. All text in it is in Unicode normal form C, so that equal words are equal bytes.
 *
 * @throws Problem `MALFORMED_REQUEST` where the bytes are not UTF-8 or not JSON, where a text holds NUL or half of a
 *   surrogate pair (neither can be stored), where a number is beyond all bounds, where a property is called `__proto__`, or where it is nested too deeply.
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
    value = secureJsonParse(text, null, { protoAction: 'error', constructorAction: 'ignore' });
  } catch (error) {
    throw malformed(`The body is not JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`);
  }
  // Pure ASCII without escapes is in normal form and holds nothing to refuse, and most bodies are just that.
  return cleanText(value, '', 0, needsCleaning(text));
}

/** Refuses or normalises a single text from a path or a query, as `parseBody` does. */
export function cleanParameter(name: string, place: 'path' | 'query', text: string): string {
  const fault = faultOf(text);
  if (fault === undefined) return text.normalize('NFC');
  throw new Problem('MALFORMED_REQUEST', 'A parameter holds a character that no text may hold.', {
    errors: [{ in: place, pointer: `/${name}`, code: 'CHARACTER', detail: fault }],
  });
}

function needsCleaning(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the range of ASCII that is meant.
  return /[^\x00-\x7f]|\\u/.test(text);
}

function cleanText(value: unknown, pointer: string, depth: number, clean: boolean): unknown {
  if (typeof value === 'string') return clean ? cleanOne(value, pointer) : value;
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
    throw malformed('A number of the body is too large to be one.', pointer, 'No number of this size can be read.');
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maximumDepth) throw malformed(`The body is nested more than ${maximumDepth} levels deep.`);
  if (Array.isArray(value)) return value.map((item, index) => cleanText(item, `${pointer}/${index}`, depth + 1, clean));
  const cleaned: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) {
    const key = clean ? cleanOne(name, pointer) : name;
    cleaned[key] = cleanText(item, `${pointer}/${escapePointer(key)}`, depth + 1, clean);
  }
  return cleaned;
}

function cleanOne(text: string, pointer: string): string {
  const fault = faultOf(text);
  if (fault === undefined) return text.normalize('NFC');
  throw malformed('A text of the body holds a character that no text may hold.', pointer, fault);
}

function faultOf(text: string): string | undefined {
  if (text.includes('\0')) return 'NUL (U+0000) is not allowed in text.';
  // The embedded database takes it for a mark of the encoding, and gives the text back without it.
  if (text.startsWith('\uFEFF')) return 'A byte order mark (U+FEFF) is not allowed at the beginning of a text.';
  if (!text.isWellFormed()) return 'Half of a surrogate pair is not a character.';
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
