/**
 * Runs a program of this folder, unless something other than pnpm calls it: only pnpm brings the Node that runs TypeScript. Plain JavaScript,
 * for the Node that the machine has.
 */
const [, , file = '', ...words] = process.argv;
const manager = process.env.npm_config_user_agent?.split(' ')[0] ?? 'this';
const command = file.replace('.ts', '');

if (manager.startsWith('pnpm/')) {
  process.argv.splice(1, 2, file);
  await import(new URL(file, import.meta.url).href);
} else {
  console.error(
    `This repository uses pnpm 12, and ${manager} cannot run it. Type: npx --yes pnpm@12 ${[command, ...words].join(' ')}`,
  );
  process.exitCode = 1;
}
