import type { Finding } from '../finding/finding.ts';
import type { ReceivedResponse } from '../http/call.ts';
import { at, isDeep } from '../json.ts';

/** What decides which part of a response is relevant. */
type About = Pick<Finding, 'title' | 'expected' | 'actual' | 'pointer'>;

const maxLines = 10;
const longestLine = 160;

/** The part of a body that a finding is about, with its pointer, or the beginning of the body. */
export function excerptOf({ pointer = '' }: About, { text, json }: Pick<ReceivedResponse, 'text' | 'json'>): string[] {
  const body = json === undefined || isDeep(json.value) ? undefined : json.value;
  let place = pointer;
  // What is missing is missing in its parent.
  while (place !== '' && at(body, place) === undefined) place = place.slice(0, place.lastIndexOf('/'));
  const part = body === undefined ? text : JSON.stringify(at(body, place), null, 2);
  const lines = part === '' ? [] : `${place === '' ? '' : `${place}: `}${part}`.split('\n');
  const shown = lines.slice(0, maxLines).map((line) => {
    return line.length > longestLine ? `${line.slice(0, longestLine)}… (${line.length} characters)` : line;
  });
  return lines.length > maxLines ? [...shown, `… ${lines.length - maxLines} more lines`] : shown;
}

/** Headers that the checks examine, or that the finding mentions. */
export function headersOf({ title, expected, actual }: About, { headers }: ReceivedResponse): string[] {
  const words = `${title} ${expected} ${actual}`.toLowerCase();
  const usual =
    /^(allow|location|etag|link|retry-after|www-authenticate|last-modified|idempotency-.*|x-total-.*|deprecation|sunset)$/;
  const isShown = (name: string) =>
    name === 'content-type' ? /content-type|media type/.test(words) : usual.test(name) || words.includes(name);
  return Object.entries(headers).flatMap(([name, value]) => (isShown(name) ? [`${name}: ${value}`] : []));
}
