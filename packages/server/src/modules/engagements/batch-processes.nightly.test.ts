import { expect, test } from 'vitest';
import { engineName } from '../../../test/database.ts';
import { freePort } from '../../../test/free-port.ts';
import type { Batch, Engagement } from '../../../test/modules/engagements.ts';
import { type Environment, processEnvironment, runCli, startServer } from '../../../test/process.ts';

/** Calls of one API user, to the process at an address. */
async function callerOf(environment: Environment, address: string) {
  const key = await runCli(environment, 'api-key', 'create', 'hartwell', 'crm', '--roles', 'API_ADMIN');
  const json = { 'Content-Type': 'application/json' };
  const exchanged = await fetch(`${address}/v1/auth/token`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ apiKey: key.out.trim() }),
  });
  const { access_token: token } = (await exchanged.json()) as { access_token: string };
  return async <Body>(at: string, method: string, path: string, body?: object): Promise<Body> => {
    const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: 'hartwell' };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${at}${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return JSON.parse(text);
  };
}

/** Each poll takes processor time from the server that it waits for. */
const rarely = { interval: 250 };

type Call = Awaited<ReturnType<typeof callerOf>>;

/** Creates a client and a partner for the engagements. */
async function entriesFor(call: Call, address: string) {
  const created = await call<{ clientId: string }>(address, 'POST', '/api/v1/clients/v1/onboard', {
    name: 'Harbor & Pine LLC',
    address: { country: 'US' },
  });
  const type = { name: 'Partner', code: 'P', rank: 1, isBillable: true };
  const types = await call<{ items: { id: string }[] }>(address, 'POST', '/api/v1/staff/type/batch/create', {
    items: [type],
  });
  const person = { firstName: 'Dana', lastName: 'Whitfield', email: 'dana@example.com', isBillable: true };
  const fields = { ...person, staffRef: 'S-1', staffTypeId: types.items[0]?.id };
  const { id: partnerId } = await call<{ id: string }>(address, 'POST', '/api/v1/staff', fields);
  return (batch: string, count: number) => ({
    engagements: Array.from({ length: count }, (_, index) => ({
      systemRef: `${batch}-${index}`,
      clientId: created.clientId,
      fiscalYear: 2026,
      partnerId,
    })),
  });
}

async function start(call: Call, address: string, body: object): Promise<string> {
  return (await call<{ batchId: string }>(address, 'POST', '/api/v1/engagements/batch/create', body)).batchId;
}

const batchOf = (call: Call, address: string, id: string) =>
  call<Batch>(address, 'GET', `/api/v1/engagements/batch/${id}/status`);

/** The systemRefs of all engagements, in the order in which they were created. */
async function createdRefs(call: Call, address: string): Promise<string[]> {
  const { data } = await call<{ data: Engagement[] }>(address, 'POST', '/gql/v1/engagements', { pageSize: 1000 });
  return data.map(({ systemRef }) => systemRef);
}

async function another(environment: Environment): Promise<Environment> {
  return { ...environment, PORT: String(await freePort()) };
}

test('createEngagementBatch › a batch whose process is killed is finished by another one, and no entry is processed twice', async () => {
  const environment = await processEnvironment();
  await runCli(environment, 'tenant', 'create', 'hartwell');
  const killed = await startServer(environment);
  const call = await callerOf(environment, killed.address);
  const entries = await entriesFor(call, killed.address);
  const count = 100;
  const batchId = await start(call, killed.address, entries('season', count));
  await expect.poll(async () => (await batchOf(call, killed.address, batchId)).succeeded).toBeGreaterThan(5);
  killed.kill('SIGKILL');
  await killed.finished;

  const successor = await startServer(engineName === 'postgres' ? await another(environment) : environment);
  const interrupted = await batchOf(call, successor.address, batchId);
  expect(interrupted).toMatchObject({ status: 'PROCESSING', failed: 0 });
  expect(interrupted.succeeded).toBeLessThan(count);
  await expect.poll(async () => (await batchOf(call, successor.address, batchId)).status, rarely).toBe('COMPLETED');
  const finished = await batchOf(call, successor.address, batchId);
  expect(finished).toMatchObject({ total: count, succeeded: count, failed: 0, errors: [] });
  expect(finished.engagementIds.slice(0, interrupted.succeeded)).toEqual(interrupted.engagementIds);
  expect(await createdRefs(call, successor.address)).toEqual(
    Array.from({ length: count }, (_, index) => `season-${index}`),
  );
  successor.kill('SIGKILL');
});

test.runIf(engineName === 'postgres')(
  'createEngagementBatch › two processes share batches, and no entry is processed twice',
  async () => {
    const environment = await processEnvironment();
    await runCli(environment, 'tenant', 'create', 'hartwell');
    const one = await startServer(environment);
    const other = await startServer(await another(environment));
    const call = await callerOf(environment, one.address);
    const entries = await entriesFor(call, one.address);
    const names = Array.from({ length: 6 }, (_, number) => `batch${number}`);
    const ids = await Promise.all(names.map((name) => start(call, one.address, entries(name, 12))));
    await expect
      .poll(async () => Promise.all(ids.map(async (id) => (await batchOf(call, other.address, id)).status)), rarely)
      .toEqual(names.map(() => 'COMPLETED'));
    const refs = await createdRefs(call, one.address);
    const all = names.flatMap((name) => Array.from({ length: 12 }, (_, index) => `${name}-${index}`));
    expect(refs.toSorted()).toEqual(all.toSorted());
    for (const server of [one, other]) {
      await server.wrote('"job":"create-engagements"');
      server.kill('SIGKILL');
    }
  },
);
