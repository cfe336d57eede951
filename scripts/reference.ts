/**
 * Makes the reference of the bundled contract: one HTML file that works from anywhere, also from a disk without a network.
 * `--output` says where; it is `dist/reference.html` otherwise. With `--if-stale` it does nothing where the page was made of
 * this contract by these programs.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import type { Contract } from '../packages/mock/src/contract.ts';
import { withLinksInside, withoutForeignImages } from './reference/alone.ts';
import { described } from './reference/described.ts';
import { hasMark, markOf } from './reference/stale.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { output, 'if-stale': ifStale } = parseArgs({
  options: { output: { type: 'string', default: join(root, 'dist/reference.html') }, 'if-stale': { type: 'boolean' } },
}).values;

const descriptions = ['openapi.yaml', 'openapi.json'];

const started = performance.now();
const text = await readFile(join(root, 'packages/spec/generated/openapi.json'), 'utf8').catch(() => {
  console.error('The contract is not bundled yet. Run "pnpm generate", and then this again.');
  process.exit(1);
});
const contract: Contract = JSON.parse(text);
const mark = await markOf(root, text);
if (ifStale && (await hasMark(output, mark))) {
  console.log('The reference is up to date.');
} else {
  console.log('Making the reference of the contract …');
  await make();
}

async function make(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-reference-'));
  try {
    const page = withLinksInside(withoutForeignImages(await rendered(described(contract), folder))) + mark;
    await mkdir(dirname(output), { recursive: true });
    await writeFile(output, page);
    // The page offers them for download, from where it is itself.
    for (const name of descriptions) {
      await copyFile(join(root, 'packages/spec/generated', name), join(dirname(output), name));
    }
    const size = (Buffer.byteLength(page) / 2 ** 20).toFixed(1);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`Wrote ${output}, ${size} MiB, in ${seconds} s. Open it in a browser.`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Redocly is run in a folder of its own: the lint rules of our configuration have nothing to say here. */
async function rendered(shown: Contract, folder: string): Promise<string> {
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(shown));
  const options = {
    downloadUrls: descriptions.map((name) => ({ title: name, url: name })),
    // Redoc shows no language that is not named here.
    codeSamples: {
      languages: [
        { lang: 'curl', label: 'curl' },
        { lang: 'typescript', label: 'TypeScript' },
        { lang: 'payload', label: 'Payload' },
      ],
    },
    jsonSamplesExpandLevel: 4,
  };
  const flags = [
    'openapi.json',
    '--output=page.html',
    '--inlineBundle',
    `--title=${contract.info.title}`,
    `--template=${join(root, 'scripts/reference/page.hbs')}`,
    `--templateOptions.description=${contract.info.summary}`,
    `--openapi=${JSON.stringify(options)}`,
  ];
  // The page takes over what holds here: neither it nor Redocly reports that it was used.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off' };
  const redocly = join(root, 'node_modules/@redocly/cli/bin/cli.js');
  try {
    await promisify(execFile)(process.execPath, [redocly, 'build-docs', ...flags], { cwd: folder, env });
  } catch (error) {
    const told = error instanceof Error && 'stderr' in error ? `${error.stderr}` : `${error}`;
    throw new Error(`Redocly could not make the page. It says:\n${told}`);
  }
  return await readFile(join(folder, 'page.html'), 'utf8');
}
