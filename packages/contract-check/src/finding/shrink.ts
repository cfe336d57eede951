import fc from 'fast-check';
import type { Call, Exchange } from '../http/call.ts';
import { at, pointersTo, propertiesIn, put, removed } from '../json.ts';

/** Maximum total size of the smaller calls to consider, sent or not. It limits the time for large calls. */
const maxVisited = 150_000;

/** Maximum depth in a call at which single parts are removed. */
const deepest = 6;

export interface Shrinking {
  /** Whether the smaller call has the same violations as the original one: a valid call must stay valid. */
  isLike(smaller: Call): boolean;
  /** Sends the call; returns the exchange if it still shows the finding. */
  shows(smaller: Call): Promise<Exchange | undefined>;
  /** Maximum number of calls to send. */
  readonly tries: number;
}

/**
 * Reduces a call that shows a finding: removes unnecessary parts, then shortens lists, texts and numbers with
 * fast-check.
 *
 * @returns the exchange of the smallest call; undefined if no smaller call shows the finding.
 */
export async function shrink(call: Call, { isLike, shows, tries }: Shrinking): Promise<Exchange | undefined> {
  let left = tries;
  let remaining = maxVisited;
  let smallest = call;
  let shown: Exchange | undefined;
  let isSmaller = call.raw === undefined;
  const visited = new Set([keyOf(call)]);
  while (isSmaller) {
    isSmaller = false;
    for (const smaller of smallerThan(smallest)) {
      const key = keyOf(smaller);
      if (visited.has(key)) continue;
      visited.add(key);
      remaining -= key.length;
      if (left === 0 || remaining < 0) return shown;
      if (!isLike(smaller)) continue;
      left -= 1;
      const exchange = await shows(smaller);
      if (exchange === undefined) continue;
      [smallest, shown, isSmaller] = [smaller, exchange, true];
      break;
    }
  }
  return shown;
}

function keyOf({ path, query, headers, cookies, body }: Call): string {
  return JSON.stringify([path, query, headers, cookies, body]);
}

/** Smaller calls, smallest first. */
function* smallerThan(call: Call): Iterable<Call> {
  const { query, headers, cookies, body } = call;
  const whole = { query, headers, cookies, body };
  const members = propertiesIn(whole, deepest, false).filter((pointer) => pointer.lastIndexOf('/') > 0);
  for (const kept of subarrays(members, 0)) {
    const gone = members.filter((pointer) => !kept.includes(pointer));
    // Nested parts are removed together with their parent.
    yield { ...call, ...(gone.reduce(removed, whole as unknown) as typeof whole) };
  }
  for (const pointer of pointersTo(whole, Array.isArray))
    for (const items of subarrays(at(whole, pointer) as unknown[], 1))
      yield { ...call, ...(put(whole, pointer, items) as typeof whole) };
  for (const pointer of pointersTo(whole, (value) => ['string', 'number'].includes(typeof value)))
    for (const scalar of smallerScalars(at(whole, pointer), pointer.startsWith('/body/')))
      yield { ...call, ...(put(whole, pointer, scalar) as typeof whole) };
}

function* subarrays<T>(items: readonly T[], minLength: number): Iterable<T[]> {
  if (items.length <= minLength) return;
  for (const { value } of fc.subarray([...items], { minLength }).shrink([...items], undefined)) yield value;
}

/** A few smaller values from fast-check. */
function* smallerScalars(value: unknown, isBody: boolean): Iterable<unknown> {
  const most = 6;
  // Outside a body, not every character can be sent, and surrounding spaces are lost.
  const texts = fc.string({ unit: isBody ? 'binary' : 'grapheme-ascii', minLength: isBody ? 0 : 1 });
  // fast-check throws for texts that this arbitrary cannot generate.
  if (typeof value === 'string' && value.length > 1 && texts.canShrinkWithoutContext(value))
    for (const { value: text } of texts.shrink(value, undefined).take(most))
      if (isBody || text.trim() === text) yield text;
  if (typeof value === 'number' && Number.isSafeInteger(value))
    for (const one of fc.maxSafeInteger().shrink(value, undefined).take(most)) yield one.value;
}
