/** A tenant that has slots, or waits for some. */
interface Share {
  readonly tenantId: number;
  taken: number;
  /** By subscription, the one whose turn is next first. */
  readonly waiting: Map<string, (() => void)[]>;
}

interface Slot {
  readonly since: number;
  readonly share: Share;
}

/**
 * Limits how much work begins at the same time. A free slot goes to the tenant with the fewest, and subscriptions of a tenant take
 * turns. A tenant never has more slots than are free, so that the next one finds some (the dynamic thresholds of Choudhury and Hahne
 * for memory that queues share). A slot is free again when its work has ended, or after a while: then the work waits for somebody
 * else, and holds up no others.
 */
export class Slots {
  readonly #max: number;
  readonly #maxMs: number;
  /** The earliest first. */
  readonly #taken = new Set<Slot>();
  /** The one whose turn is next first, among those with as many slots. */
  readonly #tenants = new Map<number, Share>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param max how many slots there are.
   * @param maxMs how long work keeps its slot at most.
   */
  constructor(max: number, maxMs: number) {
    this.#max = max;
    this.#maxMs = maxMs;
  }

  /** Starts the work as soon as a slot is free for its subscription. */
  run<Result>(tenantId: number, subscriptionId: string, work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const share = this.#shareOf(tenantId);
      const start = () => this.#start(share, work).then(resolve, reject);
      const waiting = share.waiting.get(subscriptionId);
      if (waiting === undefined) share.waiting.set(subscriptionId, [start]);
      else waiting.push(start);
      this.#startWaiting();
    });
  }

  #shareOf(tenantId: number): Share {
    return this.#tenants.getOrInsertComputed(tenantId, () => ({ tenantId, taken: 0, waiting: new Map() }));
  }

  #start<Result>(share: Share, work: () => Promise<Result>): Promise<Result> {
    const slot = { since: performance.now(), share };
    this.#taken.add(slot);
    share.taken += 1;
    const end = () => {
      this.#free(slot);
      this.#startWaiting();
    };
    const result = work();
    result.then(end, end);
    return result;
  }

  #free(slot: Slot): void {
    if (this.#taken.delete(slot)) slot.share.taken -= 1;
  }

  #startWaiting(): void {
    for (let start = this.#next(); start !== undefined; start = this.#next()) start();
    this.#watch();
  }

  /** Takes what starts next out of its queue; undefined if nothing waits that has a free slot. */
  #next(): (() => void) | undefined {
    const free = this.#max - this.#taken.size;
    let chosen: Share | undefined;
    for (const [id, share] of this.#tenants) {
      if (share.waiting.size === 0) {
        if (share.taken === 0) this.#tenants.delete(id);
      } else if (share.taken < Math.min(free, chosen?.taken ?? free)) chosen = share;
    }
    const [first] = chosen?.waiting ?? [];
    if (chosen === undefined || first === undefined) return undefined;
    this.#tenants.delete(chosen.tenantId);
    this.#tenants.set(chosen.tenantId, chosen);
    const [subscriptionId, queue] = first;
    const start = queue.shift();
    chosen.waiting.delete(subscriptionId);
    if (queue.length > 0) chosen.waiting.set(subscriptionId, queue);
    return start;
  }

  /** Frees slots whose time is over. Only work that waits needs them, so nothing is watched otherwise. */
  #watch(): void {
    const [first] = this.#taken;
    const isWaiting = () => this.#tenants.values().some(({ waiting }) => waiting.size > 0);
    if (this.#timer !== undefined || first === undefined || !isWaiting()) return;
    const free = () => {
      this.#timer = undefined;
      const before = performance.now() - this.#maxMs;
      for (const slot of this.#taken) {
        if (slot.since > before) break;
        this.#free(slot);
      }
      this.#startWaiting();
    };
    this.#timer = setTimeout(free, Math.max(1, first.since + this.#maxMs - performance.now())).unref();
  }
}

interface Waiting<Input, Output> {
  readonly input: Input;
  readonly resolve: (output: Output) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects inputs while a run is under way, and handles them together in the next one. */
export class Batches<Input, Output> {
  readonly #run: (inputs: readonly Input[]) => Promise<readonly Output[]>;
  readonly #most: number;
  #waiting: Waiting<Input, Output>[] = [];
  #busy = false;

  /**
   * @param run returns the outputs in the order of the inputs.
   * @param most how many inputs one run has at most.
   */
  constructor(most: number, run: (inputs: readonly Input[]) => Promise<readonly Output[]>) {
    this.#run = run;
    this.#most = most;
  }

  /** @throws Error of the run. */
  add(input: Input): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    // Those that come in the same turn of the event loop share the first run.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most);
      try {
        const outputs = await this.#run(batch.map(({ input }) => input));
        for (const [index, { resolve, reject }] of batch.entries()) {
          const output = outputs[index];
          if (output === undefined) reject(new Error('A batch has no output for one of its inputs.'));
          else resolve(output);
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#busy = false;
  }
}
