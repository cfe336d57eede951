import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../test/free-port.ts';
import { overTcp } from '../../test/postgres-server.ts';
import { type Environment, processEnvironment, runCli, startServer } from '../../test/process.ts';
import { openProxy } from '../../test/severable-proxy.ts';
import { wire } from '../../test/wire.ts';

const environment = await processEnvironment();
const direct = overTcp(environment.DATABASE_URL ?? '');
await runCli(environment, 'tenant', 'create', 'hartwell');
const created = await runCli(environment, 'api-key', 'create', 'hartwell', 'crm', '--roles', 'API_ADMIN');
const apiKey = /ey\S+/.exec(created.out)?.[0];
const longest = 10_000;

/** Starts a process, and returns how to call it. */
async function start(more: Environment = {}) {
  const own = { ...environment, ...more, PORT: String(await freePort()) };
  const server = await startServer(own);
  onTestFinished(() => server.kill('SIGKILL'));
  const headers = { 'Content-Type': 'application/json', Tenant: 'hartwell' };
  const token = await wire(server.address, {
    method: 'POST',
    path: '/v1/auth/token',
    headers,
    body: JSON.stringify({ apiKey }),
  });
  const Authorization = `Bearer ${(token.json as { access_token: string }).access_token}`;
  const post = (path: string, body: object) =>
    wire(server.address, { method: 'POST', path, headers: { ...headers, Authorization }, body: JSON.stringify(body) });
  const industry = (name: string) =>
    post('/api/v1/records', { records: [{ type: 'Industry', systemRef: 'shared', attributes: { name } }] });
  return { server, post, industry };
}

test.each(['is stopped (SIGSTOP)', 'is cut off by a network that drops packets'])(
  'a process that %s in a transaction keeps others of its tenant waiting for 10 seconds at most',
  async (how) => {
    const proxy = await openProxy(direct.hostname, Number(direct.port || 5432));
    const proxied = Object.assign(new URL(direct), { host: `127.0.0.1:${proxy.port}` }).href;
    const [hung, other] = [await start({ DATABASE_URL: proxied }), await start()];
    const blocker = new pg.Client({ connectionString: direct.href });
    await blocker.connect();
    onTestFinished(() => blocker.end());
    // The transaction holds its row and its references, and waits for the audit log.
    await blocker.query('begin; lock table audit_log in share row exclusive mode');
    const cut = hung.industry('Hung').catch(() => undefined);
    const waiting = `select from pg_locks where not granted and relation = 'audit_log'::regclass`;
    await expect.poll(async () => (await blocker.query(waiting)).rowCount).toBe(1);
    if (how.includes('SIGSTOP')) hung.server.kill('SIGSTOP');
    else proxy.drop();
    await blocker.query('rollback');

    const since = performance.now();
    expect(await other.post('/api/v1/clients/v1/onboard', { name: 'Quick', address: {} })).toMatchObject({
      status: 201,
    });
    expect(performance.now() - since).toBeLessThan(2_000);
    expect(await other.industry('Other')).toMatchObject({ status: 200, json: { records: [{ error: null }] } });
    expect(performance.now() - since).toBeLessThan(longest);
    console.log(`${how}: ${Math.round(performance.now() - since)} ms until the row of its transaction was free`);
    hung.server.kill('SIGKILL');
    await cut;
    await proxy.sever();
  },
);
