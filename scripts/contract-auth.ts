/**
 * Authenticates the contract check with this API: `contract-check --auth scripts/contract-auth.ts`. It reads `API_KEY`,
 * and `API_URL` and `API_TENANT` if they differ from those of `pnpm start`.
 */
import type { Auth } from '../packages/contract-check/src/options.ts';

const { API_KEY: apiKey, API_URL: url = 'http://127.0.0.1:3000', API_TENANT: tenant = 'hartwell' } = process.env;

const auth: Auth = {
  async caller() {
    if (apiKey === undefined) throw new Error('Set API_KEY to an API key; pnpm start prints one.');
    const response = await fetch(`${url}/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ apiKey }),
    });
    if (!response.ok) throw new Error(`${url} rejects the API key with status ${response.status}.`);
    const { access_token: token } = (await response.json()) as { access_token: string };
    return { Authorization: `Bearer ${token}`, Tenant: tenant };
  },
  values: () => ({ apiKey }),
};

export default auth;
