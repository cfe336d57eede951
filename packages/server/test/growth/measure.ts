import type { Shape } from './shapes.ts';

export interface GrownRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

/** A request with one value of any length. */
export interface GrowthCase {
  readonly operation: string;
  /** Where the value is, such as `body /where/name/_eq`. */
  readonly place: string;
  readonly shape: Shape;
  /** Numbers of parts: the bounds of the contract, and up to the size limit. */
  sizes(): readonly number[];
  request(value: string): GrownRequest;
}

/** What is wrong with a case, in words. */
export interface GrowthFinding {
  readonly operation: string;
  readonly place: string;
  readonly shape: string;
  readonly problem: string;
}

export type Send = (request: GrownRequest) => Promise<{ readonly status: number; readonly text: string }>;

/** An input is this many times as long as the one that it is compared with. */
const growth = 16;
/** Between linear, 16, and quadratic, 256. */
const maxGrowth = 64;

export interface Thresholds {
  /** Processor time below which nothing is compared, in milliseconds. */
  readonly ignored: number;
  /** Processor time that no request may take, in milliseconds. */
  readonly most: number;
}

/**
 * Sends a request with a value of each size and one of a sixteenth of it, and compares the processor time of this process.
 * Another task, a garbage collection or a compilation can only add to it: the short request and a suspicious pair are repeated,
 * and the least times count.
 */
export async function findGrowth(
  { operation, place, shape: [shape, create], sizes, request }: GrowthCase,
  send: Send,
  { ignored, most }: Thresholds,
): Promise<GrowthFinding | undefined> {
  const found = (problem: string) => ({ operation, place, shape, problem });
  for (const size of sizes()) {
    const long = request(create(size));
    const first = await timed(long, send);
    if (first.status >= 500) return found(`n = ${size}: ${first.status} ${first.text.slice(0, 300)}`);
    if (first.status === 413 && first.text.includes('takes too long'))
      return found(`n = ${size}: the check was stopped`);
    if (first.time < ignored) continue;
    const short = request(create(Math.max(1, Math.round(size / growth))));
    if (first.time > 10 * most) return found(`n = ${size}: ${first.time.toFixed(0)} ms`);
    const times = { long: first.time, short: Number.POSITIVE_INFINITY };
    const isSuspicious = () => times.long >= ignored && (times.long > most || times.long > maxGrowth * times.short);
    // One short time that something else added to would hide a fault, and it costs little to repeat.
    for (let repeats = 0; repeats < 5; repeats++) times.short = Math.min(times.short, (await timed(short, send)).time);
    for (let repeats = 0; repeats < 3 && isSuspicious(); repeats++) {
      times.long = Math.min(times.long, (await timed(long, send)).time);
      times.short = Math.min(times.short, (await timed(short, send)).time);
    }
    if (isSuspicious())
      return found(`n = ${size}: ${times.long.toFixed(1)} ms, and ${times.short.toFixed(2)} ms for a sixteenth`);
  }
  return undefined;
}

async function timed(request: GrownRequest, send: Send) {
  const before = process.cpuUsage();
  const response = await send(request);
  const { user, system } = process.cpuUsage(before);
  return { ...response, time: (user + system) / 1000 };
}

/** The largest number of parts with which the input has at most this many bytes, and a sixteenth of it. */
export function sizesWithin(bytes: number, measure: (n: number) => number): number[] {
  const [one, many] = [measure(1), measure(257)];
  let most = Math.floor((bytes - one) / Math.max(1, (many - one) / 256)) + 1;
  // Numbered parts become longer.
  for (let length = measure(most); most > 1 && length > bytes; length = measure(most))
    most = Math.floor((most * bytes * 0.99) / length);
  return [Math.max(1, Math.floor(most / growth)), Math.max(1, most)];
}
