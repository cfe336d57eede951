/** A process that delivers for some seconds, and then tells its parent how much memory it took. */
import { setTimeout as pause } from 'node:timers/promises';
import { startDelivery } from '../src/delivery/delivery.ts';
import { withService } from './delivering.ts';

/** In bytes. */
export type MemorySample = Pick<NodeJS.MemoryUsage, 'rss' | 'heapUsed'>;
const samplePause = 250;

const [databaseUrl = '', ca = '', seconds = ''] = process.argv.slice(2);
await withService({ databaseUrl }, async (service) => {
  const samples: MemorySample[] = [];
  const delivery = await startDelivery(service, { ca });
  const end = performance.now() + Number(seconds) * 1000;
  while (performance.now() < end) {
    const { rss, heapUsed } = process.memoryUsage();
    samples.push({ rss, heapUsed });
    await pause(samplePause);
  }
  await delivery.stop(0);
  process.send?.(samples);
});
process.disconnect?.();
