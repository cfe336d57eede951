/** `pnpm bench` measures the overhead of a request; `--attack`, `--writes` and others measure the rest: see README.md. */
import { loadavg } from 'node:os';

const others: Readonly<Record<string, string>> = {
  attack: 'what one tenant can do to the others, also with mixtures of attacks',
  idle: 'processes without work, with 1,000 tenants',
  writes: 'contacts, time and billing beside hand-written SQL',
  delivery: 'events on their way to receivers',
  reads: 'every read of a large firm beside bare SQL',
  aggregates: 'aggregates over the time entries of a large firm beside hand-written SQL, and figures of its ledger',
  'past-days': 'figures of a large firm as of past days',
};

const chosen = Object.keys(others).find((name) => process.argv.includes(`--${name}`));
if (chosen === undefined && process.argv.includes('--help')) {
  console.log('pnpm bench measures the overhead of a request beside other frameworks. Other measurements:\n');
  for (const [name, subject] of Object.entries(others)) console.log(`  --${name.padEnd(12)}${subject}`);
  console.log('\npackages/bench/README.md describes them. With --help, each lists its options.');
  process.exit();
}
console.log(`Load of the machine: ${loadavg().map((load) => load.toFixed(1))}`);
// What remains is for the measurement.
process.argv = process.argv.filter((word) => word !== `--${chosen}`);
await import(`./${chosen ?? 'overhead'}.ts`);
// The PostgreSQL that a benchmark starts ends the process by a hook of its own, with 0 whatever the exit code is.
process.exit();
