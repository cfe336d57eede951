/**
 * Authenticates the contract check with this API: `contract-check --auth scripts/contract-auth.ts`. It reads `API_KEY`,
 * `API_URL` and `API_TENANT` if they differ from those of `pnpm start`, and `API_CLIENT_ID` if the tenant only accepts some
 * client IDs.
 */
import type { Auth } from '../packages/contract-check/src/run/options.ts';

const { API_KEY: apiKey, API_CLIENT_ID: clientId } = process.env;
const { API_URL: url = 'http://127.0.0.1:3000', API_TENANT: tenant = 'hartwell' } = process.env;
const client: Record<string, string> = clientId === undefined ? {} : { 'X-Client-Id': clientId };

const auth: Auth = {
  async caller() {
    if (apiKey === undefined) throw new Error('Set API_KEY to an API key; pnpm start prints one.');
    const response = await fetch(`${url}/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...client },
      body: JSON.stringify({ apiKey }),
    });
    if (!response.ok) throw new Error(`${url} rejects the API key with status ${response.status}.`);
    const { access_token: token } = (await response.json()) as { access_token: string };
    return { Authorization: `Bearer ${token}`, Tenant: tenant, ...client };
  },
  values: () => ({ apiKey }),
};

export default auth;
