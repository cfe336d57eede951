import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { databaseClock } from '../platform/database-clock.ts';
import { pasteable } from '../platform/operator-command.ts';
import { type FirmCalls, subscriptions, subscriptionsPath } from './firm-calls.ts';

const description = 'webhook listen';

export interface ListenOptions {
  /** Entity types; if empty, all that the catalog enables. */
  readonly types: readonly string[];
  /** Prints a line. */
  readonly print: (line: string) => void;
  /** Whether an event is one line, without its row. */
  readonly isCompact?: boolean;
  /** Where each request is sent on as it is; its response is that of the receiver. */
  readonly forwardTo?: string;
}

/** Receives events on this machine until it is closed. */
export interface Listening {
  /** Deactivates the subscriptions; the next run takes them again. */
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
export async function listenForEvents(calls: FirmCalls, options: ListenOptions): Promise<Listening> {
  const { call } = calls;
  const { types, print, isCompact = false, forwardTo } = options;
  const { secret } = await call<{ secret: string }>('GET', `${subscriptionsPath}/webhook/secret`);
  const { data: catalog } = await call<{ data: CatalogEntry[] }>('GET', `${subscriptionsPath}/catalog?enabled=true`);
  const enabled = Map.groupBy(catalog, ({ entityType }) => entityType);
  const unknown = types.filter((type) => !enabled.has(type));
  if (unknown.length > 0)
    throw new Error(`No events exist for ${unknown.join(', ')}. Events exist for: ${[...enabled.keys()].join(', ')}.`);
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const forwarded = forwardTo === undefined ? undefined : await forward(forwardTo, request.headers, body);
    print([describe(request.headers, body, secret, isCompact), forwarded?.says].filter(Boolean).join('  '));
    response.writeHead(forwarded?.status ?? 200).end();
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const subscribed: string[] = [];
  const close = async () => {
    for (const id of subscribed.splice(0)) await call('DELETE', `${subscriptionsPath}/${id}`);
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
  };
  try {
    const earlier = await earlierSubscriptions(calls);
    for (const [entityType, entries] of enabled) {
      if (types.length > 0 && !types.includes(entityType)) continue;
      const target = {
        deliveryUrl: `http://localhost:${port}/`,
        ...(entries.some((entry) => entry.filterExpressionRequired) ? { filterExpression: 'allPayments' } : {}),
      };
      const known = earlier.get(entityType);
      if (known !== undefined) {
        await call('PATCH', `${subscriptionsPath}/${known}`, target);
        await call('POST', `${subscriptionsPath}/${known}/reactivate`);
      }
      const id =
        known ??
        (
          await call<{ id: string }>('POST', subscriptionsPath, {
            ...target,
            entityType,
            operations: entries.map(({ operation }) => operation),
            description,
          })
        ).id;
      subscribed.push(id);
    }
  } catch (error) {
    await close();
    const hint = `The server must be started with WEBHOOK_ALLOW_LOOPBACK=on: ${pasteable('start')}`;
    throw new Error(`${error instanceof Error ? error.message : error}\n${hint}`);
  }
  print(
    `Listening on http://localhost:${port}/ for events of ${subscribed.length} types${forwardTo === undefined ? '' : `, and forwarding to ${forwardTo}`}. Stop with Ctrl+C.`,
  );
  return { close };
}

/** Inactive subscriptions of earlier runs by entity type. Otherwise each run would leave some behind, because they are never deleted. */
async function earlierSubscriptions(calls: FirmCalls): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const one of subscriptions(calls))
    if (one.description === description && !one.active) found.set(one.entityType, one.id);
  return found;
}

/** Headers of one connection, which `fetch` sets itself. */
const ofConnection = /^(host|connection|content-length|keep-alive|transfer-encoding)$/;

async function forward(url: string, headers: IncomingMessage['headers'], body: string) {
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    ofConnection.test(name) ? [] : [[name, String(value)]],
  );
  try {
    const { status } = await fetch(url, { method: 'POST', headers: passed, body, redirect: 'manual' });
    return { status, says: `forwarded, ${status}` };
  } catch (error) {
    const { cause, message } = error instanceof Error ? error : new Error(String(error));
    return { status: 502, says: `NOT FORWARDED: ${cause instanceof Error ? cause.message : message}` };
  }
}

function describe(headers: IncomingMessage['headers'], body: string, secret: string, isCompact: boolean): string {
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  try {
    const event: Readonly<Record<string, unknown>> = Object(new Webhook(secret).verify(body, plain));
    const { entityType, operation, entityId, changedFields } = event;
    const fields = Array.isArray(changedFields) && operation === 'UPDATE' ? `  ${changedFields.join(', ')}` : '';
    const row = isCompact ? `  ${entityType}.${operation}  ${entityId}${fields}` : '';
    const all = isCompact ? '' : `\n${JSON.stringify(event, undefined, 2)}`;
    return `${databaseClock.date().toISOString()}  signature verified${row}${all}`;
  } catch (error) {
    return `${databaseClock.date().toISOString()}  REJECTED: ${error instanceof Error ? error.message : error}\n${body}`;
  }
}
