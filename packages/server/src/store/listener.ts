import pg from 'pg';
import type { Limits, StoreLog } from './engine.ts';
import { reasonOf } from './errors.ts';

/** How long to wait before the connection is opened again, in milliseconds. */
const reconnectAfter = 1_000;

/** Until it is closed, hears what is notified on a channel. */
export interface Listener {
  close(): Promise<void>;
}

/**
 * Hears notifications on a connection of its own, which it opens again when it breaks. What is notified meanwhile is not
 * heard; each time that the connection is open, an empty notification says that something may have been missed.
 */
export function listenOnOwnConnection(
  databaseUrl: string,
  channel: string,
  hear: (payload: string) => void,
  limits: Limits,
  log: StoreLog,
): Listener {
  let closed = false;
  let current: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;

  const connect = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'financial-automation-api jobs',
      connectionTimeoutMillis: limits.connect,
      keepAlive: true,
    });
    current = client;
    const lose = (reason: unknown): void => {
      if (current !== client) return;
      current = undefined;
      client.end().catch(() => undefined);
      if (closed) return;
      log.warn(
        `The connection that hears of new jobs was lost (${reasonOf(reason)}). Until it is back, jobs start late.`,
      );
      retry = setTimeout(() => void connect(), reconnectAfter);
    };
    client.on('error', lose);
    client.on('end', () => lose('closed by the server'));
    client.on('notification', ({ payload = '' }) => hear(payload));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      hear('');
    } catch (error) {
      lose(error);
    }
  };
  void connect();
  return {
    async close() {
      closed = true;
      clearTimeout(retry);
      await current?.end().catch(() => undefined);
    },
  };
}
