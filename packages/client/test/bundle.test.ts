import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { Service } from './service.ts';

/** Maximum size of `createClient` with all its dependencies, minified and compressed, in bytes. */
const budget = 8 * 1024;

/**
 * Bundles a line of a program like a bundler for browsers does. A module of Node would remain an import, and be rejected.
 */
async function bundle(program: string) {
  const entry = fileURLToPath(new URL('program.js', import.meta.url));
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    onLog: () => {},
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? program : null),
      },
    ],
  });
  const { output } = await build.generate({ format: 'iife', name: 'program', minify: true });
  await build.close();
  const [chunk] = output;
  return { code: chunk.code, imports: chunk.imports, modules: chunk.moduleIds.map((id) => id.replaceAll('\\', '/')) };
}

const onlyClient = bundle(`export { createClient } from '../src/index.ts';`);
const onlyWebhooks = bundle(`export { verifyWebhook } from '../src/webhooks.ts';`);

describe('the bundle of a program that only calls the API', () => {
  it('contains nothing of Node and nothing of webhooks', async () => {
    const { imports, modules } = await onlyClient;
    expect(imports).toEqual([]);
    expect(modules.filter((id) => /standardwebhooks|fast-sha256|stablelib|webhooks\.ts|node:/.test(id))).toEqual([]);
  });

  it('does not contain the index of the server', async () => {
    const { code } = await onlyClient;
    expect(code).not.toContain('rateLimit');
    expect(code).not.toContain('CLNT_R');
  });

  it(`is smaller than ${budget} bytes`, async () => {
    const { code } = await onlyClient;
    const size = gzipSync(code).length;
    console.log(`createClient: ${code.length} bytes minified, ${size} compressed`);
    expect(size).toBeLessThan(budget);
  });

  it('works with only the globals of browsers and workers', async () => {
    const service = await new Service().start();
    try {
      service.respond = () => ({ body: { name: 'Harbor' } });
      const {
        fetch,
        Request,
        Response,
        Headers,
        FormData,
        URL,
        URLSearchParams,
        AbortController,
        DOMException,
        TextDecoder,
        crypto,
      } = globalThis;
      const web = {
        fetch,
        Request,
        Response,
        Headers,
        FormData,
        URL,
        URLSearchParams,
        AbortController,
        DOMException,
        TextDecoder,
        crypto,
        setTimeout,
        clearTimeout,
        performance,
      };
      const { code } = await onlyClient;
      const response = await runInNewContext(
        `${code}; program.createClient(options).getClient({ path: { id: '1' } })`,
        { ...web, options: { baseUrl: service.baseUrl, tenant: 'hartwell', apiKey: 'key' } },
      );
      expect(response).toMatchObject({ status: 200, body: { name: 'Harbor' } });
    } finally {
      await service.stop();
    }
  });
});

describe('the bundle of a program that only receives webhooks', () => {
  it('contains nothing of Node and nothing of the client', async () => {
    const { imports, modules } = await onlyWebhooks;
    expect(imports).toEqual([]);
    expect(modules.filter((id) => /openapi-fetch|p-retry|generated/.test(id))).toEqual([]);
  });
});
