import type { Finding } from '../finding/finding.ts';
import type { ReceivedResponse } from '../http/call.ts';
import { at, isDeep } from '../json.ts';

/**
 * Escapes characters from the server that could control the terminal, hide text or change its direction; the result is
 * one line.
 */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g,
    (character) => (character === '\n' ? '↵' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** `4 ms`, `0.8 s`, `41 s`, `2 min 5 s`. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 100) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  return whole < 120 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

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
