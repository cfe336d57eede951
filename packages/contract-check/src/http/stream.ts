import type { Readable } from 'node:stream';
import { objectOf, parsedJson } from '../json.ts';

/** Responses that consist of items and may not end: what comes within a bounded time is read, and judged item by item. */

/** In milliseconds, and in characters. */
const longest = 1000;
const largest = 256 * 1024;

const separators: Readonly<Record<string, RegExp>> = {
  'text/event-stream': /\r?\n\r?\n/,
  'application/x-ndjson': /\r?\n/,
  'application/ndjson': /\r?\n/,
  'application/jsonl': /\r?\n/,
  'application/x-jsonlines': /\r?\n/,
  'application/stream+json': /\r?\n/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a record separator (RFC 7464).
  'application/json-seq': /\x1e/,
};

export const isStream = (mediaType: string) => Object.hasOwn(separators, mediaType);

/** The items that arrive in time. An item that is not complete is left out. */
export async function beginningOf(body: Readable, mediaType: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let hasEnded = true;
  const stop = () => {
    hasEnded = false;
    body.destroy();
  };
  const timer = setTimeout(stop, longest);
  body.on('error', () => undefined);
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if (text.length > largest) stop();
    }
  } catch (error) {
    if (hasEnded) throw error;
  } finally {
    clearTimeout(timer);
  }
  const parts = text.split(separators[mediaType] ?? '');
  return hasEnded ? text : text.slice(0, text.length - (parts.at(-1)?.length ?? 0));
}

/** The items of a stream: JSON values, undefined for one that is not valid, or the fields of events. */
export function itemsIn(text: string, mediaType: string): unknown[] {
  const parts = text.split(separators[mediaType] ?? '').filter((part) => part.trim() !== '');
  if (mediaType !== 'text/event-stream') return parts.map((part) => parsedJson(part)?.value);
  // What has no data, such as a comment, is no event.
  return parts.filter((part) => /^data/m.test(part)).map(eventOf);
}

/** Lines of the same field are joined; a line that starts with a colon is a comment. */
function eventOf(part: string): unknown {
  const fields = new Map<string, string>();
  for (const line of part.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
    const before = fields.get(name);
    if (name !== '') fields.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return objectOf([...fields].map(([name, value]) => [name, name === 'retry' ? Number(value) : value]));
}
