import pg from 'pg';
import { reasonOf } from './errors.ts';
import type { Limits, StoreLog } from './limits.ts';

/** Delay before the connection is opened again, in milliseconds. */
const reconnectAfter = 1_000;

/** Receives notifications of a channel until it is closed. */
export interface Listener {
  close(): Promise<void>;
}

/**
 * Receives notifications on a dedicated connection, which is reopened when it breaks. Notifications in between are
 * missed; after each connect, an empty notification signals this.
 */
export function listenOnOwnConnection(
  databaseUrl: string,
  channel: string,
  onNotification: (payload: string) => void,
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
      log.warn(`Connection for job notifications lost (${reasonOf(reason)}); jobs start late until it is restored.`);
      retry = setTimeout(() => void connect(), reconnectAfter);
    };
    client.on('error', lose);
    client.on('end', () => lose('closed by the server'));
    client.on('notification', ({ payload = '' }) => onNotification(payload));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      onNotification('');
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
