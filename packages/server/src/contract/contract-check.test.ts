import { fileURLToPath } from 'node:url';
import { describeContract } from '@financial-automation/contract-check/vitest';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { testService } from '../../test/service.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { handlers, notImplemented } from '../resources/handlers.ts';

const service = await testService();
const stranger = await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('elsewhere') });
const powerless = await service.signIn({ roles: [] });

const signedIn = (token: string, tenant: string) => ({ Authorization: `Bearer ${token}`, Tenant: tenant });

await describeContract('the server keeps the contract', {
  spec: fileURLToPath(new URL('../../../../openapi/openapi.yaml', import.meta.url)),
  notReached: Object.entries(handlers)
    .filter(([, handler]) => handler === notImplemented)
    .map(([id]) => id),
  options: async () => ({
    url: service.address,
    timeout: 60,
    // `pnpm contract-check` sends more; here, the other engine's run and the next seed's take their share.
    probes: 40,
    auth: {
      caller: () => signedIn(service.token, service.tenant.name),
      powerless: () => signedIn(powerless.token, powerless.tenant.name),
      stranger: () => signedIn(stranger.token, stranger.tenant.name),
      expired: async () => signedIn(await expired(service.token), service.tenant.name),
      values: async () => ({ apiKey: await apiKey() }),
    },
  }),
});

/** The token with an end that has passed. */
async function expired(token: string): Promise<string> {
  const { key, kid } = service.service.keys.signingKey();
  const past = Math.floor(Date.now() / 1000) - 3600;
  return new SignJWT({ ...decodeJwt(token), exp: past })
    .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'EdDSA', kid })
    .sign(key);
}

async function apiKey(): Promise<string> {
  const wanted = {
    tenant: service.tenant.name,
    user: 'checker',
    roles: ['API_ADMIN'],
    days: 1,
    description: undefined,
  };
  return (await createApiKey({ service: service.service }, wanted)).key;
}
