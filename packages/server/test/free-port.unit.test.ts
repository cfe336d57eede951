import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from './free-port.ts';

/** Ports that Linux gives to outgoing connections begin here. */
const firstOfOutgoing = 32_768;
/** The last port that `fetch` blocks. */
const lastBlocked = 10_080;

test('a port is free, and no other process of the tests chooses it', async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, freePort));
  expect(new Set(ports).size).toBe(200);
  for (const port of ports) {
    expect(port).toBeLessThan(firstOfOutgoing);
    expect(port).toBeGreaterThan(lastBlocked);
    const listener = createServer().listen(port, '127.0.0.1');
    await once(listener, 'listening');
    onTestFinished(() => void listener.close());
  }
});

test('a port stays reserved while nothing listens on it', async () => {
  const port = await freePort();
  const other = createServer().listen(port + 10_000, '127.0.0.1');
  await expect(once(other, 'listening')).rejects.toThrow('EADDRINUSE');
});
