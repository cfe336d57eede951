import {
  createApiKey,
  createTenant,
  pasteable,
  type Service,
  serve,
  setTenantSetting,
  signApiKeyAgain,
  tenantNamed,
} from '@financial-automation/server/service';
import { seedDemoData } from './demo-data.ts';
import { isLoaded, loadProfile } from './profiles/load-profile.ts';
import { LoadOfOtherVersion } from './profiles/write-firm.ts';
import { storyId } from './story-id.ts';

const tenant = 'hartwell';

const demoSettings = {
  LOG_LEVEL: 'error',
  MIGRATE_AT_START: 'on',
  WEBHOOK_ALLOW_LOOPBACK: 'on',
  CORS_ORIGINS: 'localhost',
  PAYMENT_PROCESSOR: 'sandbox',
};

/** Serves with a demo tenant, and prints URLs to open and requests to paste. */
export async function demo(environment: NodeJS.ProcessEnv): Promise<void> {
  console.log('Opening the database …');
  const { service, address } = await serve({ ...demoSettings, ...environment });
  const operator = { service };
  if ((await service.directory.tenant(tenant)) === undefined) {
    console.log('Creating the demo tenant, first start only …');
    await createDemoTenant(operator);
  }
  const key = await demoKey(operator);
  const { config } = service;
  // The directory is relative to where the server was started.
  const place = environment.DATA_DIR === undefined ? {} : { DATA_DIR: config.dataDir };
  const command = pasteable('operator', { ...environment, ...place });
  // Secrets are not printed.
  const secrets = 'Both terminals need the DATABASE_URL and MASTER_KEY of this server in their environment.';
  const note = config.databaseUrl === undefined ? '' : `\n${secrets}\n`;
  const hasYears = await isLoaded({ service, tenant: await tenantNamed(operator, tenant) });
  console.log(`
The API is served at ${address} with the demo tenant "${tenant}".

  Reference   ${address}/reference
  Console     ${address}/console (sign in with the API key below)
  Contract    ${address}/openapi.yaml
  Mock        npx --yes pnpm@12 mock

Paste this into another terminal with sh, bash or zsh, for everything below. TOKEN is an access token, which is valid for 15 minutes:

  export API_URL='${address}' API_KEY='${key}'
  TOKEN=$(curl -s "$API_URL/v1/auth/token" -H 'Content-Type: application/json' -d '{"apiKey":"'"$API_KEY"'"}')
  TOKEN=\${TOKEN#*'"access_token":"'} TOKEN=\${TOKEN%%'"'*}

Search the clients:

  curl -s ${address}/gql/v1/clients/search -H "Authorization: Bearer $TOKEN" -H 'Tenant: ${tenant}' \\
    -H 'Content-Type: application/json' -d '{"where":{"name":{"_ilike":"%harbor%"}},"orderBy":[{"name":"asc"}]}'

Compare the server with its contract:

  npx --yes pnpm@12 contract-check --spec packages/spec/generated/openapi.yaml --url "$API_URL" --auth scripts/contract-auth.ts

To see events arrive, start a receiver in another terminal, and make a change in a third one:

  ${command} webhook listen ${tenant}
  ${command} webhook trigger ${tenant} Client.CREATE
${note}${
  config.webhookAllowLoopback
    ? '\nWEBHOOK_ALLOW_LOOPBACK is on: events can be sent to any port of this machine. For development only.\n'
    : ''
}${service.processor?.isTest === true ? '\nPayments through links are tests: no money moves. Test cards are listed on the payment page.\n' : ''}
${hasYears ? '' : 'Three years of a small firm are added to the tenant in the background, which takes about a minute.\n'}Press Ctrl+C to stop. ${whereDataIs(service)}`);
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  await addYears(operator, stopping.signal).then(
    (isNew) => isNew && console.log('\nThe demo tenant now also has three years of a small firm.'),
    (error) => {
      if (stopping.signal.aborted) return;
      if (error instanceof LoadOfOtherVersion) console.error(`\n${error.message} ${howToLoadAgain(service)}`);
      else console.error(`Loading three years of a small firm failed; the next start continues it. ${error.message}`);
    },
  );
}

function howToLoadAgain({ config }: Service): string {
  const place = config.databaseUrl === undefined ? `without the directory ${config.dataDir}` : 'with an empty database';
  return `The demo tenant works with what is loaded. To load all of it, stop the service and start it ${place}.`;
}

function whereDataIs({ config }: Service): string {
  if (config.databaseUrl !== undefined) return `Data is stored in PostgreSQL, at ${new URL(config.databaseUrl).host}.`;
  return `Data is stored in ${config.dataDir} and survives a killed process, but not a power failure:
the embedded database does not flush to disk. Use PostgreSQL in production (see README).`;
}

/** Creates the firm of the contract's examples. The requests printed in the reference succeed for this tenant. */
export async function createDemoTenant(operator: { readonly service: Service }): Promise<void> {
  const place = { currency: 'USD', timeZone: 'America/Los_Angeles', country: 'US', orgId: storyId('Org', 1) };
  await createTenant(operator, { name: tenant, displayName: 'Hartwell & Oakes LLP', ...place, sandbox: true });
  await fillDemoTenant(operator, tenant);
}

/** Fills a new tenant with the firm of the contract's examples. */
export async function fillDemoTenant(operator: { readonly service: Service }, name: string): Promise<void> {
  // One person can try every step of a workflow with one key.
  await setTenantSetting(operator, { tenant: name, setting: 'selfApproval', value: 'on' });
  await seedDemoData(operator, name);
}

/**
 * Adds three years of a small firm, so that lists, ages and totals have something to show, while the service serves calls. A
 * run that was interrupted is continued.
 *
 * @returns whether anything was left to load.
 */
export async function addYears({ service }: { readonly service: Service }, signal: AbortSignal): Promise<boolean> {
  const place = { service, tenant: await tenantNamed({ service }, tenant) };
  // A call uses the database several times, and would otherwise wait for a step each time.
  const found = await loadProfile(place, 'demo', { isForPeople: true, signal, pauseShare: 0.5 });
  if (found === undefined) await service.store.freeMemory?.();
  return found === undefined;
}

/** Returns the API key of the demo tenant, which has all roles: the one of earlier starts while it is valid for another day. */
export async function demoKey(operator: { readonly service: Service }): Promise<string> {
  const key = { tenant, user: 'demo', description: 'printed at start' };
  const known = await signApiKeyAgain(operator, { ...key, days: 1 });
  if (known !== undefined) return known;
  const roles = ['API_ADMIN', 'PYMT_EVNT_ALL'];
  return (await createApiKey(operator, { ...key, roles, days: 365 })).key;
}
