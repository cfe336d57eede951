import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test } from 'vitest';
import { extendMessages, messages } from './messages.ts';

test('messages have the methods of Express before Express serves them, and those of a mounted application', async () => {
  const app = express();
  extendMessages(app);
  const mounted = express();
  mounted.get(
    '/mounted',
    (request, response) => void response.json({ query: request.query, host: request.get('host') }),
  );
  app.use(mounted);
  app.use((request, response) => void response.status(404).json({ isApp: request.app === app, path: request.path }));

  const prototypes: unknown[] = [];
  const server = createServer(messages, (request, response) => {
    expect([request instanceof IncomingMessage, response instanceof ServerResponse]).toEqual([true, true]);
    const before = [Object.getPrototypeOf(request), Object.getPrototypeOf(response)];
    expect([before[0].get, before[1].json]).toEqual([expect.any(Function), expect.any(Function)]);
    app(request as express.Request, response as express.Response);
    prototypes.push(before[0] === app.request, before[1] === app.response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bodyOf = async (path: string) => (await fetch(`http://${origin}${path}`)).json();

  expect(await bodyOf('/mounted?page=2')).toEqual({ query: { page: '2' }, host: origin });
  expect(await bodyOf('/other')).toEqual({ isApp: true, path: '/other' });
  expect(prototypes).toEqual([true, true, true, true]);
  server.close();
});
