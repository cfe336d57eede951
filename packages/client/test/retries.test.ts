import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClient, UnexpectedResponseError } from '../src/index.ts';
import { hastenTimers } from './hasty-timers.ts';
import { problem, type Reply, Service } from './service.ts';

const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';
let service: Service;
let waits: number[];

beforeEach(async () => {
  service = await new Service().start();
  waits = hastenTimers();
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await service.stop();
});

/** One operation of each kind of `x-idempotent`. */
const calls = {
  true: (api: ReturnType<Service['client']>) => api.getClient({ path: { id } }),
  key: (api: ReturnType<Service['client']>) => api.onboardClient({ body: { name: 'Harbor', address: {} } }),
  false: (api: ReturnType<Service['client']>) => api.advanceSandboxClock({ body: { advanceBy: 'P1D' } }),
};
const firstly = (reply: Reply) => {
  service.respond = (_, index) => (index === 0 ? reply : { body: {} });
};
const page = (status: number): Reply => ({
  status,
  headers: { 'Content-Type': 'text/html' },
  text: '<h1>Bad Gateway</h1>',
});

describe('a call is retried', () => {
  const failures: [string, Reply, ('true' | 'key' | 'false')[]][] = [
    ['429', problem(429, 'RATE_LIMITED'), ['true', 'key', 'false']],
    ['503 of the service', problem(503, 'SERVICE_UNAVAILABLE'), ['true', 'key', 'false']],
    ['503 with an unknown outcome', problem(503, 'OUTCOME_UNKNOWN'), ['true', 'key']],
    ['503 of something in between', page(503), ['true', 'key']],
    ['500', problem(500, 'INTERNAL_ERROR'), ['true', 'key']],
    ['502', page(502), ['true', 'key']],
    ['504', page(504), ['true', 'key']],
    ['a broken connection', 'reset', ['true', 'key']],
    ['409 REQUEST_IN_PROGRESS', problem(409, 'REQUEST_IN_PROGRESS'), ['key']],
    ['409 CONFLICT', problem(409, 'CONFLICT'), []],
    ['400', problem(400, 'VALIDATION_ERROR'), []],
    ['403', problem(403, 'FORBIDDEN'), []],
  ];
  const kinds = ['true', 'key', 'false'] as const;
  const cases = failures.flatMap(([name, reply, repeated]) =>
    kinds.map((kind) => ({ name, kind, reply, tries: repeated.includes(kind) ? 2 : 1 })),
  );

  it.each(cases)('after $name, x-idempotent $kind: $tries tries', async ({ kind, reply, tries }) => {
    firstly(reply);
    await calls[kind](service.client()).catch(() => {});
    expect(service.received).toHaveLength(tries);
  });

  it('until no retries are left, and then returns the last response', async () => {
    service.respond = () => problem(503, 'SERVICE_UNAVAILABLE');
    const response = await service.client().getClient({ path: { id } });
    expect(response.status).toBe(503);
    expect(service.received).toHaveLength(4);
  });

  it('never if a read times out: it would take as long again', async () => {
    service.respond = () => problem(503, 'READ_TIMEOUT', { 'Retry-After': '1' });
    const response = await service.client().searchContacts({ body: {} });
    expect(response).toMatchObject({ status: 503, body: { code: 'READ_TIMEOUT' } });
    expect(service.received).toHaveLength(1);
  });

  it('after a rejection for too many calls at the same time', async () => {
    firstly(problem(429, 'CONCURRENCY_LIMITED', { 'Retry-After': '1' }));
    expect(await service.client().onboardClient({ body: { name: 'x', address: {} } })).toMatchObject({
      ok: true,
    });
    expect(service.received).toHaveLength(2);
  });

  it('until the first request with the same key has ended, however long that takes', async () => {
    service.respond = (_, index) =>
      index < 20
        ? problem(409, 'REQUEST_IN_PROGRESS', index < 10 ? { 'Retry-After': '1' } : {})
        : { status: 201, body: {} };
    const response = await calls.key(service.client({ retries: 1 }));
    expect(response.status).toBe(201);
    expect(waits.filter((wait) => wait > 0)).toEqual([...Array(10).fill(1_000), ...Array(10).fill(250)]);
    const keys = new Set(service.received.map(({ headers }) => headers['idempotency-key']));
    expect(keys.size).toBe(1);
  });

  it('as often as the client or the call specifies', async () => {
    service.respond = () => problem(503, 'SERVICE_UNAVAILABLE');
    const api = service.client({ retries: 1 });
    await api.getClient({ path: { id } });
    expect(service.received).toHaveLength(2);
    await api.getClient({ path: { id }, retries: 0 });
    expect(service.received).toHaveLength(3);
  });

  it('after delays that double, with jitter', async () => {
    service.respond = () => problem(503, 'SERVICE_UNAVAILABLE');
    await service.client().getClient({ path: { id } });
    const backoff = waits.filter((wait) => wait > 0);
    expect(backoff).toHaveLength(3);
    for (const [index, wait] of backoff.entries()) {
      expect(wait).toBeGreaterThanOrEqual(250 * 2 ** index);
      expect(wait).toBeLessThanOrEqual(500 * 2 ** index);
    }
  });

  it('not before Retry-After, in seconds or as a date', async () => {
    firstly(problem(429, 'RATE_LIMITED', { 'Retry-After': '7' }));
    await service.client().getClient({ path: { id } });
    expect(waits).toContain(7000);

    waits.length = 0;
    service.received.length = 0;
    firstly(problem(503, 'SERVICE_UNAVAILABLE', { 'Retry-After': new Date(Date.now() + 20_000).toUTCString() }));
    await service.client().getClient({ path: { id } });
    expect(Math.max(...waits)).toBeGreaterThan(18_000);
  });

  it('not if Retry-After is later than the timeout: it returns at once', async () => {
    firstly(problem(429, 'RATE_LIMITED', { 'Retry-After': '61' }));
    const response = await service.client().getClient({ path: { id } });
    expect(response.status).toBe(429);
    expect(service.received).toHaveLength(1);
  });

  it('if its body was interrupted', async () => {
    service.respond = (_, index) =>
      index === 0 ? { headers: { 'Content-Length': '100' }, text: '{"id":' } : { body: { id } };
    const broken = service.client().getClient({ path: { id } });
    // The server keeps the connection of the short response open; it must be closed for the client to notice.
    await vi.waitUntil(() => service.received.length === 1);
    service.breakConnections();
    await expect(broken).resolves.toMatchObject({ status: 200, body: { id } });
  });
});

