import { Worker } from 'node:worker_threads';

export interface PoolLimits {
  readonly workers: number;
  /** Processor time that a task may take, in milliseconds. */
  readonly cpu: number;
  /** Time that a task may take, in milliseconds: for a worker that gets no processor, or does not report its time. */
  readonly elapsed: number;
  /** Memory of a worker, in megabytes: of its heap, and of its buffers. By default, Node's own limit. */
  readonly memory?: number;
  /** How long a worker without a task is kept, in milliseconds: it holds tens of megabytes. By default, a minute. */
  readonly idle?: number;
}

export const limitNames = { cpu: 'processor time', elapsed: 'elapsed time', memory: 'memory' };

/** A task exceeded a limit, and its worker was terminated. */
export class OverBudget extends Error {
  override readonly name = 'OverBudget';
  readonly limit: keyof typeof limitNames;

  constructor(limit: keyof typeof limitNames) {
    super(`A task exceeded its limit of ${limitNames[limit]}.`);
    this.limit = limit;
  }
}

interface Waiter {
  resolve(worker: Worker): void;
  reject(error: unknown): void;
}

/** How often the processor time and the memory of a busy worker are read, in milliseconds. */
const period = 100;

/**
 * Runs tasks in worker threads, one at a time in each. Workers start when they are needed, and one whose task exceeds a limit
 * is terminated and replaced; other tasks are not affected. Pool libraries do not limit the processor time of a task.
 *
 * The first message of a worker says that it is ready; each later one is the report of its task.
 */
export class WorkerPool<Task, Report> {
  readonly #script: URL;
  readonly #limits: PoolLimits;
  /** The workers without a task, each with the timer that ends it. */
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #waiting: Waiter[] = [];
  #count = 0;

  constructor(script: URL, limits: PoolLimits) {
    this.#script = script;
    this.#limits = limits;
  }

  /**
   * @param moved memory of the task that is moved to the worker instead of copied
   * @throws OverBudget, or the error that ended the worker.
   */
  async run(task: Task, moved: readonly ArrayBuffer[] = []): Promise<Report> {
    const worker = await this.#take();
    return await new Promise<Report>((resolve, reject) => {
      const watch = this.#watch(worker, (limit) => {
        leave();
        this.#replace();
        void worker.terminate();
        reject(new OverBudget(limit));
      });
      const reported = (report: Report) => {
        leave();
        this.#offer(worker);
        resolve(report);
      };
      const failed = (error: unknown) => {
        leave();
        this.#replace();
        reject(isOutOfMemory(error) ? new OverBudget('memory') : error);
      };
      const ended = (code: number) => failed(new Error(`A worker ended with code ${code}.`));
      const leave = () => {
        watch.stop();
        worker.off('message', reported).off('error', failed).off('exit', ended).on('error', ignore);
      };
      worker.off('error', ignore).on('message', reported).on('error', failed).on('exit', ended);
      worker.postMessage(task, moved);
    });
  }

  #take(): Promise<Worker> {
    // The one that worked last, so that those that are not needed end.
    const idle = [...this.#idle.keys()].at(-1);
    if (idle !== undefined) {
      this.#wake(idle);
      // A worker with a task keeps the process alive; an idle one does not.
      idle.ref();
      return Promise.resolve(idle);
    }
    // The worker that is ready first takes the task, whether it is the new one or another.
    if (this.#count < this.#limits.workers) this.#start();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #start(): void {
    const { memory } = this.#limits;
    const worker = new Worker(this.#script, memory ? { resourceLimits: { maxOldGenerationSizeMb: memory } } : {});
    this.#count += 1;
    const failed = (error: unknown) => {
      leave();
      this.#waiting.shift()?.reject(error);
      this.#replace();
    };
    const ended = (code: number) => failed(new Error(`A worker ended with code ${code} before it was ready.`));
    const ready = () => {
      leave();
      worker.on('exit', () => {
        if (this.#wake(worker)) this.#replace();
      });
      this.#offer(worker);
    };
    const leave = () => worker.off('message', ready).off('error', failed).off('exit', ended).on('error', ignore);
    worker.on('message', ready).on('error', failed).on('exit', ended);
  }

  #offer(worker: Worker): void {
    const next = this.#waiting.shift();
    if (next !== undefined) next.resolve(worker);
    else {
      worker.unref();
      const end = () => {
        this.#wake(worker);
        this.#replace();
        void worker.terminate();
      };
      this.#idle.set(worker, setTimeout(end, this.#limits.idle ?? 60_000).unref());
    }
  }

  /** @returns whether the worker was idle. */
  #wake(worker: Worker): boolean {
    clearTimeout(this.#idle.get(worker));
    return this.#idle.delete(worker);
  }

  /** Starts another worker instead of one that has ended, if a task waits for it. */
  #replace(): void {
    this.#count -= 1;
    if (this.#waiting.length > 0) this.#start();
  }

  #watch(worker: Worker, exceeded: (limit: OverBudget['limit']) => void): { stop(): void } {
    const { cpu, elapsed, memory = Number.POSITIVE_INFINITY } = this.#limits;
    const timeout = setTimeout(exceeded, elapsed, 'elapsed');
    let before: NodeJS.CpuUsage | undefined;
    let isStopped = false;
    const read = async () => {
      // Rejected if the worker has ended.
      const readings = Promise.all([worker.cpuUsage(), worker.getHeapStatistics()]);
      const [usage, heap] = (await readings.catch(() => undefined)) ?? [];
      if (usage === undefined || heap === undefined || isStopped) return;
      before ??= usage;
      if (usage.user - before.user + (usage.system - before.system) > cpu * 1000) exceeded('cpu');
      else if (heap.external_memory > memory * 1024 * 1024) exceeded('memory');
      else timer = setTimeout(read, period);
    };
    let timer = setTimeout(read, period);
    return {
      stop() {
        isStopped = true;
        clearTimeout(timeout);
        clearTimeout(timer);
      },
    };
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function ignore(): void {}
