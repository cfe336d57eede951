/**
 * Sends inputs of every shape to every operation, in growing lengths, and fails where the processor time grows faster than
 * linear, where a request takes more than a second, and where a response is a 5xx. `--only NAME` narrows it to operations.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { createApp } from '@financial-automation/server/app/app';
import { readConfig } from '@financial-automation/server/app/read-config';
import { allOperations } from '@financial-automation/server/contract/contract';
import { createService } from '@financial-automation/server/entity/service';
import { createApiKey } from '@financial-automation/server/operator/api-keys';
import { createTenant } from '@financial-automation/server/operator/tenants';
import { openStore } from '@financial-automation/server/platform/store/store';
import { portOf } from '@financial-automation/server/test/free-port';
import { findGrowth, type GrowthCase, type GrowthFinding } from '@financial-automation/server/test/growth/measure';
import { commonCases, formCases, growthCases } from '@financial-automation/server/test/growth/requests';
import { sender } from '@financial-automation/server/test/growth/sender';
import { arrivalLimits } from '@financial-automation/server/wire/connections';
import { messages } from '@financial-automation/server/wire/messages';
import { pino } from 'pino';
import { readOptions } from '../../scripts/options.ts';

const { values } = readOptions({
  options: { growth: { type: 'boolean' }, only: { type: 'string', default: '' } },
});
const thresholds = { ignored: 5, most: 1_000 };

const config = readConfig({ MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), RATE_LIMIT_FACTOR: '0' });
const log = pino({ level: 'silent' });
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-growth-'));
const store = await openStore({ dataDir: folder, log });
const service = await createService(config, store, log);
await createTenant({ service }, { name: 'firm', displayName: 'Firm', currency: 'USD', timeZone: 'UTC', country: 'US' });
const user = { tenant: 'firm', user: 'growth', roles: ['API_ADMIN'], days: 1, description: undefined };
const { key } = await createApiKey({ service }, user);
const server = createServer({ ...arrivalLimits, ...messages }, createApp(service));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const send = sender(`http://127.0.0.1:${portOf(server)}`);

const json = { 'content-type': 'application/json' };
/** Tokens expire after 15 minutes, so each operation gets a new one. */
const headers = async () => {
  const body = JSON.stringify({ apiKey: key });
  const { text } = await send({ method: 'POST', path: '/v1/auth/token', headers: json, body });
  const { access_token } = JSON.parse(text) as { access_token: string };
  return { authorization: `Bearer ${access_token}`, tenant: 'firm' };
};

const findings: GrowthFinding[] = [];
let [count, longest, slowest] = [0, 0, ''];
for (const operation of allOperations.filter(({ id }) => id.includes(values.only)))
  await run(operation.id, growthCases(operation, await headers()));
for (const [name, cases] of Object.entries(await otherCases())) if (name.includes(values.only)) await run(name, cases);
await send.close();
server.close().closeAllConnections();
await store.close();
await rm(folder, { recursive: true, force: true });
console.log(`${count} cases; ${findings.length} grow faster than linear or fail. The longest: ${slowest}`);
if (findings.length > 0) {
  console.table(findings);
  process.exit(1);
}

async function run(name: string, cases: readonly GrowthCase[]): Promise<void> {
  const started = performance.now();
  for (const one of cases) {
    const before = performance.now();
    const finding = await findGrowth(one, send, thresholds);
    const time = performance.now() - before;
    if (time > longest) [longest, slowest] = [time, `${name} ${one.place}, ${one.shape[0]}`];
    if (finding === undefined) continue;
    findings.push(finding);
    console.log(`  ${finding.place}, ${finding.shape}: ${finding.problem}`);
  }
  count += cases.length;
  console.log(`${name}: ${cases.length} cases, ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

/** Cases that are not those of one operation: headers, compressed bodies, and routes outside of the contract. */
async function otherCases(): Promise<Record<string, GrowthCase[]>> {
  const caller = await headers();
  const search = allOperations.find(({ id }) => id === 'searchContacts');
  if (search === undefined) throw new Error('The contract has no operation searchContacts.');
  const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const get = (path: string) => commonCases(path, { method: 'GET', path, headers: {} });
  const packed = (encoding: string, compress: (body: string) => Buffer) =>
    growthCases(search, { ...caller, 'content-encoding': encoding })
      .filter(({ place }) => place === 'body ' || place === 'body /unknown')
      .map((one) => ({
        ...one,
        request: (value: string) => {
          const { body = '', ...rest } = one.request(value);
          return { ...rest, body: compress(String(body)) };
        },
      }));
  return {
    'headers of a read': commonCases('headers of a read', {
      method: 'GET',
      path: '/gql/v1/clients/types',
      headers: caller,
    }),
    'headers of a write': commonCases('headers of a write', {
      method: 'POST',
      path: '/api/v1/contacts/upsert',
      headers: { ...json, ...caller },
      body: '{"contacts":[]}',
    }),
    'headers of a token': commonCases('headers of a token', {
      method: 'POST',
      path: '/v1/auth/token',
      headers: json,
      body: '{"apiKey":"x"}',
    }),
    gzip: packed('gzip', (body) => gzipSync(body)),
    brotli: packed('br', (body) => brotliCompressSync(body)),
    '/openapi.json': get('/openapi.json'),
    '/reference': get('/reference'),
    '/readyz': get('/readyz'),
    '/files/content/x': get('/files/content/x'),
    '/pay/x': [
      ...get(`/pay/${'a'.repeat(32)}`),
      ...formCases('/pay/x', { ...form, path: `/pay/${'a'.repeat(32)}` }, 100_000),
    ],
    '/pay/webhook': formCases(
      '/pay/webhook',
      { method: 'POST', path: '/pay/webhook', headers: { ...json, 'stripe-signature': `t=1,v1=${'0'.repeat(64)}` } },
      300_000,
    ),
  };
}
