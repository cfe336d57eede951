import { describe, expect, test } from 'vitest';
import { type PoolLimits, WorkerPool } from './worker-pool.ts';

/** A text, or memory: the worker works until its first byte is set. */
type Task =
  | 'quick'
  | 'work 150 ms'
  | 'spin'
  | 'wait'
  | 'throw'
  | 'exit'
  | 'fill the heap'
  | 'fill buffers'
  | SharedArrayBuffer;
interface Report {
  readonly threadId: number;
}

const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from 'node:worker_threads';
    parentPort.on('message', (task) => {
      if (task === 'spin') for (;;);
      if (task === 'throw') throw new Error('The task failed.');
      if (task === 'exit') process.exit(3);
      if (task === 'wait') return;
      if (task === 'fill the heap') for (const all = []; ; ) all.push({ number: all.length });
      if (task === 'fill buffers') {
        const all = [];
        while (all.length < 200) all.push(Buffer.alloc(1024 * 1024));
        for (;;) all.reverse();
      }
      const used = ({ user, system }) => user + system;
      const before = process.threadCpuUsage();
      if (task === 'work 150 ms') while (used(process.threadCpuUsage(before)) < 150_000);
      if (typeof task === 'object') while (Atomics.load(new Uint8Array(task), 0) === 0);
      parentPort.postMessage({ threadId });
    });
    parentPort.postMessage('ready');
  `)}`,
);
const limits: PoolLimits = { workers: 1, cpu: 300, elapsed: 60_000 };
const poolOf = (changed: Partial<PoolLimits> = {}) => new WorkerPool<Task, Report>(script, { ...limits, ...changed });

describe('a task that exceeds its budget', () => {
  test('of processor time is ended, and those that wait run in another worker', async () => {
    const pool = poolOf();
    const { threadId } = await pool.run('quick');
    const spinning = [pool.run('spin'), pool.run('spin')];
    const waiting = [pool.run('quick'), pool.run('quick')];
    for (const one of spinning) await expect(one).rejects.toMatchObject({ name: 'OverBudget', limit: 'cpu' });
    for (const one of waiting) expect((await one).threadId).not.toBe(threadId);
  });

  test('of elapsed time is ended, if it uses no processor', async () => {
    const pool = poolOf({ elapsed: 1_500 });
    await expect(pool.run('wait')).rejects.toMatchObject({ name: 'OverBudget', limit: 'elapsed' });
    expect(await pool.run('quick')).toHaveProperty('threadId');
  });

  test.each(['fill the heap', 'fill buffers'] as const)(
    'of memory is ended, and the next one runs: %s',
    async (task) => {
      const pool = poolOf({ cpu: 60_000, memory: 64 });
      const filling = pool.run(task);
      const waiting = pool.run('quick');
      await expect(filling).rejects.toMatchObject({ name: 'OverBudget', limit: 'memory' });
      expect(await waiting).toHaveProperty('threadId');
    },
  );

  test('does not count the time of the tasks before it', async () => {
    const pool = poolOf();
    const { threadId } = await pool.run('quick');
    for (let index = 0; index < 4; index++) expect(await pool.run('work 150 ms')).toEqual({ threadId });
  });
});

test('a worker without a task ends, and the next task starts another one', async () => {
  const pool = poolOf({ idle: 1 });
  const { threadId } = await pool.run('quick');
  await expect.poll(async () => (await pool.run('quick')).threadId, { interval: 100 }).not.toBe(threadId);
});

test('a task does not wait for one that takes long, in another worker', async () => {
  const pool = poolOf({ workers: 2, cpu: 60_000 });
  const memory = new SharedArrayBuffer(1);
  const long = pool.run(memory);
  const threads = [await pool.run('quick'), await pool.run('quick')].map(({ threadId }) => threadId);
  Atomics.store(new Uint8Array(memory), 0, 1);
  const { threadId } = await long;
  expect(threads).not.toContain(threadId);
  expect(new Set(threads).size).toBe(1);
});

test.each(['throw', 'exit'] as const)('a worker that ends takes only its own task with it: %s', async (task) => {
  const pool = poolOf();
  const failing = pool.run(task);
  const waiting = pool.run('quick');
  await expect(failing).rejects.toThrow(task === 'throw' ? 'The task failed.' : 'ended with code 3');
  expect(await waiting).toHaveProperty('threadId');
});

test('tasks fail if no worker can start, and none waits for ever', async () => {
  const broken = new URL('data:text/javascript,throw new Error("Cannot start.")');
  const pool = new WorkerPool<Task, Report>(broken, { ...limits, workers: 2 });
  const results = await Promise.allSettled([pool.run('quick'), pool.run('quick'), pool.run('quick')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});
