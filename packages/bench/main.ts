/** `pnpm bench` measures what the way of a request costs; `--attack`, `--writes` and others measure the rest: see README.md. */
const others = [
  'attack',
  'writes',
  'pending',
  'retention',
  'delivery',
  'billing',
  'plans',
  'planning',
  'reads',
  'aggregates',
  'validation',
  'growth',
];
const wanted = others.find((name) => process.argv.includes(`--${name}`)) ?? 'overhead';
await import(`./${wanted}.ts`);
// The PostgreSQL that a benchmark starts ends the process by a hook of its own, with 0 whatever the exit code is.
process.exit();
