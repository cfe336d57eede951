import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

const program = ['/usr/sbin/nginx', '/usr/bin/nginx'].find((path) => existsSync(path));

/** nginx is a package of Debian (`nginx-light`), which a machine may lack. */
export const isNginxInstalled = program !== undefined;

const configuration = readFileSync(new URL('../docker/nginx.conf', import.meta.url), 'utf8');
const server = / +server 172\.30\.42\.\d+:3000(.*);\n/g;

export interface Proxy {
  readonly address: string;
  /** What it logged about processes that failed. */
  errors(): string[];
  stop(): Promise<void>;
}

/** Starts nginx with the configuration of the image, in front of processes on these ports. */
export async function startNginx(ports: readonly number[]): Promise<Proxy> {
  if (program === undefined) throw new Error('nginx is not installed: apt-get install nginx-light.');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-nginx-'));
  // Its workers, which may have another user, write bodies there.
  await chmod(folder, 0o755);
  const [first] = configuration.matchAll(server);
  const [line = '', settings = ''] = first ?? [];
  const servers = ports.map((one) => `server 127.0.0.1:${one}${settings};\n`).join('');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};\n`,
  );
  const file = join(folder, 'nginx.conf');
  const adapted = configuration
    .replace(line, servers)
    .replaceAll(server, '')
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace('http {\n', `http {\n${temporary.join('')}`);
  await writeFile(
    file,
    `daemon off;\npid ${join(folder, 'pid')};\nerror_log ${join(folder, 'error.log')};\n${adapted}`,
  );
  const child = spawn(program, ['-e', join(folder, 'error.log'), '-c', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const address = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${address}/healthz`).catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error('nginx did not start.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    address,
    errors: () => readFileSync(join(folder, 'error.log'), 'utf8').split('\n').filter(Boolean),
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
