import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { createApp } from '../src/app/app.ts';
import { readConfig } from '../src/app/read-config.ts';
import { createService } from '../src/entity/service.ts';
import { createApiKey } from '../src/operator/api-keys.ts';
import { createTenant } from '../src/operator/tenants.ts';
import { databaseOf } from '../src/platform/process/config.ts';
import { openStore } from '../src/platform/store/store.ts';
import { portOf } from './free-port.ts';

/** A tenant with the IDs and names of its stored clients. */
interface Firm {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clients: { readonly id: string; readonly name: string }[];
}

/**
 * Serves a database to two tenants and sends several kinds of calls concurrently. Each response is compared with the
 * stored data of the tenant.
 *
 * @param settings the environment of the service
 * @param run the suffix of the names of the tenants
 * @returns a sentence for each wrong response
 */
export async function mixedCalls(
  settings: Readonly<Record<string, string>>,
  run: string,
  calls: number,
  inFlight: number,
): Promise<string[]> {
  const config = readConfig({
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    RATE_LIMIT_FACTOR: '0',
    ...settings,
  });
  const log = pino({ level: 'silent' });
  const store = await openStore({ ...databaseOf(config), log });
  const service = await createService(config, store, log);
  const server = createServer(createApp(service)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${portOf(server)}`;
  const wrong: string[] = [];
  try {
    const firms = [await openFirm(`hartwell_${run}`), await openFirm(`oakes_${run}`)];
    let left = calls;
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        while (left > 0) {
          left -= 1;
          const [own, other] = left % 2 === 0 ? firms : firms.toReversed();
          if (own !== undefined && other !== undefined) await call(own, other, left);
        }
      }),
    );
  } finally {
    server.close().closeAllConnections();
    await store.close();
  }
  return wrong;

  async function openFirm(name: string): Promise<Firm> {
    const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
    await createTenant({ service }, { name, displayName: name, ...place });
    const options = { tenant: name, user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined };
    const { key } = await createApiKey({ service }, options);
    const json = { 'Content-Type': 'application/json' };
    const { body } = await send('POST', '/v1/auth/token', json, { apiKey: key });
    const firm: Firm = {
      name,
      headers: { ...json, Authorization: `Bearer ${body.access_token}`, Tenant: name },
      clients: [],
    };
    for (let number = 1; number <= 5; number++) await onboard(firm, `${name} first ${number}`);
    return firm;
  }

  /** Sends one call, whose kind depends on its number. */
  async function call(own: Firm, other: Firm, number: number): Promise<void> {
    const known = own.clients[Math.floor(Math.random() * own.clients.length)];
    const foreign = other.clients[Math.floor(Math.random() * other.clients.length)];
    if (known === undefined || foreign === undefined) throw new Error('A tenant has no clients.');
    switch (Math.floor(number / 2) % 8) {
      case 0:
        return onboard(own, `${own.name} ${number}`);
      case 1: {
        const { status } = await send('GET', `/gql/v1/client/${foreign.id}`, own.headers);
        return check(status === 404, `${own.name} read a client of ${other.name}: ${status}`);
      }
      case 2: {
        const where = { name: { _ilike: `%${known.name.slice(-8)}` } };
        const { status, body } = await send('POST', '/gql/v1/clients/search', own.headers, { where, pageSize: 1000 });
        const found = (body.data ?? []).map((client) => client.name);
        const isRight = found.includes(known.name) && found.every((name) => name.startsWith(own.name));
        return check(status === 200 && isRight, `${own.name} searched ${known.name}: ${status} ${found.join(', ')}`);
      }
      case 3: {
        const { status } = await send('POST', '/gql/v1/clients/search', own.headers, { where: { nothing: {} } });
        return check(status === 400, `${own.name} searched by a field that does not exist: ${status}`);
      }
      default: {
        const { status, body } = await send('GET', `/gql/v1/client/${known.id}`, own.headers);
        return check(body.name === known.name, `${own.name} read ${known.name}: ${status} ${body.name}`);
      }
    }
  }

  async function onboard(firm: Firm, name: string): Promise<void> {
    const { status, body } = await send('POST', '/api/v1/clients/v1/onboard', firm.headers, { name, address: {} });
    check(status === 201, `${firm.name} onboarded ${name}: ${status}`);
    if (body.clientId !== undefined) firm.clients.push({ id: body.clientId, name });
  }

  function check(isRight: boolean, sentence: string): void {
    if (!isRight) wrong.push(sentence);
  }

  async function send(method: string, path: string, headers: Readonly<Record<string, string>>, body?: object) {
    const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    let response = await fetch(address + path, request);
    // On a busy machine, a call may find no place.
    while (response.status === 429) {
      await pause(1_000 * Number(response.headers.get('Retry-After')));
      response = await fetch(address + path, request);
    }
    return { status: response.status, body: (await response.json()) as Body };
  }
}

/** The compared fields of all operations. */
interface Body {
  readonly access_token?: string;
  readonly clientId?: string;
  readonly name?: string;
  readonly data?: readonly { readonly name: string }[];
}
