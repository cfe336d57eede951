import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../document/document.ts';
import { type Candidate, candidateOf } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { escapeSegment, isObject } from '../json.ts';
import type { Success } from '../judge/judge.ts';
import { isOwnId } from './names.ts';

/** The first state that a tag was returned with. */
interface KnownTag {
  readonly tag: string;
  readonly value: unknown;
}

/** Limits that keep memory constant in long runs. */
const maxAddresses = 1000;
const longestResponse = 10_000;

/**
 * Strong ETags that were returned in this run. A strong ETag identifies exactly one state (RFC 9110, 8.8.1), no matter
 * which operation changed the resource.
 */
export class EtagRegistry {
  readonly #document: OpenApiDocument;
  readonly #known = new Map<string, KnownTag>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /**
   * Reports a response whose ETag was returned with another state before. Keeps the first state, so that a second
   * request can confirm the finding.
   */
  judge({ request, response }: Exchange, { operation, declared, value: whole }: Success): Candidate[] {
    const tag = response.headers.etag;
    if (request.method !== 'GET' || response.status !== 200) return [];
    // A query can embed other resources, which have their own ETags.
    if (request.url.includes('?') || !tag?.startsWith('"') || response.text.length > longestResponse) return [];
    const header = declared.headers.find(({ name }) => /^etag$/i.test(name));
    if (header === undefined) return [];
    const key = JSON.stringify([request.url, request.headers]);
    const value = ownOf(whole);
    const before = this.#known.get(key);
    if (before?.tag !== tag) {
      this.#known.delete(key);
      this.#known.set(key, { tag, value });
      const [oldest = key] = this.#known.keys();
      if (this.#known.size > maxAddresses) this.#known.delete(oldest);
      return [];
    }
    if (isDeepStrictEqual(before.value, value)) return [];
    return [
      candidateOf('etag-of-two', operation, '', {
        actual: `${tag}, although ${difference(before.value, value)}`,
        place: this.#document.placeOf(header.node),
      }),
    ];
  }
}

/** The value without embedded resources, which have their own ETags. */
function ownOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const isResource = (member: unknown) => isObject(member) && Object.keys(member).some(isOwnId);
  return Object.fromEntries(
    Object.entries(value).filter(
      ([, member]) => !isResource(member) && !(Array.isArray(member) && member.some(isResource)),
    ),
  );
}

/** Describes the first property that differs. */
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
