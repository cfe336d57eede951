/** API calls as an API user of a tenant, for commands that use a running server. */
export interface FirmCalls {
  call<Body>(method: string, path: string, body?: object): Promise<Body>;
}

const json = { 'Content-Type': 'application/json' };

/** Authenticates with an API key. @throws Error with a sentence if no server responds, or it rejects the key. */
export async function signInTo(baseUrl: string, tenant: string, apiKey: string): Promise<FirmCalls> {
  const exchange = await send<{ access_token: string }>(`${baseUrl}/v1/auth/token`, 'POST', json, { apiKey });
  const headers = { ...json, Authorization: `Bearer ${exchange.access_token}`, Tenant: tenant };
  return { call: (method, path, body) => send(`${baseUrl}${path}`, method, headers, body) };
}

async function send<Body>(url: string, method: string, headers: Record<string, string>, body?: object): Promise<Body> {
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(url, init).catch(() => {
    throw new Error(`No server responds at ${new URL(url).origin}. Start one with: npx --yes pnpm@12 start`);
  });
  if (!response.ok) throw new Error(`${method} ${url} failed: ${await response.text()}`);
  // Responses match the contract.
  return (await response.json()) as Body;
}