describe('a response of a proxy', () => {
  it('is a separate error', async () => {
    service.respond = () => page(502);
    const error = await service
      .client({ retries: 0 })
      .getClient({ path: { id } })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error).toMatchObject({ status: 502, body: '<h1>Bad Gateway</h1>' });
  });

  it('is not followed to another address', async () => {
    service.respond = () => ({ status: 308, headers: { Location: `${service.baseUrl}/elsewhere` } });
    service.exchange = service.respond;
    for (const accessToken of [
      undefined,
      async () => ({ access_token: 'a', token_type: 'Bearer' as const, expires_in: 900 }),
    ]) {
      const { baseUrl } = service;
      const api =
        accessToken === undefined ? service.client() : createClient({ baseUrl, tenant: 'hartwell', accessToken });
      await expect(api.getClient({ path: { id } })).rejects.toMatchObject({
        name: 'UnexpectedResponseError',
        status: 308,
      });
    }
    expect([...service.exchanges, ...service.received].map(({ path }) => path)).not.toContain('/elsewhere');
  });

  it('is also detected with status 200', async () => {
    service.respond = () => ({ headers: { 'Content-Type': 'text/html' }, text: '<h1>Log in</h1>' });
    const error = await service
      .client()
      .getClient({ path: { id } })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnexpectedResponseError);
  });
});

describe('the end of a call', () => {
  it('is caused by the timeout', async () => {
    service.respond = () => 'silence';
    const error = await service
      .client({ timeout: 50 })
      .getClient({ path: { id } })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'TimeoutError' });
  });

  it('is caused by the timeout also during a retry delay', async () => {
    vi.unstubAllGlobals();
    // Slightly less than the delay before the second attempt: a slower first response would be another case.
    service.respond = () => problem(503, 'SERVICE_UNAVAILABLE');
    const error = await service
      .client({ timeout: 240 })
      .getClient({ path: { id } })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'TimeoutError' });
    expect(service.received).toHaveLength(1);
  });

  it.each(['silence', problem(429, 'RATE_LIMITED', { 'Retry-After': '30' })] satisfies Reply[])(
    'is caused by the signal, with its reason: %o',
    async (reply) => {
      vi.unstubAllGlobals();
      service.respond = () => reply;
      const controller = new AbortController();
      const call = service.client().getClient({ path: { id }, signal: controller.signal });
      await vi.waitUntil(() => service.received.length === 1);
      setTimeout(() => controller.abort('not needed any more'), 20);
      await expect(call).rejects.toBe('not needed any more');
      expect(service.received).toHaveLength(1);
    },
  );

  it('is immediate if the signal is already aborted', async () => {
    const call = service.client().getClient({ path: { id }, signal: AbortSignal.abort() });
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    expect(service.received).toHaveLength(0);
  });
});

describe('the idempotency key', () => {
  const keys = () => service.received.map(({ headers }) => headers['idempotency-key']);

  it('is the same in all attempts of a call, and different in the next call', async () => {
    service.respond = (_, index) => (index < 2 ? problem(503, 'SERVICE_UNAVAILABLE') : { status: 201, body: {} });
    const api = service.client();
    await calls.key(api);
    await calls.key(api);
    const [first, second, third, other] = keys();
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
  });

  it('can be set by the caller', async () => {
    const headers = { 'Idempotency-Key': 'onboard-harbor' };
    await service.client().onboardClient({ headers, body: { name: 'Harbor', address: {} } });
    expect(keys()).toEqual(['onboard-harbor']);
  });

  it('is sent with every write that accepts one, also if it can be repeated without', async () => {
    await service.client().upsertContacts({ body: { contacts: [{ pmsRef: 'P-1' }] } });
    await service.client().updateStaff({ path: { staffId: id }, body: { title: 'Partner' } });
    expect(keys()).toEqual([expect.any(String), expect.any(String)]);
  });

  it('is not sent if the contract does not declare it', async () => {
    await calls.true(service.client());
    await calls.false(service.client());
    expect(keys()).toEqual([undefined, undefined]);
  });
});
