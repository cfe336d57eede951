import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { openStore } from '../src/platform/store/store.ts';
import { patientLimits } from './patient-limits.ts';
import { insertOrg } from './rows.ts';
import { fillDisk } from './small-disk.ts';

/**
 * A process that writes rows, fills the disk so that PostgreSQL cannot write its log, and continues once there is space
 * again. Prints the names of the errors, and the rows before and after.
 */
const [folder = ''] = process.argv.slice(2);
const tenantId = 1;
const filler = join(folder, 'filler');
const warnings: string[] = [];
const log = { info() {}, warn: (message: string) => warnings.push(message) };
const store = await openStore({ dataDir: folder, limits: patientLimits, log });
const rows: number[] = [];
const failures: string[] = [];
for (let round = 1; round <= 3; round++) {
  await store.write(tenantId, (transaction) => transaction.all(insertOrg(tenantId, `round ${round}`)));
  fillDisk(filler, 100_000);
  failures.push(await failureOf(writeLog), await failureOf(writeLog));
  rmSync(filler);
  while ((await failureOf(() => store.ready())) !== 'none') await pause(100);
  const counted = await store.read(tenantId, (session) =>
    session.first(sql<{ rows: number }>`select count(*)::integer as rows from org where name like 'round %'`),
  );
  rows.push(counted?.rows ?? 0);
}
await store.close();
console.log(JSON.stringify({ rows, failures, warnings }));

/** Writes more than the disk has left. */
function writeLog(): Promise<unknown> {
  return store.write(tenantId, (transaction) =>
    transaction.all(sql`select pg_logical_emit_message(true, '', repeat('x', 20000000))`),
  );
}

async function failureOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'none';
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}
