import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ClientOptions, createClient, ProblemError } from '../src/index.ts';
import { problem, Service, tokenNamed } from './service.ts';

const id = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';
let service: Service;

beforeEach(async () => {
  service = await new Service().start();
});
afterEach(async () => {
  vi.useRealTimers();
  await service.stop();
});

const authorizations = () => service.received.map((request) => request.headers.authorization);

describe('the access token', () => {
  it('is exchanged for the API key by the first call, and sent with every call together with the tenant', async () => {
    const api = service.client();
    expect(service.exchanges).toHaveLength(0);
    await api.getClient({ path: { id } });
    await api.getClient({ path: { id } });

    expect(service.exchanges).toHaveLength(1);
    expect(service.exchanges[0]).toMatchObject({
      method: 'POST',
      body: { apiKey: 'key' },
      headers: { tenant: 'hartwell' },
    });
    expect(service.exchanges[0]?.headers).not.toHaveProperty('authorization');
    expect(authorizations()).toEqual(['Bearer token-1', 'Bearer token-1']);
    expect(service.received[0]?.headers.tenant).toBe('hartwell');
  });

  it.each(['', ' ', undefined])('requires an API key, and %j is none', (apiKey) => {
    const options = { baseUrl: service.baseUrl, tenant: 'hartwell', apiKey } as { apiKey: string } & ClientOptions;
    expect(() => createClient(options)).toThrow('`apiKey` is empty.');
  });

  it('is exchanged once for fifty concurrent calls', async () => {
    const api = service.client();
    await Promise.all(Array.from({ length: 50 }, () => api.getClient({ path: { id } })));
    expect(service.received).toHaveLength(50);
    expect(service.exchanges).toHaveLength(1);
  });

  it('is renewed a minute before it expires', async () => {
    // biome-ignore lint/plugin: it has no service, and issues its tokens itself
    vi.useFakeTimers({ toFake: ['Date'] });
    const api = service.client();
    await api.getClient({ path: { id } });
    vi.setSystemTime(Date.now() + 839_000);
    await api.getClient({ path: { id } });
    expect(service.exchanges).toHaveLength(1);
    vi.setSystemTime(Date.now() + 2_000);
    await Promise.all(Array.from({ length: 50 }, () => api.getClient({ path: { id } })));
    expect(service.exchanges).toHaveLength(2);
    expect(authorizations().slice(2)).toEqual(Array(50).fill('Bearer token-2'));
  });

  it('is kept for four fifths of a short lifetime', async () => {
    // biome-ignore lint/plugin: it has no service, and issues its tokens itself
    vi.useFakeTimers({ toFake: ['Date'] });
    service.exchange = (_, index) => ({ body: tokenNamed(`token-${index + 1}`, 10) });
    const api = service.client();
    await api.getClient({ path: { id } });
    vi.setSystemTime(Date.now() + 7_900);
    await api.getClient({ path: { id } });
    expect(service.exchanges).toHaveLength(1);
    vi.setSystemTime(Date.now() + 200);
    await api.getClient({ path: { id } });
    expect(service.exchanges).toHaveLength(2);
  });

  it('is renewed once if it is rejected before it expires, also for a call that is never retried otherwise', async () => {
    service.respond = ({ headers }) =>
      headers.authorization === 'Bearer token-1'
        ? problem(401, 'UNAUTHENTICATED')
        : { body: { succeeded: [], failed: [] } };
    const response = await service.client().upsertContacts({ body: { contacts: [{ pmsRef: 'P-1' }] } });
    expect(response.status).toBe(200);
    expect(authorizations()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it('is renewed once for fifty rejected calls', async () => {
    const api = service.client();
    await api.getClient({ path: { id } });
    service.respond = ({ headers }) =>
      headers.authorization === 'Bearer token-1' ? problem(401, 'UNAUTHENTICATED') : { body: {} };
    const responses = await Promise.all(Array.from({ length: 50 }, () => api.getClient({ path: { id } })));
    expect(responses.every(({ ok }) => ok)).toBe(true);
    expect(service.exchanges).toHaveLength(2);
  });

  it('is not renewed again if the new one is rejected too: the response is 401', async () => {
    service.respond = () => problem(401, 'UNAUTHENTICATED');
    const response = await service.client().getClient({ path: { id } });
    expect(response.status).toBe(401);
    expect(service.received).toHaveLength(2);
    expect(service.exchanges).toHaveLength(2);
  });

  it('makes calls fail with the problem if the API key is rejected, and is requested again by the next call', async () => {
    service.exchange = (_, index) => (index === 0 ? problem(401, 'UNAUTHENTICATED') : { body: tokenNamed('token-2') });
    const api = service.client();
    const rejected = await api.getClient({ path: { id } }).catch((error: unknown) => error);
    expect(rejected).toBeInstanceOf(ProblemError);
    expect(rejected).toMatchObject({ problem: { code: 'UNAUTHENTICATED' } });
    expect(service.received).toHaveLength(0);
    await expect(api.getClient({ path: { id } })).resolves.toMatchObject({ ok: true });
  });

  it('can come from another source', async () => {
    const accessToken = vi.fn(async () => ({ access_token: 'mine', token_type: 'Bearer' as const, expires_in: 900 }));
    const api = createClient({ baseUrl: service.baseUrl, tenant: 'hartwell', accessToken });
    await Promise.all([api.getClient({ path: { id } }), api.getClient({ path: { id } })]);
    expect(accessToken).toHaveBeenCalledTimes(1);
    expect(authorizations()).toEqual(['Bearer mine', 'Bearer mine']);
    expect(service.exchanges).toHaveLength(0);
  });

  it('is still awaited by the others if one waiting call is aborted', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    service.exchange = async () => {
      await released;
      return { body: tokenNamed('late') };
    };
    const api = service.client();
    const impatient = new AbortController();
    const first = api.getClient({ path: { id }, signal: impatient.signal });
    const second = api.getClient({ path: { id } });
    impatient.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    release();
    await expect(second).resolves.toMatchObject({ ok: true });
    expect(service.exchanges).toHaveLength(1);
  });
});
