/**
 * Shares results between callers that wait at the same time. A caller gets a result whose calculation began after its call, so
 * at most two calculations are pending: one that runs, and one for everyone who came meanwhile.
 */
export class Coalesced<Result> {
  readonly #calculate: () => Promise<Result>;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<Result> | undefined;

  constructor(calculate: () => Promise<Result>) {
    this.#calculate = calculate;
  }

  get(): Promise<Result> {
    if (this.#next === undefined) {
      const next = this.#running.then(() => {
        this.#next = undefined;
        const result = this.#calculate();
        this.#running = result.catch(() => undefined);
        return result;
      });
      this.#next = next;
    }
    return this.#next;
  }
}
