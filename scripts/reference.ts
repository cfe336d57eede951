/**
 * Makes the reference of the bundled contract: one HTML file that works from anywhere, also from a disk without a network.
 * `--output` says where; it is `dist/reference.html` otherwise.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import type { Contract } from '../packages/mock/src/contract.ts';
import { withLinksInside, withoutForeignImages } from './reference/alone.ts';
import { described } from './reference/described.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { output = 'dist/reference.html' } = parseArgs({ options: { output: { type: 'string' } } }).values;

const started = performance.now();
console.log('Making the reference of the contract …');
const contract = await bundled();
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-reference-'));
try {
  const page = withLinksInside(withoutForeignImages(await rendered(described(contract), folder)));
  await mkdir(dirname(output), { recursive: true });
  await writeFile(output, page);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `Wrote ${output}, ${(Buffer.byteLength(page) / 2 ** 20).toFixed(1)} MiB, in ${seconds} s. Open it in a browser.`,
  );
} finally {
  await rm(folder, { recursive: true });
}

async function bundled(): Promise<Contract> {
  const text = await readFile(join(root, 'packages/spec/generated/openapi.json'), 'utf8').catch(() => {
    console.error('The contract is not bundled yet. Run "pnpm generate", and then this again.');
    process.exit(1);
  });
  return JSON.parse(text);
}

/** Redocly is run in a folder of its own: the lint rules of our configuration have nothing to say here. */
async function rendered(shown: Contract, folder: string): Promise<string> {
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(shown));
  const options = {
    downloadUrls: [
      { title: 'openapi.yaml', url: 'openapi.yaml' },
      { title: 'openapi.json', url: 'openapi.json' },
    ],
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
