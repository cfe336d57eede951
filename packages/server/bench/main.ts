/** `pnpm bench` measures what the way of a request costs; `--attack`, `--writes` and others measure the rest: see README.md. */
const others = ['attack', 'writes', 'pending', 'retention', 'delivery', 'billing', 'plans', 'reads'];
const wanted = others.find((name) => process.argv.includes(`--${name}`)) ?? 'overhead';
await import(`./${wanted}.ts`);
