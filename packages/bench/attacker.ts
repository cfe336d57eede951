/** A process that attacks until its parent stops it, and then reports the responses that it received. */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { type Attack, attacks } from './attacks.ts';

export interface AttackOrder {
  readonly address: string;
  readonly token: string;
  readonly tenant: string;
  readonly attack: string;
  /** The address that it connects from, so that it does not share the limits of the quiet tenant's address. */
  readonly from: string;
}

/** How often each status was received; `broken` counts connections without a response. */
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
  if (attack === undefined) throw new Error(`The attack ${order.attack} does not exist.`);
  for (let index = 0; index < attack.connections; index += 1) void repeat(sender(attack, order, index));
  process.send?.('started');
});

// A session of its own is not interrupted with that of its parent.
process.on('disconnect', () => process.exit());

async function repeat(send: () => Promise<string>): Promise<void> {
  while (!stopped) {
    const outcome = await send().catch(() => 'broken');
    seen[outcome] = (seen[outcome] ?? 0) + 1;
    // With a flood of rejected connections, the kernel would be measured.
    if (outcome === 'broken') await pause(1_000);
  }
}

function sender(attack: Attack, order: AttackOrder, index: number): () => Promise<string> {
  if (attack.kind === 'requests') return whole(attack, order);
  if (attack.kind === 'bodies without end') return () => unfinished(attack, order);
  // From 25 addresses.
  return () => held(attack.body(), order.address, `127.0.0.${10 + (index % 25)}`);
}

function whole({ path, body, headers: own }: Attack, order: AttackOrder): () => Promise<string> {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: 1, localAddress: order.from });
  const headers = headersOf(own, order);
  return async () => {
    const response = await agent.request({ origin: order.address, path, method: 'POST', headers, body: body() });
    const text = await response.body.text();
    const code = /"code":"([A-Z_]+)"/.exec(text)?.[1] ?? '';
    return response.statusCode === 200 ? '200' : `${response.statusCode} ${code}`;
  };
}

/** A body that never ends: a few bytes a second, or nothing more after its start. */
async function unfinished({ path, body, pace, headers }: Attack, order: AttackOrder): Promise<string> {
  const { socket, closed } = open(order.address, order.from);
  const lines = Object.entries(headersOf(headers, order)).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n`);
  if (pace === undefined) socket.write(body());
  let sent = 0;
  const trickle = setInterval(() => {
    if (pace === undefined || !socket.writable) return;
    socket.write(body().slice(sent, sent + pace));
    sent += pace;
  }, 1_000);
  const received = await closed;
  clearInterval(trickle);
  return /^HTTP\/1.1 (\d+)/.exec(received)?.[1] ?? 'broken';
}

/** A connection that sends a text, and stays open. It is opened again when it is closed. */
async function held(text: string | Buffer, address: string, localAddress: string): Promise<string> {
  const { socket, closed } = open(address, localAddress);
  socket.write(text);
  await closed;
  await pause(1_000);
  return 'closed';
}

function headersOf(own: Attack['headers'], { token, tenant }: AttackOrder): Record<string, string> {
  return { Authorization: `Bearer ${token}`, Tenant: tenant, 'Content-Type': 'application/json', ...own };
}

function open(address: string, localAddress: string): { socket: Socket; closed: Promise<string> } {
  const { hostname, port } = new URL(address);
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  let received = '';
  socket.on('data', (data) => {
    received += data;
  });
  socket.on('error', () => socket.destroy());
  return { socket, closed: new Promise((resolve) => socket.on('close', () => resolve(received))) };
}
