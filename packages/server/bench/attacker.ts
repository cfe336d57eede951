/** A process that attacks until it is told to stop, and then tells what it was answered. */

import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { type Attack, attacks } from './attacks.ts';

export interface AttackOrder {
  readonly address: string;
  readonly token: string;
  readonly tenant: string;
  readonly attack: string;
}

/** How often each status came; `broken` counts connections without an answer. */
export type AttackReport = Readonly<Record<string, number>>;

const seen: Record<string, number> = {};
let stopped = false;

process.on('message', (order: AttackOrder | 'stop') => {
  if (order === 'stop') {
    stopped = true;
    process.send?.(seen);
    return;
  }
  const attack = attacks.find(({ name }) => name === order.attack);
  if (attack === undefined) throw new Error(`There is no attack ${order.attack}.`);
  const send = attack.pace === undefined ? quickly(attack, order) : slowly(attack, attack.pace, order);
  for (let index = 0; index < attack.connections; index += 1) void repeat(send);
  process.send?.('started');
});

async function repeat(send: () => Promise<string>): Promise<void> {
  while (!stopped) {
    const outcome = await send().catch(() => 'broken');
    seen[outcome] = (seen[outcome] ?? 0) + 1;
    // A flood of refused connections would measure the kernel.
    if (outcome === 'broken') await pause(100);
  }
}

function quickly({ path, body, connections }: Attack, { address, token, tenant }: AttackOrder): () => Promise<string> {
  const agent = new Agent({ connections, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${token}`, tenant, 'content-type': 'application/json' };
  return async () => {
    const answer = await agent.request({ origin: address, path, method: 'POST', headers, body: body() });
    const text = await answer.body.text();
    const code = /"code":"([A-Z_]+)"/.exec(text)?.[1];
    return answer.statusCode === 200 ? '200' : `${answer.statusCode} ${code}`;
  };
}

/** The body a few bytes a second, on a connection of its own. */
function slowly({ path, body }: Attack, pace: number, { address, token, tenant }: AttackOrder): () => Promise<string> {
  const { hostname, port } = new URL(address);
  return async () => {
    const text = body();
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\nTenant: ${tenant}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`,
    );
    let sent = 0;
    const trickle = setInterval(() => {
      if (socket.writable) socket.write(text.slice(sent, sent + pace));
      sent += pace;
    }, 1_000);
    await closed;
    clearInterval(trickle);
    return /^HTTP\/1.1 (\d+)/.exec(received)?.[1] ?? 'broken';
  };
}
