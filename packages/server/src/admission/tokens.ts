import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { numberOf } from '../contract/contract.ts';
import { unauthenticated } from '../contract/problem.ts';
import type { Rejection } from '../contract/rejection.ts';
import { algorithm, type KeyRing } from '../platform/auth/key-ring.ts';
import type { Vault } from '../platform/auth/vault.ts';
import { databaseClock } from '../platform/database-clock.ts';

/** Lifetime of an access token, in seconds: the maximum that the contract allows. */
export const accessTokenLifetime = numberOf('AccessToken', 'expires_in', 'maximum');

/** Tolerated clock difference between machines, in seconds. */
const clockTolerance = 5;

/** Claims of an access token (RFC 9068, and our own). */
export interface AccessClaims {
  /** The API user. */
  readonly sub: string;
  /** The API key that the token was exchanged for; revoking the key invalidates the token. */
  readonly client_id: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly staffId: string | null;
  /** Seconds since 1970. */
  readonly exp: number;
}

/** Claims of an API key. Its roles and state are read from the database, so that they can change. */
export interface ApiKeyClaims {
  readonly jti: string;
  readonly tenant: string;
}

type Kind = { readonly typ: string; readonly audience: string };
const accessToken: Kind = { typ: 'at+jwt', audience: 'api' };
const apiKey: Kind = { typ: 'api-key+jwt', audience: 'token' };

const issuer = 'financial-automation';

/** Purpose of the mark in a token's header, with its own key in the vault. */
const markPurpose = 'token-mark';
const markLength = 22;

/**
 * Called before the signature of a token without our mark is checked: it is most likely not ours, and checking signatures
 * is expensive. It may throw.
 */
type OnDoubt = () => void;

/**
 * Signs and verifies API keys and access tokens. Type and audience distinguish them. Each carries a mark that is cheap to
 * check, so that garbage is detected before any signature is checked.
 */
export class Tokens {
  readonly #keys: KeyRing;
  readonly #vault: Vault;
  /** Verifying a signature costs more than reading a row, and callers send the same token for 15 minutes. */
  readonly #verified = new LRUCache<string, { readonly claims: AccessClaims; readonly kid: string }>({ max: 10_000 });

  constructor(keys: KeyRing, vault: Vault) {
    this.#keys = keys;
    this.#vault = vault;
  }

  signAccessToken(claims: Omit<AccessClaims, 'exp'>, id: string): Promise<string> {
    return this.#sign(
      accessToken,
      { ...claims, jti: id },
      Math.floor(databaseClock.now() / 1000) + accessTokenLifetime,
    );
  }

  /** Signing a key again, with the same times and the same signing key, returns the same text. */
  signApiKey(claims: ApiKeyClaims & { readonly sub: string }, times: { from: Date; until: Date }): Promise<string> {
    return this.#sign(apiKey, { ...claims }, secondsOf(times.until), secondsOf(times.from));
  }

  /** @throws Rejection `UNAUTHENTICATED` with what is wrong with the token. */
  async verifyAccessToken(token: string, onDoubt?: OnDoubt): Promise<AccessClaims> {
    const known = this.#verified.get(token);
    if (known !== undefined) {
      if (known.claims.exp + clockTolerance <= databaseClock.now() / 1000) {
        throw unauthenticated('The access token has expired.');
      }
      // The key may have been retired since.
      if ((await this.#keys.publicKey(known.kid)) === undefined) throw notOurs('access token');
      return known.claims;
    }
    const { payload, kid } = await this.#verify(accessToken, token, 'access token', onDoubt);
    const { sub, client_id, tenant, roles, staffId, exp } = payload;
    if (
      typeof sub !== 'string' ||
      typeof client_id !== 'string' ||
      typeof tenant !== 'string' ||
      !isTexts(roles) ||
      typeof exp !== 'number'
    ) {
      throw notOurs('access token');
    }
    const claims = { sub, client_id, tenant, roles, staffId: typeof staffId === 'string' ? staffId : null, exp };
    this.#verified.set(token, { claims, kid });
    return claims;
  }

  /** @throws Rejection `UNAUTHENTICATED` with what is wrong with the key. */
  async verifyApiKey(key: string, onDoubt?: OnDoubt): Promise<ApiKeyClaims> {
    const { jti, tenant } = (await this.#verify(apiKey, key, 'API key', onDoubt)).payload;
    if (typeof jti !== 'string' || typeof tenant !== 'string') throw notOurs('API key');
    return { jti, tenant };
  }

  /** @param exp and `iat` in seconds since 1970 */
  #sign(
    kind: Kind,
    claims: { readonly jti: string; readonly [name: string]: unknown },
    exp: number,
    iat = secondsOf(databaseClock.date()),
  ): Promise<string> {
    const { kid, key } = this.#keys.signingKey();
    return new SignJWT(claims)
      .setProtectedHeader({ alg: algorithm, kid, typ: kind.typ, mark: this.#mark(claims.jti, exp) })
      .setIssuer(issuer)
      .setAudience(kind.audience)
      .setIssuedAt(iat)
      .setExpirationTime(exp)
      .sign(key);
  }

  #mark(jti: string, exp: number): string {
    return this.#vault.sign(markPurpose, `${jti} ${exp}`).slice(0, markLength);
  }

  #isMarked(token: string): boolean {
    try {
      const { jti, exp } = decodeJwt(token);
      return (
        typeof jti === 'string' && typeof exp === 'number' && decodeProtectedHeader(token).mark === this.#mark(jti, exp)
      );
    } catch {
      return false;
    }
  }

  async #verify(
    kind: Kind,
    token: string,
    name: string,
    onDoubt: OnDoubt = () => undefined,
  ): Promise<{ payload: Record<string, unknown>; kid: string }> {
    try {
      const isMarked = this.#isMarked(token);
      if (!isMarked) onDoubt();
      const { kid } = decodeProtectedHeader(token);
      // A token with our mark and an unknown key may have been signed by another process with a new key.
      const key = kid === undefined ? undefined : await this.#keys.publicKey(kid, isMarked);
      if (kid === undefined || key === undefined) throw notOurs(name);
      const { payload } = await jwtVerify(token, key, {
        algorithms: [algorithm],
        typ: kind.typ,
        audience: kind.audience,
        issuer,
        clockTolerance,
        currentDate: databaseClock.date(),
        requiredClaims: ['exp'],
      });
      return { payload, kid };
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw unauthenticated(`The ${name} has expired.`, error);
      if (error instanceof errors.JOSEError || error instanceof TypeError) {
        throw notOurs(name, error);
      }
      throw error;
    }
  }
}

function notOurs(name: string, cause?: unknown): Rejection {
  return unauthenticated(`The ${name} is invalid.`, cause);
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
