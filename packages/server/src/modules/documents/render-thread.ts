import { sourceFile } from '../../platform/source-file.ts';
import { type PoolLimits, WorkerPool } from '../../platform/worker-pool.ts';
import type { InvoiceDocument } from '../billing/document/invoice-document.ts';
import type { Letter } from '../engagements/letter.ts';

/** The kinds of documents that the worker thread renders, and their content. */
export interface Contents {
  readonly letter: Letter;
  readonly invoice: InvoiceDocument;
}

/** Renders the content of a kind of document as a PDF. */
export type Renderers = { readonly [Kind in keyof Contents]: (content: Contents[Kind]) => Promise<Uint8Array> };

/** A document to render, sent to the worker thread. */
export interface RenderTask<Kind extends keyof Contents = keyof Contents> {
  readonly kind: Kind;
  readonly content: Contents[Kind];
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

  /** @throws OverBudget if the document exceeds its budget, or the error of the renderer. Other documents are not affected. */
  async render<Kind extends keyof Contents>(kind: Kind, content: Contents[Kind]): Promise<Uint8Array> {
    const report = await this.#pool.run({ kind, content });
    if ('failure' in report) throw report.failure;
    return report.bytes;
  }
}

/** The thread of this process. */
export const renderThread = new RenderThread();
