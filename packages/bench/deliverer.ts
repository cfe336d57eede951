/** A process that delivers events, and reports its memory use to its parent after some seconds. It requires `--expose-gc`. */
import { setTimeout as pause } from 'node:timers/promises';
import { startDelivery } from '@financial-automation/server/modules/events';
import { withService } from './delivering.ts';

/** In bytes. */
export interface MemoryUse {
  /** Before the first delivery. */
  readonly start: MemorySample;
  /** From the end of the warm-up. */
  readonly samples: readonly MemorySample[];
  /** The heap without garbage, at the end of the warm-up and at the end. */
  readonly live: { readonly before: number; readonly after: number };
}
export type MemorySample = Pick<NodeJS.MemoryUsage, 'rss' | 'heapUsed'>;

const samplePause = 250;

const [databaseUrl = '', ca = '', warmUpSeconds = '', seconds = ''] = process.argv.slice(2);
await withService({ databaseUrl }, async (service) => {
  const start = sample();
  const delivery = await startDelivery(service, { ca });
  await pause(Number(warmUpSeconds) * 1000);
  const before = liveHeap();
  const samples: MemorySample[] = [];
  const end = performance.now() + Number(seconds) * 1000;
  while (performance.now() < end) {
    samples.push(sample());
    await pause(samplePause);
  }
  const use: MemoryUse = { start, samples, live: { before, after: liveHeap() } };
  await delivery.stop(0);
  process.send?.(use);
});
process.disconnect?.();

function sample(): MemorySample {
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
}

function liveHeap(): number {
  if (globalThis.gc === undefined) throw new Error('Start the process with --expose-gc.');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
