import '../src/app/handlers.ts';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Directory } from '../src/admission/directory.ts';
import { type Background, type BackgroundWork, startBackground } from '../src/background/background.ts';
import type { BackgroundService } from '../src/background/job.ts';
import { Vault } from '../src/platform/auth/vault.ts';
import { MailServers } from '../src/platform/mail/mail-server.ts';
import { createMetrics } from '../src/platform/process/metrics.ts';
import { LocalStorage } from '../src/platform/storage/local-storage.ts';
import type { Store } from '../src/platform/store/store.ts';
import { atEnd } from './at-end.ts';

export interface TestBackground extends Background {
  readonly service: BackgroundService;
}

/** The parts of a service that background work requires. */
export function backgroundService(store: Store): BackgroundService {
  const dataDir = join(tmpdir(), `financial-automation-test-${randomUUID()}`);
  atEnd(() => rm(dataDir, { recursive: true, force: true }));
  return {
    store,
    storage: new LocalStorage(dataDir),
    log: pino({ level: process.env.TEST_LOG ?? 'silent' }),
    vault: new Vault([Buffer.alloc(32, 7)]),
    directory: new Directory(store),
    metrics: createMetrics('v1.0.0', []),
    processor: undefined,
    mailServers: new MailServers(undefined),
  };
}

/** Runs background work until it is stopped, or the file ends. */
export async function runBackground(
  store: Store,
  work: Partial<BackgroundWork>,
  now?: () => Temporal.Instant,
): Promise<TestBackground> {
  const service = backgroundService(store);
  const all = { jobs: [], clockTasks: [], ...work };
  const background = await startBackground(service, all, now);
  atEnd(() => background.stop(0));
  return { ...background, service };
}

/** Returns how often each action was done, for names with this prefix. */
export async function counted(store: Store, tenantId: number, prefix: string): Promise<Record<string, number>> {
  const rows = await store.read(tenantId, (session) =>
    session.all(sql<{ name: string; value: number }>`
      select name, value from tenant_counter where tenant_id = ${tenantId} and starts_with(name, ${prefix}) order by name`),
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name.slice(prefix.length), value]));
}

/** Returns the number of jobs with a name by status. */
export async function jobStates(store: Store, job: string): Promise<Record<string, number>> {
  const { rows } = await store.ownerStatements(
    'select status, count(*)::integer as jobs from background_job where name = $1 group by status order by status',
    [job],
  );
  return Object.fromEntries(rows.map(({ status, jobs }) => [String(status), Number(jobs)]));
}

/** Waits until the time has passed or the signal is aborted. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal });
}
