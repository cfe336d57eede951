import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';
import { atEnd } from './at-end.ts';

export const client = { id: 'console', secret: 'a secret of the console' };

/** What the provider says of each account, by its name. */
export type Accounts = Record<string, Record<string, unknown>>;

/** A real OpenID Connect provider, whose page asks only for the name of an account. */
export async function startIdentityProvider() {
  let handle = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  // Another site than that of the service, which is at 127.0.0.1.
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' };

  /** Until this is called, it cannot be reached. */
  function open(redirectUri: string, accounts: Accounts): void {
    const registered = {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [new URL('/console', redirectUri).href],
    };
    const provider = new Provider(issuer, {
      clients: [registered],
      cookies: { keys: ['a key of cookies'] },
      jwks: { keys: [jwk] },
      features: { devInteractions: { enabled: false } },
      claims: {
        openid: ['sub', 'tenant', 'roles'],
        profile: ['name', 'preferred_username'],
        email: ['email', 'email_verified'],
      },
      findAccount: (_context, accountId) =>
        accounts[accountId] === undefined
          ? undefined
          : { accountId, claims: () => ({ sub: accountId, ...accounts[accountId] }) },
      interactions: { url: (_context, { uid }) => `/login/${uid}` },
      loadExistingGrant: async ({ oidc }) => {
        const grant = new provider.Grant({ clientId: oidc.client?.clientId, accountId: oidc.session?.accountId });
        grant.addOIDCScope('openid profile email');
        await grant.save();
        return grant;
      },
    });
    const callback = provider.callback();
    handle = async (request, response) => {
      if (request.url?.startsWith('/login/') !== true) return void callback(request, response);
      if (request.method === 'POST') {
        const accountId = new URLSearchParams(await text(request)).get('account') ?? '';
        return provider.interactionFinished(request, response, { login: { accountId } });
      }
      response.writeHead(200, { 'Content-Type': 'text/html' });
      response.end('<form method="post"><label>Account <input name="account"></label><button>Continue</button></form>');
    };
  }

  return { issuer, open };
}
