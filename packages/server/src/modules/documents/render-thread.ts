import { Worker } from 'node:worker_threads';
import { sourceFile } from '../../platform/source-file.ts';
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
  readonly id: number;
  readonly kind: Kind;
  readonly content: Contents[Kind];
}

/** Result of the worker thread: the bytes of the PDF, or the error. */
export type RenderReport = { readonly id: number } & ({ readonly bytes: Uint8Array } | { readonly failure: unknown });

interface Waiting {
  resolve(bytes: Uint8Array): void;
  reject(error: unknown): void;
}

let thread: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, Waiting>();

/**
 * Renders a document in a worker thread, which the first document starts. It takes 0.1 s of CPU time and more, which would
 * block all requests.
 */
export function renderInThread<Kind extends keyof Contents>(kind: Kind, content: Contents[Kind]): Promise<Uint8Array> {
  const id = ++lastId;
  const rendered = new Promise<Uint8Array>((resolve, reject) => waiting.set(id, { resolve, reject }));
  thread ??= start();
  // A thread at work keeps the process alive; an idle one does not.
  thread.ref();
  thread.postMessage({ id, kind, content } satisfies RenderTask<Kind>);
  return rendered;
}

function start(): Worker {
  const started = new Worker(sourceFile('modules/documents/render-worker.ts'));
  started.on('message', (report: RenderReport) => {
    const { resolve, reject } = waiting.get(report.id) ?? {};
    waiting.delete(report.id);
    if (waiting.size === 0) started.unref();
    if ('bytes' in report) resolve?.(report.bytes);
    else reject?.(report.failure);
  });
  const stopped = (error: unknown) => {
    if (thread !== started) return;
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  started.on('error', stopped);
  started.on('exit', (code) => stopped(new Error(`The thread that renders documents ended with code ${code}.`)));
  return started;
}
