/** `pnpm bench` measures the overhead of a request; `--attack`, `--writes` and others measure the rest: see README.md. */
const others: Readonly<Record<string, string>> = {
  attack: 'what one tenant can do to the others',
  growth: 'whether processor time grows faster than linear with inputs of every shape',
  idle: 'processes without work, with 1,000 tenants',
  standby: 'reads on a standby beside reads on the primary',
  soak: 'whether memory grows in half an hour of mixed load',
  writes: 'contacts, time and billing beside hand-written SQL',
  delivery: 'events on their way to receivers',
  pending: 'memory with 100,000 pending deliveries',
  retention: 'tables of events while old ones are removed',
  reads: 'every read of a large firm beside bare SQL',
  aggregates: 'aggregates over 1.2 million time entries beside hand-written SQL',
  ageing: 'receivables and unbilled work as of a past day, on 2.4 million entries of the ledger',
};

if (process.argv.includes('--help')) {
  console.log('pnpm bench measures the overhead of a request beside other frameworks. Other measurements:\n');
  for (const [name, subject] of Object.entries(others)) console.log(`  --${name.padEnd(12)}${subject}`);
  console.log('\npackages/bench/README.md describes them, with their options.');
  process.exit();
}
const chosen = Object.keys(others).find((name) => process.argv.includes(`--${name}`)) ?? 'overhead';
await import(`./${chosen}.ts`);
// The PostgreSQL that a benchmark starts ends the process by a hook of its own, with 0 whatever the exit code is.
process.exit();
