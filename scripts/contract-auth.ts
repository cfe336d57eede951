/**
 * How the contract check signs in to this API: `contract-check --auth scripts/contract-auth.ts`. It takes `API_KEY`, and
 * `API_URL` and `API_TENANT` where they are not those of `pnpm start`.
 */
import type { Auth } from '../packages/contract/src/options.ts';

const { API_KEY: apiKey, API_URL: url = 'http://127.0.0.1:3000', API_TENANT: tenant = 'hartwell' } = process.env;

const auth: Auth = {
  async caller() {
    if (apiKey === undefined) throw new Error('Put an API key into API_KEY: pnpm start prints one.');
    const answer = await fetch(`${url}/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ apiKey }),
    });
    if (!answer.ok) throw new Error(`${url} does not take the API key: it answers ${answer.status}.`);
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return { Authorization: `Bearer ${token}`, Tenant: tenant };
  },
  values: () => ({ apiKey }),
};

export default auth;
