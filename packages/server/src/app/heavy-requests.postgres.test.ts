import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type TestCaller, testService } from '../../test/service.ts';
import { withReads } from '../../test/with-reads.ts';
import { contract } from '../contract/contract.ts';

/** Reads and writes of this tenant wait until the latch is opened. */
let slowTenant = -1;
let running = 0;
let begun = 0;
let open = () => {};
let latch = Promise.resolve();

const { call, service, address, signIn, addTenant } = await testService({
  replace: ({ store }) => {
    const latched = async <Result>(tenantId: number, work: () => Promise<Result>): Promise<Result> => {
      if (tenantId !== slowTenant) return work();
      running += 1;
      begun += 1;
      await latch;
      return work().finally(() => {
        running -= 1;
      });
    };
    const slow = withReads(store, (tenantId, work) => latched(tenantId, () => store.read(tenantId, work)));
    const write: typeof store.write = (tenantId, work) => latched(tenantId, () => store.write(tenantId, work));
    return { store: Object.assign(Object.create(slow), { write }) };
  },
});
const { shares } = service.admission;
const { allHeavy, heavy } = shares.limits;

/** A tenant whose requests take until the function is called. */
async function slow(name: string): Promise<{ caller: TestCaller; finish: () => void }> {
  const tenant = await addTenant(name);
  const caller = await signIn({ roles: ['API_ADMIN'], tenant });
  slowTenant = tenant.id;
  latch = new Promise((resolve) => {
    open = resolve;
  });
  return { caller, finish: () => open() };
}

const costly = (caller: Pick<TestCaller, 'call'>) =>
  caller.call('POST', '/gql/v1/clients/search', { where: { jobs: {} } });

/** Calls of the first tenant until the function is called: who has called nothing for half a second has no share. */
async function keepCalling(): Promise<() => Promise<void>> {
  let isStopped = false;
  const callOnce = () => call('POST', '/gql/v1/clients', {});
  await callOnce();
  const calls = (async () => {
    while (!isStopped) {
      await callOnce();
      await pause(20);
    }
  })();
  return async () => {
    isStopped = true;
    await calls;
  };
}

let sent = 0;
function bulk(caller: Pick<TestCaller, 'call'>, count = contract['x-write-limits'].bulk) {
  const records = Array.from({ length: count }, () => {
    sent += 1;
    return { type: 'Industry', systemRef: `industry-${sent}`, attributes: { name: `Industry ${sent}` } };
  });
  return caller.call('POST', '/api/v1/records', { records });
}

test('requests whose callers have gone are not run', async () => {
  const { caller, finish } = await slow('gone');
  const leaving = new AbortController();
  const sockets: Socket[] = [];
  const keep = (message: unknown) => void sockets.push(Object(message).socket);
  subscribe('http.server.request.start', keep);
  onTestFinished(() => void unsubscribe('http.server.request.start', keep));
  const atOnce = Math.floor(allHeavy / heavy);
  const { token, tenant } = caller;
  const sent = Array.from({ length: atOnce + 5 }, () =>
    fetch(`${address}/gql/v1/clients/search`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Tenant: tenant.name, Authorization: `Bearer ${token}` },
      body: JSON.stringify({ where: { jobs: {} } }),
      signal: leaving.signal,
    }).catch(() => undefined),
  );
  await expect.poll(() => shares.usage().waiting).toBe(5);
  await expect.poll(() => running).toBe(atOnce);
  const before = begun;
  leaving.abort();
  await Promise.all(sent);
  // The service learns later than its callers that they have gone, and drops a request when it is its turn.
  await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
  expect(shares.usage().waiting).toBe(5);
  finish();
  await expect.poll(() => shares.usage()).toMatchObject({ units: 0, waiting: 0 });
  expect(begun).toBe(before);
});

describe.each([
  ['searchClients', costly],
  ['upsertRecords', bulk],
])('%s', (name, send) => {
  test('several heavy requests of a lone tenant run at a time; next to others they wait without a place', async () => {
    const { caller, finish } = await slow(`alone_${name.toLowerCase()}`);
    const first = Array.from({ length: 20 }, () => send(caller));
    await expect.poll(() => running).toBe(Math.floor(allHeavy / heavy));
    await expect.poll(() => shares.usage()).toMatchObject({ units: 2 * heavy, waiting: 18 });
    finish();
    for (const response of await Promise.all(first)) expect(JSON.stringify(response.body)).toMatch(/data|summary/);

    const next = await slow(`beside_${name.toLowerCase()}`);
    const stopOthers = await keepCalling();
    const second = Array.from({ length: 20 }, () => send(next.caller));
    await expect.poll(() => shares.usage().waiting).toBe(19);
    expect(running).toBe(1);
    // Others are served meanwhile, their heavy requests too, and so are quick ones of the same tenant.
    expect(await send({ call })).toMatchObject({ status: 200 });
    const quick = next.caller.call('POST', '/gql/v1/orgs', {});
    await expect.poll(() => running).toBe(2);
    next.finish();
    expect(await quick).toMatchObject({ status: 200 });
    await stopOthers();
    for (const response of await Promise.all(second)) expect(JSON.stringify(response.body)).toMatch(/data|summary/);
    expect(shares.usage()).toMatchObject({ units: 0, waiting: 0 });
  });
});

test('upsertRecords › a write of fewer items is no bulk write', async () => {
  const { caller, finish } = await slow('small');
  const writes = Array.from({ length: 5 }, () => bulk(caller, contract['x-write-limits'].bulk - 1));
  await expect.poll(() => running).toBe(5);
  finish();
  for (const response of await Promise.all(writes)) expect(response).toMatchObject({ status: 200 });
});
