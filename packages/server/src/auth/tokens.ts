import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { numberOf } from '../contract/contract.ts';
import { Problem } from '../http/problem.ts';
import { algorithm, type KeyRing } from './key-ring.ts';

/** How long an access token lives, in seconds: as long as the contract allows. */
export const accessTokenLifetime = numberOf('AccessToken', 'expires_in', 'maximum');

/** Clocks of two machines may differ by this much, in seconds. */
const clockTolerance = 5;

/** What an access token says (the claims of RFC 9068, and ours). */
export interface AccessClaims {
  /** The API user. */
  readonly sub: string;
  /** The API key that the token was exchanged for; revoking it ends the token too. */
  readonly client_id: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly staffId: string | null;
  /** Seconds since 1970. */
  readonly exp: number;
}

/** What an API key says. Its roles and its state are read from the database, so that they can change. */
export interface ApiKeyClaims {
  readonly jti: string;
  readonly tenant: string;
}

type Kind = { readonly typ: string; readonly audience: string };
const accessToken: Kind = { typ: 'at+jwt', audience: 'api' };
const apiKey: Kind = { typ: 'api-key+jwt', audience: 'token' };

const issuer = 'financial-automation';

/** Signs and verifies API keys and access tokens. Neither passes for the other: type and audience differ. */
export class Tokens {
  readonly #keys: KeyRing;
  /** Verifying a signature costs more than a read of a row, and a caller sends the same token for 15 minutes. */
  readonly #verified = new LRUCache<string, AccessClaims>({ max: 10_000 });

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  signAccessToken(claims: Omit<AccessClaims, 'exp'>, id: string): Promise<string> {
    return this.#sign(accessToken, { ...claims, jti: id }, `${accessTokenLifetime}s`);
  }

  signApiKey(claims: ApiKeyClaims & { readonly sub: string }, expiresAt: Date): Promise<string> {
    return this.#sign(apiKey, { ...claims }, expiresAt);
  }

  /** @throws Problem `UNAUTHENTICATED` that says what is wrong with the token. */
  async verifyAccessToken(token: string): Promise<AccessClaims> {
    const known = this.#verified.get(token);
    if (known !== undefined) {
      if (known.exp + clockTolerance <= Date.now() / 1000) throw unauthenticated('The access token has expired.');
      return known;
    }
    const { sub, client_id, tenant, roles, staffId, exp } = await this.#verify(accessToken, token, 'access token');
    if (
      typeof sub !== 'string' ||
      typeof client_id !== 'string' ||
      typeof tenant !== 'string' ||
      !isTexts(roles) ||
      typeof exp !== 'number'
    ) {
      throw unauthenticated('The access token is not one of ours.');
    }
    const claims = { sub, client_id, tenant, roles, staffId: typeof staffId === 'string' ? staffId : null, exp };
    this.#verified.set(token, claims);
    return claims;
  }

  /** @throws Problem `UNAUTHENTICATED` that says what is wrong with the key. */
  async verifyApiKey(key: string): Promise<ApiKeyClaims> {
    const { jti, tenant } = await this.#verify(apiKey, key, 'API key');
    if (typeof jti !== 'string' || typeof tenant !== 'string') throw unauthenticated('The API key is not one of ours.');
    return { jti, tenant };
  }

  #sign(kind: Kind, claims: Record<string, unknown>, expires: string | Date): Promise<string> {
    const { kid, key } = this.#keys.signingKey();
    return new SignJWT(claims)
      .setProtectedHeader({ alg: algorithm, kid, typ: kind.typ })
      .setIssuer(issuer)
      .setAudience(kind.audience)
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(key);
  }

  async #verify(kind: Kind, token: string, name: string): Promise<Record<string, unknown>> {
    try {
      const { kid } = decodeProtectedHeader(token);
      const key = kid === undefined ? undefined : await this.#keys.publicKey(kid);
      if (key === undefined) throw unauthenticated(`The ${name} is not one of ours.`);
      const { payload } = await jwtVerify(token, key, {
        algorithms: [algorithm],
        typ: kind.typ,
        audience: kind.audience,
        issuer,
        clockTolerance,
        requiredClaims: ['exp'],
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw unauthenticated(`The ${name} has expired.`, error);
      if (error instanceof errors.JOSEError || error instanceof TypeError) {
        throw unauthenticated(`The ${name} is not one of ours.`, error);
      }
      throw error;
    }
  }
}

/** A 401 with the challenge that RFC 6750 asks for. */
export function unauthenticated(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, {
    headers: { 'WWW-Authenticate': 'Bearer realm="financial-automation", error="invalid_token"' },
    ...(cause === undefined ? {} : { cause }),
  });
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
