import { Worker } from 'node:worker_threads';
import { sourceFile } from '../../source-file.ts';
import type { Letter } from './letter.ts';

/** A letter on its way to the thread. */
export interface LetterTask {
  readonly id: number;
  readonly letter: Letter;
}

/** What comes back: the bytes of the PDF, or why there are none. */
export type LetterReport = { readonly id: number } & ({ readonly bytes: Uint8Array } | { readonly failure: unknown });

interface Waiting {
  resolve(bytes: Uint8Array): void;
  reject(error: unknown): void;
}

let thread: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, Waiting>();

/**
 * `renderLetter` in a thread of its own, which is started with the first letter. A letter takes 0.1 s of CPU, in which this thread
 * would answer nobody.
 */
export function renderInThread(letter: Letter): Promise<Uint8Array> {
  const id = ++lastId;
  const rendered = new Promise<Uint8Array>((resolve, reject) => waiting.set(id, { resolve, reject }));
  thread ??= start();
  // What is at work is waited for; a thread without work does not keep the process.
  thread.ref();
  thread.postMessage({ id, letter } satisfies LetterTask);
  return rendered;
}

function start(): Worker {
  const started = new Worker(sourceFile('resources/engagements/letter-worker.ts'));
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
