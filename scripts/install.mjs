/**
 * Installs what a command requires, unless it is installed: `node scripts/install.mjs LEVEL`. What is there stays, so commands can follow
 * each other in any order. Anything but pnpm 12 ends with the command to type, because only pnpm brings the Node that runs TypeScript.
 * Plain JavaScript, for the Node that the machine has. Package scripts run it first, and then start the Node that it installed by `env node`,
 * because a shell remembers where `node` was.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Each has what those before it have. The tools of tests are more than half of all. */
const levels = {
  serving: [
    '--prod',
    '--filter=!@financial-automation/mock',
    '--filter=!@financial-automation/mcp',
    '--filter=!@financial-automation/openapi-breaking',
  ],
  commands: ['--prod'],
  tests: [],
};
const names = Object.keys(levels);
const markFile = 'node_modules/.cache/installed.json';

const { npm_config_user_agent: agent = 'This', npm_execpath: pnpm = '', npm_lifecycle_event: command } = process.env;
const [, manager, version] = /^(\w+)\/?(\d*)/.exec(agent) ?? [];
if (manager === 'pnpm' && Number(version) >= 12) {
  // An older pnpm runs only this check before it installs anything.
  if (process.argv[2] !== 'check') install(process.argv[2] ?? 'tests');
} else {
  const words = `npx --yes pnpm@12 ${command?.replace(/^.*preinstall$/i, 'install') ?? 'install'}`;
  console.error(`This repository uses pnpm 12, and ${agent.split(' ')[0]} cannot run it. Type: ${words}`);
  process.exitCode = 1;
}

function install(required) {
  const manifests = readdirSync('packages').map((name) => `packages/${name}/package.json`);
  const hash = createHash('sha256');
  for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests.filter(existsSync)])
    hash.update(readFileSync(file));
  const sources = hash.digest('hex');
  const present = existsSync('node_modules/vitest') ? 'tests' : markOf().level;
  const level = names[Math.max(names.indexOf(required), names.indexOf(present))];
  if (present === level && markOf().sources === sources) return;
  // What pnpm prints is not the output of the command that follows.
  const stdio = ['inherit', process.stderr.fd, process.stderr.fd];
  const { status } = spawnSync(pnpm, ['install', ...levels[level]], { stdio });
  process.exitCode = status ?? 1;
  if (status !== 0) return;
  mkdirSync('node_modules/.cache', { recursive: true });
  writeFileSync(markFile, JSON.stringify({ level, sources }));
}

function markOf() {
  return existsSync(markFile) ? JSON.parse(readFileSync(markFile, 'utf8')) : {};
}
