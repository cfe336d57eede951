import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { databaseClock } from '../platform/database-clock.ts';
import { pasteable } from '../platform/operator-command.ts';
import type { FirmCalls } from './firm-calls.ts';

const path = '/api/v1/event-subscriptions';

export interface ListenOptions {
  /** Entity types; if empty, all that the catalog enables. */
  readonly types: readonly string[];
  /** Prints a line. */
  readonly print: (line: string) => void;
}

/** Receives events on this machine until it is closed. */
export interface Listening {
  /** Removes the subscriptions. */
  close(): Promise<void>;
}

interface CatalogEntry {
  readonly entityType: string;
  readonly operation: string;
  readonly filterExpressionRequired: boolean;
}

/**
 * Subscribes a receiver on this machine to events, and verifies and prints what it receives.
 *
 * @throws Error with a sentence if the server does not deliver to this machine, or has no such events.
 */
export async function listenForEvents({ call }: FirmCalls, { types, print }: ListenOptions): Promise<Listening> {
  const { secret } = await call<{ secret: string }>('GET', `${path}/webhook/secret`);
  const { data: catalog } = await call<{ data: CatalogEntry[] }>('GET', `${path}/catalog?enabled=true`);
  const enabled = Map.groupBy(catalog, ({ entityType }) => entityType);
  const unknown = types.filter((type) => !enabled.has(type));
  if (unknown.length > 0)
    throw new Error(`No events exist for ${unknown.join(', ')}. Events exist for: ${[...enabled.keys()].join(', ')}.`);
  const receive = (request: IncomingMessage, response: ServerResponse) =>
    text(request).then((body) => {
      print(describe(request.headers, body, secret));
      response.end();
    });
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const created: string[] = [];
  const close = async () => {
    for (const id of created.splice(0)) await call('DELETE', `${path}/${id}`);
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
  };
  try {
    for (const [entityType, entries] of enabled) {
      if (types.length > 0 && !types.includes(entityType)) continue;
      const { id } = await call<{ id: string }>('POST', path, {
        deliveryUrl: `http://localhost:${port}/`,
        entityType,
        operations: entries.map(({ operation }) => operation),
        description: 'webhook listen',
        ...(entries.some((entry) => entry.filterExpressionRequired) ? { filterExpression: 'allPayments' } : {}),
      });
      created.push(id);
    }
  } catch (error) {
    await close();
    const hint = `The server must be started with WEBHOOK_ALLOW_LOOPBACK=on: ${pasteable('start')}`;
    throw new Error(`${error instanceof Error ? error.message : error}\n${hint}`);
  }
  print(`Listening on http://localhost:${port}/ for events of ${created.length} types. Stop with Ctrl+C.`);
  return { close };
}

function describe(headers: IncomingMessage['headers'], body: string, secret: string): string {
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  try {
    const event = new Webhook(secret).verify(body, plain);
    return `${databaseClock.date().toISOString()}  signature verified\n${JSON.stringify(event, undefined, 2)}`;
  } catch (error) {
    return `${databaseClock.date().toISOString()}  REJECTED: ${error instanceof Error ? error.message : error}\n${body}`;
  }
}
