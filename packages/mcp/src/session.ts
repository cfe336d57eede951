/** The connection to the service: a client that renews its access tokens, and the roles of the API user. */
import { type AccessToken, type Client, createClient, orThrow } from '../../client/src/index.ts';
import type { Settings } from './settings.ts';

export interface Session {
  readonly client: Client;
  /** Undefined if the token does not contain them. */
  readonly roles: ReadonlySet<string> | undefined;
}

/** Connects. Rejects with a `ProblemError` if the service does not accept the credentials. */
export async function connect({ baseUrl, tenant, clientId, credentials }: Settings): Promise<Session> {
  const options = { baseUrl, tenant, ...(clientId === undefined ? {} : { clientId }) };
  const exchange = async (): Promise<AccessToken> => {
    if ('accessToken' in credentials) {
      // Its lifetime is unknown. The client requests it again after a 401, and then reports that response.
      return { access_token: credentials.accessToken, token_type: 'Bearer', expires_in: 900 };
    }
    const { apiKey } = credentials;
    return orThrow(createClient({ ...options, apiKey }).createToken({ body: { apiKey } }));
  };
  let first: AccessToken | undefined = await exchange();
  const roles = rolesIn(first.access_token);
  const accessToken = async () => {
    const token = first ?? (await exchange());
    first = undefined;
    return token;
  };
  return { client: createClient({ ...options, accessToken }), roles };
}

/**
 * The claim `roles` of a JWT. It only determines which tools are offered: the service checks the token with every call.
 */
function rolesIn(accessToken: string): ReadonlySet<string> | undefined {
  try {
    const [, payload = ''] = accessToken.split('.');
    const { roles }: { roles?: unknown } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return Array.isArray(roles) ? new Set(roles.map(String)) : undefined;
  } catch {
    return undefined;
  }
}
