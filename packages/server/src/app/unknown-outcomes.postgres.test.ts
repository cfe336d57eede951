import { sql } from 'kysely';
import pLimit from 'p-limit';
import { afterEach, expect, test } from 'vitest';
import { createClient, isProblem } from '../../../client/src/index.ts';
import { testDatabase } from '../../test/database.ts';
import { firm } from '../../test/modules/billing.ts';
import { isNightly } from '../../test/nightly.ts';
import { overTcp } from '../../test/postgres-server.ts';
import { testService } from '../../test/service.ts';
import { openProxy } from '../../test/severable-proxy.ts';
import { createApiKey } from '../operator/api-keys.ts';

const direct = overTcp((await testDatabase()).databaseUrl ?? '');
const proxy = await openProxy(direct.hostname, Number(direct.port || 5432));
const databaseUrl = Object.assign(new URL(direct), { host: `127.0.0.1:${proxy.port}` }).href;
const service = await testService({ database: { databaseUrl } });
const { store, tenant, address } = service;
const books = await firm(service);

afterEach(() => proxy.breakSome());

/** A payment without a `systemRef`: whoever records it twice has recorded two. */
const paymentOf = (batchRef: string, amount = '10.00') => ({
  records: [
    {
      type: 'Payment' as const,
      attributes: {
        clientId: books.client.id,
        paymentDate: '2026-01-05',
        amount,
        currency: 'USD' as const,
        method: 'CHECK' as const,
        source: 'MANUAL' as const,
        batchRef,
      },
    },
  ],
});

/** How often each payment is stored, by its reference. */
async function stored(prefix: string): Promise<Map<string, number>> {
  const rows = await store.read(tenant.id, (session) =>
    session.all<{ ref: string; times: number }>(sql`
      select batch_ref as ref, count(*)::integer as times from payment
      where tenant_id = ${tenant.id} and starts_with(batch_ref, ${prefix}) group by batch_ref`),
  );
  return new Map(rows.map(({ ref, times }) => [ref, times]));
}

test('a write whose connection breaks: SERVICE_UNAVAILABLE says that nothing was written, OUTCOME_UNKNOWN that it may have been', async () => {
  const notes = Array.from({ length: isNightly ? 2_000 : 60 }, (_, index) => `once ${index}`);
  const limit = pLimit(8);
  proxy.breakSome({ commits: 5, others: 100 });
  const outcomes = await Promise.all(
    notes.map((note) =>
      limit(async () => {
        const { status, body, headers } = await service.call('POST', '/api/v1/records', paymentOf(note));
        if (status >= 400) expect(headers.get('Retry-After')).toMatch(/^\d+$/);
        return { note, outcome: isProblem(body) ? `${status} ${body.code}` : String(status) };
      }),
    ),
  );
  proxy.breakSome();
  const times = await stored('once ');
  const found = Map.groupBy(outcomes, ({ outcome }) => outcome);
  expect([...found.keys()].toSorted()).toEqual(['200', '503 OUTCOME_UNKNOWN', '503 SERVICE_UNAVAILABLE']);
  const timesOf = (outcome: string) => [...new Set(found.get(outcome)?.map(({ note }) => times.get(note) ?? 0))];
  expect(timesOf('200')).toEqual([1]);
  expect(timesOf('503 SERVICE_UNAVAILABLE')).toEqual([0]);
  // Otherwise the test has not caused both.
  expect(timesOf('503 OUTCOME_UNKNOWN').toSorted()).toEqual([0, 1]);
});

test('a request that has not begun to write: SERVICE_UNAVAILABLE, also if a transaction of the service breaks', async () => {
  // The service looks whether another process has created the key of this token.
  const [header = '', ...rest] = service.token.split('.');
  const named = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), kid: 'unknown' };
  const token = [Buffer.from(JSON.stringify(named)).toString('base64url'), ...rest].join('.');
  const headers = { Authorization: `Bearer ${token}` };
  const isUnavailable = { status: 503, body: { code: 'SERVICE_UNAVAILABLE' } };
  proxy.breakSome({ commits: 1, others: Number.POSITIVE_INFINITY });
  expect(await service.call('POST', '/gql/v1/clients/search', {}, headers)).toMatchObject(isUnavailable);
  expect(await service.call('POST', '/api/v1/records', paymentOf('never'), headers)).toMatchObject(isUnavailable);
});

test('the client with its defaults › records each payment once while connections of the database break', async () => {
  const payments = isNightly ? 10_000 : 40;
  const user = { tenant: tenant.name, user: 'payments', roles: ['API_ADMIN'], days: 1, description: undefined };
  const { key } = await createApiKey(service, user);
  const codes = new Map<string, number>();
  const count = (name: string) => void codes.set(name, (codes.get(name) ?? 0) + 1);
  const api = createClient({
    baseUrl: address,
    tenant: tenant.name,
    apiKey: key,
    fetch: async (request) => {
      const response = await fetch(request);
      const body: unknown = response.ok ? undefined : await response.clone().json();
      if (isProblem(body)) count(body.code);
      return response;
    },
  });
  // As the README says: where the client does not know, whoever calls it looks before it calls again.
  const record = async (index: number) => {
    const amount = `${100 + index}.00`;
    for (;;) {
      const body = paymentOf(`client ${index}`, amount);
      const written = await api.upsertRecords({ body }).catch(() => undefined);
      if (written?.ok === true) return expect(written.body.records[0]).toMatchObject({ error: null });
      count(`given up: ${isProblem(written?.body) ? written.body.code : 'no response'}`);
      for (;;) {
        const found = await api.searchPayments({ body: { where: { amount: { _eq: amount } } } });
        if (found.ok && found.body.data.length > 0) return;
        if (found.ok) break;
      }
    }
  };
  // Seldom enough that a call succeeds within its retries.
  proxy.breakSome({ commits: isNightly ? 10 : 6, others: 500 });
  const limit = pLimit(60);
  const indexes = Array.from({ length: payments }, (_, index) => index);
  await Promise.all(indexes.map((index) => limit(() => record(index))));
  proxy.breakSome();
  const times = await stored('client ');
  console.log(`${payments} payments:`, Object.fromEntries(codes));
  expect(indexes.filter((index) => times.get(`client ${index}`) !== 1)).toEqual([]);
  expect(codes.get('OUTCOME_UNKNOWN')).toBeGreaterThan(0);
}, 3_600_000);
