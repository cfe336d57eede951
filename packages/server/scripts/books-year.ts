/**
 * `pnpm books:year`: a year of a firm through the API, on PostgreSQL: time, approvals, drafts, invoices, payments of several kinds,
 * bounced checks, refunds, credit notes, write-offs and a closing each month. Then all sums are recomputed from the rows and compared.
 * Fails if one differs. `--profile tiny` and `--months 3` are shorter.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isProfile, profiles } from '@financial-automation/demo-data/profiles/profile';
import { pino } from 'pino';
import { readOptions } from '../../../scripts/options.ts';
import { createApp } from '../src/app/app.ts';
import { readConfig } from '../src/app/read-config.ts';
import { createService } from '../src/entity/service.ts';
import { createApiKey } from '../src/operator/api-keys.ts';
import { createTenant } from '../src/operator/tenants.ts';
import { openStore } from '../src/platform/store/store.ts';
import { auditBooks } from '../test/books-year/audit.ts';
import type { Sender } from '../test/books-year/firm-calls.ts';
import { runYear } from '../test/books-year/run-year.ts';
import { databaseUrl, dropDatabase, runOn } from '../test/postgres-server.ts';
import { findServer } from '../test/postgres-setup.ts';

const { values } = readOptions({
  options: { profile: { type: 'string', default: 'small' }, months: { type: 'string', default: '12' } },
});
const { profile } = values;
if (!isProfile(profile)) {
  console.error(`Unknown profile ${profile}. The profiles are ${Object.keys(profiles).join(', ')}.`);
  process.exit(2);
}
// Profiles have three years of jobs and entries.
const { written, copies } = profiles[profile];
const years = 3;
const size = {
  staff: copies * written.staff,
  clients: copies * written.clients,
  jobs: Math.round((copies * written.jobs) / years),
  entries: Math.round((copies * written.entries) / years),
  months: Number(values.months),
};

const postgres = await findServer();
const database = `books_year_${process.pid}`;
await runOn(postgres.url, `create database ${database} template template0`);
// What a report of the whole firm takes is not measured here.
const store = await openStore({
  databaseUrl: databaseUrl(postgres.url, database),
  limits: { read: 600_000, statement: 600_000 },
});
const environment = { MASTER_KEY: randomBytes(32).toString('base64'), RATE_LIMIT_FACTOR: '0', LOG_LEVEL: 'silent' };
const service = await createService(readConfig(environment), store, pino({ level: 'silent' }));
const server = createServer(createApp(service));
try {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
  const tenant = await createTenant({ service }, { name: 'firm', displayName: 'Firm', ...place });
  const year = Temporal.Now.plainDateISO(place.timeZone).year - 1;
  console.log(`A firm in ${year}, ${size.months} months of the profile ${profile}, through ${address} …`);
  const [preparer, approver] = [
    await signIn(address, tenant.name, 'preparer'),
    await signIn(address, tenant.name, 'approver'),
  ];
  const progress = (text: string) => console.log(`  ${text}`);
  const done = await runYear({ preparer, approver, year, size, progress });
  console.log('All sums are recomputed from the rows …');
  const comparisons = await store.read(tenant.id, (session) =>
    auditBooks({ ...done, query: (statement) => session.all(statement), tenantId: tenant.id }),
  );
  console.table(
    comparisons.map(({ name, figures, differences }) => ({ name, figures, differences: differences.length })),
  );
  for (const { name, differences } of comparisons)
    for (const difference of differences.slice(0, 5)) console.error(`${name}: ${difference}`);
  const wrong = comparisons.reduce((sum, { differences }) => sum + differences.length, 0);
  const compared = comparisons.reduce((sum, { figures }) => sum + figures, 0);
  console.log(wrong === 0 ? `No difference in ${compared} figures.` : `${wrong} of ${compared} figures differ.`);
  process.exitCode = wrong === 0 ? 0 : 1;
} finally {
  server.close().closeAllConnections();
  await store.close();
  await dropDatabase(postgres.url, database);
  await postgres.stop();
}

async function signIn(address: string, tenant: string, user: string): Promise<Sender> {
  const { key } = await createApiKey(
    { service },
    { tenant, user, roles: ['API_ADMIN'], days: 1, description: undefined },
  );
  const headers: Record<string, string> = { 'Content-Type': 'application/json', Tenant: tenant };
  const send = async (method: string, path: string, sent: unknown) => {
    const response = await fetch(`${address}${path}`, { method, headers, body: JSON.stringify(sent) });
    const body: unknown = await response.json();
    return { status: response.status, body };
  };
  // A token is valid for 15 minutes.
  let signedIn = Number.NEGATIVE_INFINITY;
  return {
    async call(method, path, body) {
      if (performance.now() - signedIn > 600_000) {
        const { body: token } = await send('POST', '/v1/auth/token', { apiKey: key });
        headers.Authorization = `Bearer ${Object(token).access_token}`;
        signedIn = performance.now();
      }
      return send(method, path, body);
    },
  };
}
