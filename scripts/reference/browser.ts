/** Finds a Chromium for the tests: the configured one, that of the system, or the one from the package registry. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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
  await inflate(join(folder, 'al2023.tar.br'));
  const libraries = [join(tmpdir(), 'al2023/lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  const executablePath = await chromiumPackage.executablePath();
  return { executablePath, env: { LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: await fontConfiguration() } };
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
