import { Worker } from 'node:worker_threads';
import { sourceFile } from '../../platform/source-file.ts';
import type { Letter } from './letter.ts';

/** A letter to render, sent to the worker thread. */
export interface LetterTask {
  readonly id: number;
  readonly letter: Letter;
}

/** Result of the worker thread: the bytes of the PDF, or the error. */
export type LetterReport = { readonly id: number } & ({ readonly bytes: Uint8Array } | { readonly failure: unknown });

interface Waiting {
  resolve(bytes: Uint8Array): void;
  reject(error: unknown): void;
}

let thread: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, Waiting>();

/**
 * Runs `renderLetter` in a worker thread, which the first letter starts. A letter takes 0.1 s of CPU time, which would
 * block all requests.
 */
export function renderInThread(letter: Letter): Promise<Uint8Array> {
  const id = ++lastId;
  const rendered = new Promise<Uint8Array>((resolve, reject) => waiting.set(id, { resolve, reject }));
  thread ??= start();
  // A thread at work keeps the process alive; an idle one does not.
  thread.ref();
  thread.postMessage({ id, letter } satisfies LetterTask);
  return rendered;
}

function start(): Worker {
  const started = new Worker(sourceFile('modules/engagements/letter-worker.ts'));
  started.on('message', (report: LetterReport) => {
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
  started.on('exit', (code) => stopped(new Error(`The thread that sets letters ended with code ${code}.`)));
  return started;
}
