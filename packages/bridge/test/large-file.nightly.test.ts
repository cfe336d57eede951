/** A file of 200,000 rows in constant memory. The service is replaced by one that accepts all, so that only the command is measured. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
/** As it is installed: Node takes 20 MB more to read the sources. */
const main = join(root, 'dist/main.js');
const rows = 200_000;
const maxMegabytes = 150;
const report = "process.on('exit', () => console.error('kilobytes', process.resourceUsage().maxRSS))";

beforeAll(() => execFileSync(join(root, 'node_modules/.bin/tsdown'), { cwd: root }));

test('import of 200,000 rows takes at most 150 MB', async () => {
  let records = 0;
  const server = createServer(async (request, response) => {
    const body = request.method === 'POST' ? await json(request) : {};
    const sent =
      typeof body === 'object' && body !== null && 'records' in body && Array.isArray(body.records) ? body.records : [];
    records += sent.length;
    const results = sent.map((_, index) => ({ index, id: `id-${index}`, status: 'CREATED', error: null }));
    const isToken = request.url?.includes('token') === true;
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify(isToken ? { access_token: 'token', token_type: 'Bearer', expires_in: 900 } : { records: results }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const folder = await mkdtemp(join(tmpdir(), 'bridge-large-'));
  try {
    const row = (index: number) =>
      `"Customer ${index}, Ltd",Company ${index},+1503555${String(index).padStart(6, '0')},c${index}@example.com,${index} Alder Court,Portland,OR,97214,US\r\n`;
    const header = 'Customer,Company,Phone,Email,Bill street,Bill city,Bill state,Bill ZIP,Bill country\r\n';
    await writeFile(join(folder, 'all.csv'), header + Array.from({ length: rows }, (_, index) => row(index)).join(''));
    // Those with which the command is installed.
    const [shebang = ''] = (await readFile(main, 'utf8')).split('\n');
    const flags = shebang.split(' ').filter((word) => word.startsWith('--'));
    const child = spawn(
      process.execPath,
      [
        ...flags,
        '--import',
        `data:text/javascript,${encodeURIComponent(report)}`,
        main,
        'import',
        'quickbooks-customers',
        'all.csv',
        '--apply',
      ],
      {
        cwd: folder,
        env: { ...process.env, API_URL: `http://127.0.0.1:${port}`, API_TENANT: 'firm', API_KEY: 'key' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect({ code, records }, errors).toEqual({ code: 0, records: 2 * rows });
    expect(output).toMatch(/created +400,000/);
    expect(errors).toContain(`Stored ${rows} of ${rows} rows`);
    const [, kilobytes = ''] = /kilobytes (\d+)/.exec(errors) ?? [];
    console.log(`${Math.round(Number(kilobytes) / 1000)} MB for ${rows} rows`);
    expect(Number(kilobytes) / 1000).toBeLessThan(maxMegabytes);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
