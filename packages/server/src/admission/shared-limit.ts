import { LRUCache } from 'lru-cache';
import type { Counters } from '../platform/counters.ts';

/** The result of a request for one point. */
export interface Taken {
  readonly isAllowed: boolean;
  /** Points that are left, as far as this process knows. */
  readonly remaining: number;
  /** Milliseconds until the window ends. */
  readonly msBeforeNext: number;
}

/** Points of one key in its present window. */
interface Entry {
  /** Points that this process has reserved and not used. */
  reserved: number;
  /** Points that this process has used, and those that it used in the window before. */
  used: number;
  readonly usedBefore: number;
  /** Points that nobody had reserved when this process last did. */
  unreserved: number;
  isExhausted: boolean;
  /** When the window ends, on the clock of the limit. */
  until: number;
  reserving: Promise<void> | undefined;
}

/** More keys than this indicate an attack, and the oldest are dropped. */
const maxKeys = 100_000;
/** Shares of the limit, of what is left of it, and of what a process uses itself, that it reserves at a time at most. */
const shareOfLimit = 1 / 20;
const shareOfRest = 1 / 8;
const shareOfUse = 1;

/**
 * Limits what all processes do together in a window of time. A process reserves several points with one call, and uses them
 * without another; when nothing is left, it rejects everything until the window ends. Reservations grow with what the process
 * uses, and get smaller as the limit is approached, so that little is left unused by one process while another rejects. Small
 * limits are counted one by one.
 */
export class SharedLimit {
  readonly #counters: Counters;
  readonly #name: string;
  readonly #points: number;
  readonly #seconds: number;
  readonly #clock: { now(): number };
  readonly #entries: LRUCache<string, Entry>;

  /** @param clock a monotonic clock in milliseconds. */
  constructor(
    counters: Counters,
    { name, points, seconds }: { readonly name: string; readonly points: number; readonly seconds: number },
    clock: { now(): number } = performance,
  ) {
    this.#counters = counters;
    this.#name = name;
    this.#points = points;
    this.#seconds = seconds;
    this.#clock = clock;
    // By size, because it would allocate `max` entries at once, for each limit.
    this.#entries = new LRUCache({ maxSize: maxKeys, sizeCalculation: () => 1 });
  }

  /** Uses one point. */
  async take(key: string): Promise<Taken> {
    for (;;) {
      const entry = this.#entryOf(key);
      if (entry.reserved > 0) {
        entry.reserved -= 1;
        entry.used += 1;
        return this.#taken(entry, true);
      }
      if (entry.isExhausted) return this.#taken(entry, false);
      entry.reserving ??= this.#reserve(key, entry).finally(() => {
        entry.reserving = undefined;
      });
      await entry.reserving;
    }
  }

  /** Returns the milliseconds until the window ends if no point is left, without using one; undefined otherwise. */
  exhausted(key: string): number | undefined {
    const entry = this.#entries.get(key);
    const left = (entry?.until ?? 0) - this.#clock.now();
    const isEmpty = entry !== undefined && entry.reserved === 0 && (entry.isExhausted || entry.unreserved === 0);
    return isEmpty && left > 0 ? left : undefined;
  }

  #entryOf(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#clock.now() < known.until) return known;
    const entry: Entry = {
      reserved: 0,
      used: 0,
      usedBefore: known?.used ?? 0,
      unreserved: this.#points,
      isExhausted: false,
      until: Number.POSITIVE_INFINITY,
      reserving: undefined,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  async #reserve(key: string, entry: Entry): Promise<void> {
    const use = Math.max(entry.used, entry.usedBefore);
    const most = Math.min(this.#points * shareOfLimit, entry.unreserved * shareOfRest, use * shareOfUse);
    const size = Math.max(1, Math.floor(most));
    const { total, msBeforeNext } = await this.#counters.add(`${this.#name}/${key}`, size, this.#seconds);
    // Others may have reserved some of them meanwhile.
    const granted = Math.min(size, Math.max(0, this.#points - (total - size)));
    entry.reserved += granted;
    entry.unreserved = Math.max(0, this.#points - total);
    entry.isExhausted = granted === 0;
    entry.until = this.#clock.now() + msBeforeNext;
  }

  #taken(entry: Entry, isAllowed: boolean): Taken {
    const msBeforeNext = Math.max(0, entry.until - this.#clock.now());
    return { isAllowed, remaining: entry.reserved + entry.unreserved, msBeforeNext };
  }
}
