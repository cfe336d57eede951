import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createFakeClock, isFaketimeInstalled } from '../../test/fake-time.ts';
import { freePort } from '../../test/free-port.ts';
import { embeddedBinaries, PostgresProcess } from '../../test/postgres-process.ts';
import { processEnvironment, runCli, startServer } from '../../test/process.ts';
import { backgroundWork } from '../app/jobs.ts';

const isInstalled = isFaketimeInstalled();
if (!isInstalled) console.warn('NOT TESTED: processes with a wrong clock, because faketime is not installed.');

const day = 86_400;
const defaults = await processEnvironment();
/** For each daily task: it has run today. */
const allOfToday = backgroundWork.clockTasks.filter(({ every }) => every === 'day').map(() => true);

/** A PostgreSQL and settings of processes on it, each with a clock of its own, and a tenant. */
async function wrongTimes() {
  const [databaseClock, processClock] = [await createFakeClock(), await createFakeClock()];
  const server = await PostgresProcess.create(embeddedBinaries(), [], databaseClock.variables);
  onTestFinished(() => server.remove());
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  const environment = {
    ...defaults,
    ...processClock.variables,
    DATABASE_URL: server.url,
    PORT: String(await freePort()),
  };
  await runCli(environment, 'migrate');
  await runCli(environment, 'tenant', 'create', 'hartwell');
  /** Whatever a wrong clock could drop, remove or set. */
  const state = async () => {
    const { rows } = await client.query<Record<string, unknown>>(`
      select (select count(*) from audit_log) as audited, (select count(*) from recorded_event) as events,
      (select json_agg(partition order by partition) from partitions_of('audit_log')) as months,
      (select json_agg(partition order by partition) from partitions_of('delivery_attempt')) as attempts,
      (select json_agg(day = (now() at time zone 'America/New_York')::date) from clock_day) as today`);
    return rows;
  };
  return { databaseClock, processClock, environment, state };
}

test.skipIf(!isInstalled)('a process whose clock differs does not start, and one that runs is not ready', async () => {
  const { processClock, environment, state } = await wrongTimes();
  const readiness = async () => {
    const response = await fetch(`http://127.0.0.1:${environment.PORT}/readyz`);
    return { status: response.status, detail: (await response.json()).detail };
  };
  const running = await startServer(environment);
  await expect.poll(async () => (await state())[0]?.today).toEqual(allOfToday);
  const before = await state();
  for (const seconds of [8 * 365 * day, 40 * day, 10, -10, -40 * day]) {
    await processClock.differBy(seconds);
    await expect.poll(readiness).toMatchObject({
      status: 503,
      detail: expect.stringMatching(seconds > 0 ? / ahead of that of the database/ : / behind that of the database/),
    });
    const started = await runCli({ ...environment, PORT: String(await freePort()) }, 'serve');
    expect(started).toMatchObject({ code: 1, error: expect.stringMatching(/^The clock of this process is /) });
  }
  expect(await state()).toEqual(before);
  await processClock.differBy(2);
  await expect.poll(readiness).toMatchObject({ status: 200 });
  running.kill('SIGTERM');
  expect(await running.finished).toMatchObject({ code: 0 });
});

test.skipIf(!isInstalled)(
  'when the clock of the database was ahead, daily tasks run again once it is right',
  async () => {
    const { databaseClock, processClock, environment, state } = await wrongTimes();
    const both = (seconds: number) => Promise.all([databaseClock.differBy(seconds), processClock.differBy(seconds)]);
    const settled = async () => {
      const running = await startServer(environment);
      await expect.poll(async () => (await state())[0]?.today).toEqual(allOfToday);
      running.kill('SIGTERM');
      await running.finished;
    };
    await both(40 * day);
    await settled();
    await both(0);
    await settled();
    await both(day);
    await settled();
  },
);
