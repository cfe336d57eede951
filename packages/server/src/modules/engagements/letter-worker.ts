/** The worker thread of `letter-thread.ts`: renders one letter after the other. */
import { parentPort } from 'node:worker_threads';
import { renderLetter } from './letter-pdf.ts';
import type { LetterReport, LetterTask } from './letter-thread.ts';

parentPort?.on('message', async ({ id, letter }: LetterTask) => {
  const report: LetterReport = await renderLetter(letter).then(
    (bytes) => ({ id, bytes }),
    (failure: unknown) => ({ id, failure }),
  );
  parentPort?.postMessage(report);
});
