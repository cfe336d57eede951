import { sourceFile } from '../../platform/source-file.ts';
import { type PoolLimits, WorkerPool } from '../../platform/worker-pool.ts';

/** A document to render, sent to the worker thread. */
export interface RenderTask {
  /** The URL of the file whose function `render` is called. */
  readonly file: string;
  readonly content: unknown;
}

/** Result of the worker thread: the bytes of the PDF, or the error. */
export type RenderReport = { readonly bytes: Uint8Array } | { readonly failure: unknown };

/**
 * What a document may use. The largest invoice that the contract allows, with the costliest text, takes a third of it on a
 * machine of 2024.
 */
const budget: PoolLimits = { workers: 1, cpu: 60_000, elapsed: 180_000, memory: 256 };

/**
 * A worker thread that renders documents one after the other, and that the first one starts. Each takes 0.1 s of processor
 * time and more, which would block all requests.
 */
export class RenderThread {
  readonly #pool: WorkerPool<RenderTask, RenderReport>;

  constructor(limits: Partial<PoolLimits> = {}) {
    this.#pool = new WorkerPool(sourceFile('modules/documents/render-worker.ts'), { ...budget, ...limits });
  }

  /**
   * Returns a function that renders content as a PDF in the thread, by the function `render` of a file, which only the thread
   * loads. It throws `OverBudget` if the document exceeds its budget, or the error of `render`. Other documents are not affected.
   */
  renderer<Content>(file: string): (content: Content) => Promise<Uint8Array> {
    const { href } = sourceFile(file);
    return async (content) => {
      const report = await this.#pool.run({ file: href, content });
      if ('failure' in report) throw report.failure;
      return report.bytes;
    };
  }
}

/** The thread of this process. */
export const renderThread = new RenderThread();
