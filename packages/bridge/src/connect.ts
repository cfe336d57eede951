import { type Client, createClient } from '../../client/src/index.ts';
import { BridgeError } from './errors.ts';

/**
 * The client of the tenant that the variables name, which are those that `pnpm start` prints.
 *
 * @param statementFormat format of statements of account, which are JSON otherwise
 */
export function connect(
  environment: NodeJS.ProcessEnv,
  { statementFormat }: { statementFormat?: string } = {},
): Client {
  const { API_URL: baseUrl = '', API_TENANT: tenant = '', API_KEY: apiKey = '' } = environment;
  if (!URL.canParse(baseUrl))
    throw new BridgeError('Set API_URL to the URL of the service, such as https://api.financial-automation.example.');
  if (tenant === '') throw new BridgeError('Set API_TENANT to the name of your tenant.');
  if (apiKey === '') throw new BridgeError('Set API_KEY to an API key of your tenant.');
  const options = { baseUrl, tenant, apiKey, clientId: 'fa-bridge', timeout: 300_000, retries: 6 };
  if (statementFormat === undefined) return createClient(options);
  return createClient({
    ...options,
    fetch: (request) => {
      const url = new URL(request.url);
      if (!url.pathname.endsWith('/statement')) return fetch(request);
      url.searchParams.set('format', statementFormat);
      return fetch(new Request(url, request));
    },
  });
}
