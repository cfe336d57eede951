/** The worker thread of `render-thread.ts`: renders one document after the other. */
import { parentPort } from 'node:worker_threads';
import { renderInvoice } from '../billing/document/invoice-pdf.ts';
import { renderLetter } from '../engagements/letter-pdf.ts';
import type { Contents, Renderers, RenderReport, RenderTask } from './render-thread.ts';

const renderers: Renderers = { letter: renderLetter, invoice: renderInvoice };

function render<Kind extends keyof Contents>({ kind, content }: RenderTask<Kind>): Promise<Uint8Array> {
  return renderers[kind](content);
}

parentPort?.on('message', async (task: RenderTask) => {
  const report: RenderReport = await render(task).then(
    (bytes) => ({ bytes }),
    (failure: unknown) => ({ failure }),
  );
  parentPort?.postMessage(report);
});
parentPort?.postMessage('ready');
