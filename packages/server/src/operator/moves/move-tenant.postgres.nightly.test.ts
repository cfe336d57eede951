import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { threeDatabases, upsert, verify } from '../../../test/moves.ts';
import { runScript } from '../../../test/process.ts';
import { listTenants } from '../tenants.ts';
import { type MoveStep, moveTenant } from './move-tenant.ts';

const databases = await threeDatabases();
const { environment, callers, operator, proxy, second, look, placesOf, endLeases } = databases;

const killedMove = fileURLToPath(new URL('../../../test/killed-move.ts', import.meta.url));

test('tenant move › is whole in one place if it is killed at any step, and continues', async () => {
  const load = databases.loads();
  const killed = async (step: MoveStep) =>
    expect(await runScript(environment, killedMove, 'beta', 'west', step)).toMatchObject({ code: null, error: '' });
  const writes = (name: string) =>
    expect
      .poll(async () => (await callers.beta('/api/v1/records', upsert(name, name), second.address)).status)
      .toBe(200);
  for (const step of ['watch', 'copy', 'catch up', 'verify', 'stop', 'switch'] satisfies MoveStep[]) {
    await killed(step);
    await endLeases();
    await writes(step);
  }
  await killed('finish');
  // Whoever calls next finishes it, without the command.
  await writes('finish');
  await look();
  expect(await placesOf('beta')).toEqual(['east false old copy; the tenant moved to west', 'west true ']);
  await verify(databases, load);
});

test('a database that is down takes only its tenants with it', async () => {
  const load = databases.loads();
  for (const one of [load.beta, load.gamma]) Object.assign(one, { mayBeRejected: true, mayBeUnreadable: true });
  await expect.poll(() => load.alpha.acknowledged.size).toBeGreaterThan(3);
  await proxy.sever();
  await look();
  const before = load.alpha.acknowledged.size;
  await expect.poll(() => load.alpha.acknowledged.size - before).toBeGreaterThan(10);
  // What is in the others is listed, with the old copy of the tenant that has moved.
  const { found, unavailable } = await listTenants(operator);
  expect(found.map(({ name, cell }) => `${name} ${cell}`)).toEqual(['alpha home', 'beta east']);
  expect(unavailable).toEqual(['west']);
  await expect(moveTenant(operator, { tenant: 'alpha', to: 'west' })).rejects.toThrow(/unavailable/);
  expect(load.gamma.rejected).toBeGreaterThan(0);
  await proxy.restore();
  await look();
  const rejected = load.gamma.acknowledged.size;
  await expect.poll(() => load.gamma.acknowledged.size).toBeGreaterThan(rejected);
  await Promise.all(Object.values(load).map((one) => one.end()));
  expect(load.alpha.faults).toEqual([]);
});
