import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { withReads } from '../../test/with-reads.ts';

let checks = 0;
let finish: () => void = () => {};
const { address } = await testService({
  replace: ({ store }) => ({
    store: {
      ...withReads(store, (tenantId, work) => store.read(tenantId, work)),
      ready: () => {
        checks += 1;
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
    },
  }),
});

test('concurrent requests of /readyz share one check, and later ones have another', async () => {
  for (const round of [1, 2]) {
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    const received = text(socket);
    const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    // On one connection, so that all have arrived when the last one has.
    socket.write(request('/readyz').repeat(5) + request('/readyz', 'Connection: close\r\n'));
    await expect.poll(() => checks).toBe(round);
    finish();
    expect((await received).match(/"ready"/g)).toHaveLength(6);
    expect(checks).toBe(round);
  }
});
