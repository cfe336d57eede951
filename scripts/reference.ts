/**
 * Generates the reference of the bundled contract: one self-contained HTML file, which also works offline, and next to it
 * the contract, a Postman collection, and the reference as Markdown. `--output` is the path of the HTML file, by default
 * `dist/reference.html`. With `--if-stale` it does nothing if the page is up to date.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contract } from '../packages/spec/src/examples.ts';
import { readOptions } from './options.ts';
import { withLinksInside, withoutForeignImages } from './reference/alone.ts';
import { codeFont } from './reference/code-font.ts';
import { withLock } from './reference/lock.ts';
import { hasMark, markOf } from './reference/stale.ts';
import { run } from './test/run.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { output, 'if-stale': ifStale } = readOptions({
  options: { output: { type: 'string', default: join(root, 'dist/reference.html') }, 'if-stale': { type: 'boolean' } },
}).values;

const descriptions = ['openapi.yaml', 'openapi.json'];
const downloads = [...descriptions, 'postman_collection.json', 'postman_environment.json', 'llms.txt'];

/** Extensions that Redoc reads. The descriptions already contain the others in words. */
const shownExtensions = new Set(['x-codeSamples', 'x-displayName', 'x-tags', 'x-tagGroups']);

const started = performance.now();
const text = await readFile(join(root, 'packages/spec/generated/openapi.json'), 'utf8').catch(() => {
  console.error('The contract is not bundled yet. Run "pnpm generate" first.');
  process.exit(1);
});
const contract: Contract = JSON.parse(text);
const mark = await markOf(root, text);
// Tests and `pnpm start` may need it at the same time: one generates it, and the others find it up to date.
if (await isUpToDate()) console.log('The reference is up to date.');
else
  await withLock(`${output}.lock`, async () => {
    if (await isUpToDate()) return console.log('The reference is up to date.');
    console.log('Generating the reference …');
    await make();
  });

async function isUpToDate(): Promise<boolean> {
  return ifStale === true && (await hasMark(output, mark));
}

async function make(): Promise<void> {
  // Loaded lazily, because loading Graphviz takes longer than checking whether the page is up to date.
  const { described } = await import('./reference/described.ts');
  const { readChapters } = await import('./reference/chapters.ts');
  const { markdownPages, printedPages } = await import('./reference/markdown.ts');
  const { searchEntries } = await import('./reference/search-entries.ts');
  const { tryItOperations, tryItPath } = await import('./reference/try-it-operations.ts');
  const { searchData } = await import('./reference/in-page.ts');
  const { withPackedContract } = await import('./reference/packed.ts');
  const { printPage, printPath } = await import('./reference/print.ts');
  const { postmanCollection, postmanEnvironment } = await import('./reference/postman.ts');
  const chapters = await readChapters();
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-reference-'));
  try {
    const shown = described(contract, chapters);
    const data = searchData(searchEntries(contract, shown));
    const complete = withLinksInside(withoutForeignImages(await rendered(shown, data, folder)));
    const page = withPackedContract(complete) + mark;
    const pages = markdownPages(contract, chapters);
    const beside = new Map([
      ...pages,
      [printPath, printPage(contract.info.title, printedPages(contract, pages))],
      ['postman_collection.json', inJson(postmanCollection(contract))],
      [tryItPath, JSON.stringify(tryItOperations(contract))],
      ['postman_environment.json', inJson(postmanEnvironment(contract))],
    ]);
    for (const [path, content] of beside) {
      const target = join(dirname(output), path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    for (const name of descriptions) {
      await copyFile(join(root, 'packages/spec/generated', name), join(dirname(output), name));
    }
    // Last, because its mark means that all of them are up to date.
    await writeFile(output, page);
    const size = (Buffer.byteLength(page) / 2 ** 20).toFixed(1);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`Wrote ${output}, ${size} MiB, in ${seconds} s. Open it in a browser.`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function inJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Redocly runs in a separate folder, because the lint rules of our configuration do not apply here. */
async function rendered(shown: Contract, searched: string, folder: string): Promise<string> {
  const { pageScript } = await import('./reference/in-page.ts');
  const { sampleLanguages } = await import('./reference/samples.ts');
  // Readers need no formats of integers, whose bounds are shown, no largest integers, no pattern beside a minimum length, and not for each
  // request that unknown properties are rejected.
  const isOther = (key: string, value: unknown) =>
    (key.startsWith('x-') && !shownExtensions.has(key)) ||
    (key === 'format' && (value === 'int32' || value === 'int64')) ||
    (key === 'maximum' && (value === Number.MAX_SAFE_INTEGER || value === 2 ** 31 - 1)) ||
    (key === 'additionalProperties' && value === false) ||
    (key === 'pattern' && value === '\\S');
  const withoutOthers = (key: string, value: unknown) => (isOther(key, value) ? undefined : value);
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(shown, withoutOthers));
  // An argument cannot be as long as the entries.
  const template = await readFile(join(root, 'scripts/reference/page.hbs'), 'utf8');
  await writeFile(
    join(folder, 'page.hbs'),
    template.replace('[["search entries"]]', () => searched),
  );
  const options = {
    downloadUrls: downloads.map((name) => ({ title: name, url: name })),
    // Redoc only shows the languages that are listed here.
    codeSamples: {
      languages: [
        ...sampleLanguages.map(({ lang, label }) => ({ lang, label })),
        { lang: 'payload', label: 'Payload' },
      ],
    },
    jsonSamplesExpandLevel: 4,
    // The height of the header in `page.hbs`.
    scrollYOffset: 56,
  };
  const flags = [
    'openapi.json',
    '--output=page.html',
    '--inlineBundle',
    `--title=${contract.info.title}`,
    '--template=page.hbs',
    `--templateOptions.description=${contract.info.summary}`,
    `--templateOptions.codeFont=${await codeFont()}`,
    `--templateOptions.script=${await pageScript()}`,
    `--openapi=${JSON.stringify(options)}`,
  ];
  // Neither this program nor Redocly reports usage.
  const environment = { REDOCLY_TELEMETRY: 'off' };
  const redocly = join(root, 'node_modules/@redocly/cli/bin/cli.js');
  const command = [process.execPath, redocly, 'build-docs', ...flags];
  const { code, output: printed } = await run(command, { directory: folder, environment });
  if (code !== 0) throw new Error(`Redocly could not generate the page:\n${printed}`);
  return await readFile(join(folder, 'page.html'), 'utf8');
}
