/**
 * Compares the plans of every list, search and by-ID read on the demo data of a large firm: one plan for all values, a plan for
 * its values each time, and what the service does after several reads. Lists the reads where the service
 * takes longer than the better of the two.
 */

import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { type FirmRead, readsOf } from './firm-reads.ts';
import { median } from './median.ts';
import { openMidFirm } from './mid-firm.ts';

const { values } = readOptions({
  options: {
    planning: { type: 'boolean' },
    database: { type: 'string' },
    profile: { type: 'string', default: 'mid' },
    rounds: { type: 'string', default: '5' },
  },
});
const rounds = Number(values.rounds);
/** Uses of a named statement after which PostgreSQL considers one plan for all values. */
const usesBefore = 9;
/** Differences below it are noise. */
const leastDifference = 2;

type Mode = 'auto' | 'force_generic_plan' | 'force_custom_plan';

/** Milliseconds of a read. */
interface Figure {
  readonly read: string;
  readonly service: number;
  readonly 'one plan': number;
  readonly 'plan for its values': number;
}

const firm = await openMidFirm(values.database, values.profile);
const { store, scope } = firm;

try {
  const reads = await store.read(scope.tenantId, (session) => readsOf(session, scope));
  const figures: Figure[] = [];
  for (const read of reads) {
    for (let use = 0; use < usesBefore; use += 1) await timeOf(read, 'auto');
    const times = { auto: [] as number[], force_generic_plan: [] as number[], force_custom_plan: [] as number[] };
    // In turns, so that a slow second of the machine hits all of them.
    for (let round = 0; round < rounds; round += 1)
      for (const mode of ['auto', 'force_generic_plan', 'force_custom_plan'] as const)
        times[mode].push(await timeOf(read, mode));
    figures.push({
      read: read.name,
      service: median(times.auto),
      'one plan': median(times.force_generic_plan),
      'plan for its values': median(times.force_custom_plan),
    });
  }
  const worse = figures.filter(
    ({ service, ...others }) => service > 1.5 * leastOf(others) && service > leastOf(others) + leastDifference,
  );
  const sum = (name: 'service' | 'one plan' | 'plan for its values') =>
    figures.reduce((total, figure) => total + figure[name], 0).toFixed(0);
  for (const { read, ...times } of worse)
    console.log(
      `${read}: ${Object.entries(times)
        .map(([name, time]) => `${name} ${time.toFixed(1)} ms`)
        .join(', ')}`,
    );
  console.log(
    `${figures.length} reads: ${sum('service')} ms in all, ${sum('one plan')} ms with one plan for all values, ${sum('plan for its values')} ms with a plan each time. ${worse.length} take 1.5 times as long as with the better plan.`,
  );
} finally {
  await firm.close();
}

function leastOf(times: { readonly [name: string]: number | string }): number {
  return Math.min(...Object.values(times).filter((time) => typeof time === 'number'));
}

/** Measures a read on a connection that plans in this way. @returns milliseconds */
async function timeOf(read: FirmRead, mode: Mode): Promise<number> {
  return store.read(scope.tenantId, async (session) => {
    await session.all(sql`select set_config('plan_cache_mode', ${mode}, false)`);
    const started = performance.now();
    await read.run(session);
    const time = performance.now() - started;
    await session.all(sql`select set_config('plan_cache_mode', 'auto', false)`);
    return time;
  });
}
