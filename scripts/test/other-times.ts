/**
 * Runs tests at other times and in other time zones: `pnpm test:times [--from N] [files]`. By default, the tests of the
 * server that depend on the day run on PGlite, at each of the instants below, or from the Nth one on. Requires `faketime`,
 * which moves the clock of processes.
 */
import { spawn, spawnSync } from 'node:child_process';
import { glob, readFile } from 'node:fs/promises';
import { readOptions } from '../options.ts';

/** Instants in UTC at which days, months and offsets change for a tenant or for the machine. */
const times: readonly { readonly name: string; readonly at: string; readonly zone: string }[] = [
  { name: 'after midnight of the tenant', at: '2026-11-24 05:10:00', zone: 'UTC' },
  { name: 'in the morning', at: '2026-11-24 07:20:00', zone: 'UTC' },
  { name: 'before midnight', at: '2026-11-24 23:55:00', zone: 'UTC' },
  { name: 'first day of a month', at: '2026-12-01 14:00:00', zone: 'UTC' },
  { name: 'last day of a year', at: '2026-12-31 23:50:00', zone: 'Pacific/Auckland' },
  { name: 'last day of a month', at: '2027-01-31 20:00:00', zone: 'America/Los_Angeles' },
  { name: 'leap day', at: '2028-02-29 15:00:00', zone: 'UTC' },
  { name: 'night to summer time', at: '2027-03-14 06:58:00', zone: 'America/Los_Angeles' },
  { name: 'night to standard time', at: '2027-11-07 05:58:00', zone: 'Pacific/Auckland' },
];

const { values: options, positionals: named } = readOptions({
  allowPositionals: true,
  options: { from: { type: 'string', default: '1' } },
});
const from = Number(options.from);
if (!Number.isInteger(from) || from < 1 || from > times.length) {
  console.error(`--from must be the number of an instant: 1 to ${times.length}.`);
  process.exit(1);
}
if (spawnSync('faketime', ['--version']).error !== undefined) {
  console.error('faketime is not installed. On Debian, run: apt-get install faketime');
  process.exit(1);
}
const chosen = times.slice(from - 1);
const files = named.length > 0 ? named : await filesThatDependOnTheDay();
let failures = 0;
for (const { name, at, zone } of chosen) {
  console.log(`\n${name}: ${at} UTC, in ${zone}`);
  const code = await run(at, zone, ['--project', 'pglite', ...files]);
  if (code !== 0) failures += 1;
}
console.log(`\n${chosen.length - failures} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

async function filesThatDependOnTheDay(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob('packages/{server,demo-data}/src/**/*.test.ts')) {
    if (/\.(unit|postgres)\.test\.ts$/.test(file)) continue;
    if (/Temporal\.Now|Date\.now|new Date\(\)|today|plusDays|daysAgo/i.test(await readFile(file, 'utf8')))
      found.push(file);
  }
  return found;
}

function run(at: string, zone: string, words: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // An offset is the same in all processes that a test starts and kills. A start time would begin anew in each of them.
    const offset = Math.round((Date.parse(`${at.replace(' ', 'T')}Z`) - Date.now()) / 1000);
    const child = spawn(
      'faketime',
      ['-f', `${offset < 0 ? '' : '+'}${offset}s`, 'vitest', 'run', '--reporter=dot', ...words],
      {
        stdio: 'inherit',
        // Timers measure real time, or they would never end.
        env: { ...process.env, ENGINES: 'all', TZ: zone, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
      },
    );
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
