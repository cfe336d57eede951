/** The description of a finding, in the order in which every format has it. */
import { isStream, itemsIn } from '../http/stream.ts';
import { at, exactly, isDeep, parsedJson } from '../json.ts';
import type { MaskedExchange, MaskedFinding } from './masked.ts';
import { placeText } from './texts.ts';

export interface Field {
  readonly label: string;
  readonly text: string;
  /** Whether the text is a command to copy. */
  readonly isCommand?: boolean;
  /** What is below the text: headers and the relevant part of the body. */
  readonly lines?: readonly string[];
}

export function fieldsOf(finding: MaskedFinding): Field[] {
  const { exchanges, setup, fix, also, places, place: contract, title, expected, actual } = finding;
  const different = places.slice(1).filter((place) => place.title !== title);
  const others = also.filter((id) => !different.some(({ operation }) => operation === id));
  const field = (label: string, text: string, isShown = true) => (isShown ? [{ label, text }] : []);
  return [
    // Many titles say what is expected, or what the server must do.
    ...field('expected', expected, !title.startsWith(expected)),
    ...field('actual', actual),
    ...(contract === undefined ? [] : field('contract', placeText(contract))),
    ...setup.map((text): Field => ({ label: 'first', text, isCommand: true })),
    ...exchanges.flatMap((exchange, index): Field[] => {
      const number = exchanges.length === 1 ? '' : ` ${index + 1}`;
      const isLast = index === exchanges.length - 1;
      const lines = isLast ? [...headersOf(finding, exchange), ...excerptOf(finding, exchange)] : [];
      return [
        { label: `request${number}`, text: exchange.curl, isCommand: true },
        { label: 'response', text: responseLine(exchange), lines },
      ];
    }),
    ...field('fix', fix, !title.startsWith(fix.replace(/\.$/, ''))),
    ...field('also in', others.join(', '), others.length > 0),
    ...different.flatMap((place) => field('same cause', `${place.operation}: ${place.title}`)),
  ];
}

/** `200 application/json`. */
function responseLine({ response: { status, headers } }: MaskedExchange): string {
  if (status === 0) return 'no response';
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';');
  return `${status} ${mediaType.trim().toLowerCase() || 'no media type'}`;
}

/** Headers that the checks examine, or that the finding mentions. */
function headersOf({ title, expected, actual }: MaskedFinding, { response }: MaskedExchange): string[] {
  const words = `${title} ${expected} ${actual}`.toLowerCase();
  const usual =
    /^(allow|location|etag|link|retry-after|www-authenticate|last-modified|idempotency-.*|x-total-.*|deprecation|sunset)$/;
  const isShown = (name: string) =>
    name === 'content-type' ? /content-type|media type/.test(words) : usual.test(name) || words.includes(name);
  return Object.entries(response.headers).flatMap(([name, value]) => (isShown(name) ? [`${name}: ${value}`] : []));
}

const maxLines = 10;
const maxLineLength = 160;

/** The part of a body that a finding is about, with its pointer, or the beginning of the body. A stream counts as a list of its items. */
function excerptOf({ pointer = '' }: MaskedFinding, { response }: MaskedExchange): string[] {
  const [mediaType = ''] = (response.headers['content-type'] ?? '').toLowerCase().split(/\s*;/);
  const json = isStream(mediaType) ? { value: itemsIn(response.body, mediaType) } : parsedJson(response.body);
  const body = json === undefined || isDeep(json.value) ? undefined : json.value;
  let place = pointer;
  // What is missing is missing in its parent.
  while (place !== '' && at(body, place) === undefined) place = place.slice(0, place.lastIndexOf('/'));
  const part = body === undefined ? response.body : JSON.stringify(at(body, place), exactly, 2);
  const lines = part === '' ? [] : `${place === '' ? '' : `${place}: `}${part}`.split('\n');
  const shown = lines.slice(0, maxLines).map((line) => {
    return line.length > maxLineLength ? `${line.slice(0, maxLineLength)}… (${line.length} characters)` : line;
  });
  return lines.length > maxLines ? [...shown, `… ${lines.length - maxLines} more lines`] : shown;
}
