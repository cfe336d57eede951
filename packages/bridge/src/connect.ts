import { type Client, createClient } from '../../client/src/index.ts';
import { BridgeError } from './errors.ts';

/** The client of the tenant that the variables name, which are those that `pnpm start` prints. */
export function connect(environment: NodeJS.ProcessEnv): Client {
  const { API_URL: baseUrl = '', API_TENANT: tenant = '', API_KEY: apiKey = '' } = environment;
  if (!URL.canParse(baseUrl))
    throw new BridgeError('Set API_URL to the URL of the service, such as https://api.financial-automation.example.');
  if (tenant === '') throw new BridgeError('Set API_TENANT to the name of your tenant.');
  if (apiKey === '') throw new BridgeError('Set API_KEY to an API key of your tenant.');
  return createClient({ baseUrl, tenant, apiKey, clientId: 'fa-bridge', timeout: 300_000, retries: 6 });
}
