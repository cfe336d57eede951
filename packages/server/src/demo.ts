import { seedDemoData } from './demo-data.ts';
import { serve } from './main.ts';
import { createApiKey } from './operator/api-keys.ts';
import { createTenant } from './operator/tenants.ts';

const tenant = 'hartwell';

/** Serves with a demo tenant, and prints what to open and requests to paste. */
export async function demo(environment: NodeJS.ProcessEnv): Promise<void> {
  console.log('Opening the database …');
  const { service, address } = await serve({ LOG_LEVEL: 'error', ...environment });
  const operator = { service };
  if ((await service.directory.tenant(tenant)) === undefined) {
    console.log('Making the demo tenant, first start only …');
    const firm = {
      displayName: 'Hartwell & Oakes LLP',
      currency: 'USD',
      timeZone: 'America/Los_Angeles',
      country: 'US',
    };
    await createTenant(operator, { name: tenant, ...firm });
    await seedDemoData(operator, tenant);
  }
  const wanted = {
    tenant,
    user: 'demo',
    roles: ['API_ADMIN', 'PYMT_EVNT_ALL'],
    days: 7,
    description: 'printed at start',
  };
  const { key } = await createApiKey(operator, wanted);
  console.log(`
The API is served at ${address} with the demo tenant "${tenant}".

  Reference   ${address}/reference
  Contract    ${address}/openapi.yaml
  Mock        npx --yes pnpm@12 mock

Paste this into another terminal for an access token (it lives for 15 minutes):

  TOKEN=$(curl -s ${address}/v1/auth/token -H 'Content-Type: application/json' \\
    -d '{"apiKey":"${key}"}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

Then search the clients:

  curl -s ${address}/gql/v1/clients/search -H "Authorization: Bearer $TOKEN" -H 'Tenant: ${tenant}' \\
    -H 'Content-Type: application/json' -d '{"where":{"name":{"_ilike":"%harbor%"}},"orderBy":[{"name":"asc"}]}'

Stop with Ctrl+C. What you write is kept in ${service.config.dataDir}, also when the process is killed. It does not outlive a
power failure: the embedded database does not flush to disk. Run on PostgreSQL where that matters (README).`);
}
