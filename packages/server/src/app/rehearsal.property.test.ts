import { readdir } from 'node:fs/promises';
import { Random } from '@financial-automation/demo-data/profiles/random';
import { expect, test } from 'vitest';
import { type BaseRequest, BaseRequests } from '../../test/isolation/base-requests.ts';
import { digestOf, TenantValues } from '../../test/isolation/tenant-values.ts';
import { type HttpResponse, testService } from '../../test/service.ts';
import { allOperations, takes } from '../contract/contract.ts';

/** How many calls are made twice: first as a dry run, then really. */
const runs = Number(process.env.REHEARSAL_RUNS ?? '8');
const seed = Number(process.env.REHEARSAL_SEED ?? '1');

const { service, store, tenant, signIn, call: anyCall } = await testService({ filled: 'examples' });
const { call } = await signIn({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] });
const rehearsed = allOperations.filter((operation) => takes(operation, 'Dry-Run'));
/** All of them, or as many as there are runs, from all parts of the contract. */
const called = rehearsed.filter((_, index) => index % Math.ceil(rehearsed.length / runs) === 0);

/** The rows of the tenant, and the files that are stored. */
async function digest() {
  const files = await readdir(service.config.dataDir, { recursive: true });
  return { ...(await digestOf(store, tenant.id)), files: files.toSorted() };
}

/** A response without IDs, instants and numbers, whose names remain. */
function patternOf({ status, body, headers }: HttpResponse<unknown>): string {
  const names = [...headers.keys()].filter((name) => !['dry-run', 'date', 'content-length'].includes(name)).toSorted();
  const text = JSON.stringify([status, names, headers.get('Location'), body]);
  return (
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
      .replaceAll(/\d+/g, '<number>')
      // Tokens of payment pages.
      .replaceAll(/\/pay\/[\w<>-]+/g, '/pay/<token>')
      .replaceAll(/signature=[\w<>-]+/g, 'signature=<token>')
  );
}

function targetOf({ operation, path, query }: BaseRequest): string {
  const place = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ''));
  return Object.keys(query).length === 0 ? place : `${place}?${new URLSearchParams(query)}`;
}

test(`${runs} random calls › a dry run has the response of the real call, and changes nothing`, async () => {
  const random = new Random(seed);
  const accepted = new Set<string>();
  let requests = new BaseRequests(random, await TenantValues.read(store, tenant.id));
  for (let run = 0; run < runs; run++) {
    // What earlier calls have created can be changed by later ones.
    if (run % 20 === 19) requests = new BaseRequests(random, await TenantValues.read(store, tenant.id));
    const operation = called[run % called.length];
    if (operation === undefined) throw new Error('No operation can be rehearsed.');
    const request = requests.of(operation);
    const send = (headers: Record<string, string>) =>
      call(operation.method, targetOf(request), request.body, { 'Idempotency-Key': `run-${run}`, ...headers });
    const before = await digest();
    const dry = await send({ 'Dry-Run': 'true' });
    const told = `${operation.id} ${targetOf(request)} ${JSON.stringify(request.body)}`;
    expect(await digest(), told).toEqual(before);
    expect(dry.headers.get('Dry-Run'), told).toBe('true');
    const real = await send({});
    expect(real.headers.get('Dry-Run')).toBeNull();
    // The key was not used: this is no replay.
    expect(real.headers.get('Idempotency-Replayed')).toBeNull();
    expect(patternOf(dry), told).toBe(patternOf(real));
    if (real.status < 300) {
      accepted.add(operation.id);
      if (real.status === 201) expect(await digest(), told).not.toEqual(before);
    }
  }
  // Calls that fail prove little.
  expect(accepted.size).toBeGreaterThan(called.length / 2);
});

test('every operation that can be rehearsed accepts no other value than true and false', async () => {
  expect(rehearsed.map(({ id }) => id)).toContain('onboardClient');
  expect(rehearsed.filter(({ method }) => method === 'GET')).toEqual([]);
  for (const { id, method, path, bodyLimit } of rehearsed) {
    const place = path.replaceAll(/\{[^}]+\}/g, '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101');
    const body = bodyLimit === null ? undefined : {};
    expect(await anyCall(method, place, body, { 'Dry-Run': 'yes' }), id).toMatchObject({
      status: 400,
      body: { errors: expect.arrayContaining([expect.objectContaining({ in: 'header', pointer: '/Dry-Run' })]) },
    });
  }
});
