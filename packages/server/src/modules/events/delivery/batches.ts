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
