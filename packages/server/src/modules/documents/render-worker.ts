/** The worker thread of `render-thread.ts`: renders one document after the other. */
import { parentPort } from 'node:worker_threads';
import type { RenderReport, RenderTask } from './render-thread.ts';

/** What a file that renders documents exports. */
interface Renderer {
  render(content: unknown): Promise<Uint8Array>;
}

parentPort?.on('message', async ({ file, content }: RenderTask) => {
  const report: RenderReport = await import(file)
    .then(({ render }: Renderer) => render(content))
    .then(
      (bytes) => ({ bytes }),
      (failure: unknown) => ({ failure }),
    );
  parentPort?.postMessage(report);
});
parentPort?.postMessage('ready');
