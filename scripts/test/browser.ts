/** Finds a Chromium for the tests: the configured one, that of the system, or the one from the package registry. */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

const known = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const advice =
  'Install one ("sudo apt-get install chromium" on Debian and Ubuntu), or set CHROMIUM_PATH to the path of yours, and run the tests again.';

/** Starts it. Throws an error with instructions if there is none, or if it does not start. */
export async function startBrowser(): Promise<Browser> {
  const configured = process.env.CHROMIUM_PATH;
  if (configured !== undefined && !existsSync(configured))
    throw new Error(`CHROMIUM_PATH is ${configured}, but this file does not exist. ${advice}`);
  const own = configured ?? known.find((path) => existsSync(path));
  const { executablePath, env } = own === undefined ? await packaged() : { executablePath: own, env: {} };
  try {
    // Without the sandbox, as tests run as root in containers; the only page that it opens is ours.
    return await chromium.launch({ executablePath, args: ['--no-sandbox'], env: { ...process.env, ...env } });
  } catch (error) {
    throw new Error(`${executablePath} does not start. ${advice}`, { cause: error });
  }
}

/** The packaged browser is unpacked once into the folder for temporary files, together with its libraries. */
async function packaged(): Promise<{ executablePath: string; env: Record<string, string> }> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`No Chromium was found, and the packaged one only supports Linux on x64. ${advice}`);
  }
  const { default: chromiumPackage, inflate } = await import('@sparticuz/chromium');
  const folder = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '../bin');
  await onceOfAllProcesses('chromium', async () => {
    await inflate(join(folder, 'al2023.tar.br'));
    await chromiumPackage.executablePath();
  });
  const libraries = [join(tmpdir(), 'al2023/lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  const executablePath = await chromiumPackage.executablePath();
  return { executablePath, env: { LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: await fontConfiguration() } };
}

/** How long unpacking takes at most, in milliseconds. */
const longest = 120_000;

/** Files that one process still writes must not be executed by another one. */
async function onceOfAllProcesses(name: string, work: () => Promise<unknown>): Promise<void> {
  const [started, done] = [join(tmpdir(), `${name}.started`), join(tmpdir(), `${name}.done`)];
  try {
    await mkdir(started);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const end = Date.now() + longest;
    while (existsSync(started) && !existsSync(done) && Date.now() < end) await setTimeout(100);
    // The process that started has ended before it was done: the next one starts again.
    if (!existsSync(done)) await rm(started, { recursive: true, force: true });
    return;
  }
  try {
    await work();
    await writeFile(done, '');
  } catch (error) {
    await rm(started, { recursive: true });
    throw error;
  }
}

/**
 * Writes a configuration with the fonts of the package. Its own one names /tmp, whatever the folder for temporary files is, and
 * Chromium ends when it needs a font and finds none.
 */
async function fontConfiguration(): Promise<string> {
  const folder = join(tmpdir(), 'fonts');
  const file = join(folder, 'tests.conf');
  const lines = [`<dir>${folder}</dir>`, `<cachedir>${join(folder, 'cache')}</cachedir>`];
  await writeFile(file, `<?xml version="1.0"?>\n<fontconfig>\n${lines.join('\n')}\n</fontconfig>\n`);
  return file;
}
