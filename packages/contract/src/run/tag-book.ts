import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../document/document.ts';
import type { Exchange } from '../http/call.ts';
import { escapeSegment, isDeep, isObject } from '../json.ts';
import { answerFor, type Candidate } from '../judge/judge.ts';
import { isOwnId } from './names.ts';

/** What a tag was seen with. */
interface Seen {
  readonly tag: string;
  readonly value: unknown;
}

/** Addresses that are remembered, and how long what they answer may be: a run of any length takes no more memory. */
const mostAddresses = 1000;
const longestAnswer = 10_000;

/**
 * The strong ETags of a run. One of them stands for one state and no other (RFC 9110, 8.8.1), whatever has changed it: an
 * operation on the thing itself or on what it counts.
 */
export class TagBook {
  readonly #document: OpenApiDocument;
  readonly #seen = new Map<string, Seen>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** The answer, where its tag stood for another state before. The first state is kept, so that a second look can confirm. */
  judge({ operation, request, answer }: Exchange): Candidate[] {
    const tag = answer.headers.etag;
    if (operation === undefined || request.method !== 'GET' || answer.status !== 200) return [];
    // What a query asks for beside the thing is another thing's.
    if (request.url.includes('?')) return [];
    if (!tag?.startsWith('"') || answer.json === undefined || answer.text.length > longestAnswer) return [];
    if (isDeep(answer.json.value)) return [];
    const header = answerFor(operation, answer.status)?.headers.find(({ name }) => /^etag$/i.test(name));
    if (header === undefined) return [];
    const key = JSON.stringify([request.url, request.headers]);
    const value = ownOf(answer.json.value);
    const before = this.#seen.get(key);
    if (before?.tag !== tag) {
      this.#seen.delete(key);
      this.#seen.set(key, { tag, value });
      const [oldest = key] = this.#seen.keys();
      if (this.#seen.size > mostAddresses) this.#seen.delete(oldest);
      return [];
    }
    if (isDeepStrictEqual(before.value, value)) return [];
    return [
      {
        check: 'etag-of-two',
        category: 'semantics',
        operation: operation.id,
        title: 'One ETag stands for two states',
        expected: `an ETag other than ${tag} for what has changed (RFC 9110, 8.8.1)`,
        actual: `${tag}, where ${difference(before.value, value)}`,
        place: this.#document.placeOf(header.node),
        fix: 'Give each state its own ETag, also where another operation brings the change.',
        cause: `etag-of-two ${operation.id}`,
      },
    ];
  }
}

/** A value without the things in it that have an id of their own: these have their own ETags. */
function ownOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const isThing = (member: unknown) => isObject(member) && Object.keys(member).some(isOwnId);
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => !isThing(member) && !(Array.isArray(member) && member.some(isThing))),
  );
}

/** The first member that differs, with what it was. */
function difference(before: unknown, after: unknown, pointer = ''): string {
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    for (const name of names)
      if (!isDeepStrictEqual(before[name], after[name]))
        return difference(before[name], after[name], `${pointer}/${escapeSegment(name)}`);
  }
  const text = (value: unknown) => JSON.stringify(value)?.slice(0, 60) ?? 'nothing';
  return `${pointer === '' ? 'the body' : pointer} was ${text(before)} and is ${text(after)}`;
}
