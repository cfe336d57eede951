import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { addTenant } from '../../../../test/database.ts';
import { patientLimits } from '../../../../test/patient-limits.ts';
import { embeddedBinaries, PostgresProcess } from '../../../../test/postgres-process.ts';
import { runOn } from '../../../../test/postgres-server.ts';
import { openStore, type Session, type Store } from '../store.ts';

const primary = await PostgresProcess.create(embeddedBinaries(), ['max_wal_senders=4']);
afterAll(() => primary.remove());
const databaseUrl = primary.url.replace('admin', 'owner');
await runOn(primary.url, `create role owner login createrole`, `alter database postgres owner to owner`);
// The store of another process, which knows no standby.
const writer = await openStore({ databaseUrl, poolSize: 2, limits: patientLimits });
afterAll(() => writer.close());
const standby = await primary.standby();
afterAll(() => standby.remove());
const standbyUrls = [standby.url.replace('admin', 'owner')];
/** Its reads wait for the standby, however busy the machine is. */
const reader = await openStore({
  databaseUrl,
  standbyUrls,
  poolSize: 2,
  limits: { ...patientLimits, standby: 60_000 },
});
afterAll(() => reader.close());
/** Its reads wait for a short time. */
const hasty = await openStore({ databaseUrl, standbyUrls, poolSize: 2, limits: { ...patientLimits, standby: 20 } });
afterAll(() => hasty.close());
const [alpha, beta] = [await addTenant(writer, 'alpha'), await addTenant(writer, 'beta')];

const outcomes = new Set<string>();
reader.standbys?.observe((outcome) => outcomes.add(outcome));
const leftOut = (store: Store) => store.standbys?.states[0]?.leftOut;
const untilUsed = (store: Store) => expect.poll(() => leftOut(store)).toBeUndefined();

const rowsSeen = (tenantId: number) => (session: Session) =>
  session.first<{ count: number; onStandby: boolean; foreign: number }>(sql`
    select count(*) filter (where tenant_id = ${tenantId})::integer as count, pg_is_in_recovery() as "onStandby",
      count(*) filter (where tenant_id <> ${tenantId})::integer as foreign from department`);
let written = 0;
async function write(tenantId: number): Promise<void> {
  written += 1;
  const name = `D${written}`;
  await writer.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into department (tenant_id, id, system_ref, code, name)
      values (${tenantId}, gen_random_uuid(), ${name}, ${name}, ${name})`),
  );
}

test('a read on a standby sees what any process has committed before, of its tenant alone', async () => {
  await untilUsed(reader);
  for (let count = 1; count <= 20; count++) {
    for (const tenantId of [alpha, beta]) {
      await write(tenantId);
      const seen = await reader.read(tenantId, rowsSeen(tenantId), 'standby');
      expect(seen).toEqual({ count, onStandby: true, foreign: 0 });
    }
  }
  expect(await reader.read(alpha, rowsSeen(alpha))).toMatchObject({ onStandby: false });
  expect(outcomes).toEqual(new Set(['served']));
});

test('a standby rejects writes, and what a read writes by mistake is not lost silently', async () => {
  const update = sql`update department set name = name where tenant_id = ${alpha} and code = 'D1' returning pg_is_in_recovery() as "onStandby"`;
  expect(await reader.read(alpha, (session) => session.first(update), 'standby')).toEqual({ onStandby: false });
  expect(outcomes).toContain('failed');
  await untilUsed(reader);
});

test('while a standby is behind, the primary is read; once it is left out, nobody waits for it; it comes back', async () => {
  await untilUsed(hasty);
  await runOn(standby.url, 'select pg_wal_replay_pause()');
  await write(alpha);
  expect(await hasty.read(alpha, rowsSeen(alpha), 'standby')).toEqual({ count: 21, onStandby: false, foreign: 0 });
  await expect.poll(() => leftOut(hasty)).toBe('It is more than a second behind the primary.');
  // This one waits for up to a minute, but not for a standby that is left out.
  expect(await reader.read(alpha, rowsSeen(alpha), 'standby')).toEqual({ count: 21, onStandby: false, foreign: 0 });
  await runOn(standby.url, 'select pg_wal_replay_resume()');
  for (const store of [hasty, reader]) await untilUsed(store);
  expect(await reader.read(alpha, rowsSeen(alpha), 'standby')).toEqual({ count: 21, onStandby: true, foreign: 0 });
});

test('a read on a standby that is killed runs on the primary; the standby comes back once it runs', async () => {
  const runs: boolean[] = [];
  const started = Promise.withResolvers<void>();
  const read = reader.read(
    alpha,
    async (session) => {
      const { onStandby = false } = (await rowsSeen(alpha)(session)) ?? {};
      runs.push(onStandby);
      started.resolve();
      if (onStandby) await session.all(sql`select pg_sleep(600)`);
    },
    'standby',
  );
  await started.promise;
  await standby.stop('SIGQUIT');
  await read;
  expect(runs).toEqual([true, false]);
  await expect.poll(() => leftOut(reader)).toMatch(/^It does not respond/);
  await write(alpha);
  expect(await reader.read(alpha, rowsSeen(alpha), 'standby')).toEqual({ count: 22, onStandby: false, foreign: 0 });
  await standby.start();
  await untilUsed(reader);
  expect(await reader.read(alpha, rowsSeen(alpha), 'standby')).toEqual({ count: 22, onStandby: true, foreign: 0 });
});

test('a standby that was promoted is left out', async () => {
  await runOn(standby.url, 'select pg_promote()');
  await expect.poll(() => leftOut(reader)).toBe('Not a standby.');
  await write(alpha);
  expect(await reader.read(alpha, rowsSeen(alpha), 'standby')).toEqual({ count: 23, onStandby: false, foreign: 0 });
});
