import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { sql } from 'kysely';
import type { Store } from '../store/store.ts';
import type { Vault } from './vault.ts';

/** The one algorithm that tokens are signed with; any other in a token's header is refused. */
export const algorithm = 'EdDSA';

/** A key that is not known yet is looked for in the database, but not more often than this: kids come from outside. */
const reloadPauseMilliseconds = 5_000;

interface SigningKeyRow {
  kid: string;
  publicJwk: JWK;
  privateJwk: Buffer;
}

/**
 * The keys that sign API keys and access tokens. The newest signs; each verifies until it is retired, because API keys
 * outlive rotations.
 */
export class KeyRing {
  readonly #store: Store;
  readonly #vault: Vault;
  #publicKeys = new Map<string, CryptoKey>();
  #publicJwks: JWK[] = [];
  #signing: { kid: string; key: CryptoKey } | undefined;
  readonly #clock: { now(): number };
  #loadedAt = 0;

  private constructor(store: Store, vault: Vault, clock: { now(): number }) {
    this.#store = store;
    this.#vault = vault;
    this.#clock = clock;
  }

  /** Opens the ring and makes the first key where there is none. */
  static async open(store: Store, vault: Vault, clock: { now(): number } = performance): Promise<KeyRing> {
    const ring = new KeyRing(store, vault, clock);
    await ring.#load();
    if (ring.#signing === undefined) await ring.rotate();
    return ring;
  }

  /** Makes a new signing key. @returns its id. */
  async rotate(): Promise<string> {
    const pair = await generateKeyPair(algorithm, { crv: 'Ed25519', extractable: true });
    const publicJwk = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(publicJwk);
    const privateJwk = this.#vault.encrypt('signing-key', JSON.stringify(await exportJWK(pair.privateKey)));
    const stored = JSON.stringify({ ...publicJwk, kid, alg: algorithm, use: 'sig' });
    await this.#store.system((transaction) =>
      transaction.all(sql`
        insert into signing_key (kid, algorithm, public_jwk, private_jwk_encrypted)
        values (${kid}, ${algorithm}, ${stored}::jsonb, ${privateJwk})`),
    );
    await this.#load();
    return kid;
  }

  /** @throws Error while the ring is empty, which `open` rules out. */
  signingKey(): { kid: string; key: CryptoKey } {
    if (this.#signing === undefined) throw new Error('There is no signing key.');
    return this.#signing;
  }

  async publicKey(kid: string): Promise<CryptoKey | undefined> {
    if (!this.#publicKeys.has(kid)) await this.#refresh();
    return this.#publicKeys.get(kid);
  }

  /** The public keys as a JWK set (RFC 7517); those of other processes too, but for the last seconds. */
  async jwks(): Promise<{ keys: JWK[] }> {
    await this.#refresh();
    return { keys: this.#publicJwks };
  }

  async #refresh(): Promise<void> {
    if (this.#clock.now() - this.#loadedAt > reloadPauseMilliseconds) await this.#load();
  }

  async #load(): Promise<void> {
    this.#loadedAt = this.#clock.now();
    const rows = await this.#store.system((transaction) =>
      transaction.all<SigningKeyRow>(sql`
        select kid, public_jwk as "publicJwk", private_jwk_encrypted as "privateJwk"
        from signing_key where retired_at is null order by created_at desc`),
    );
    const publicKeys = new Map<string, CryptoKey>();
    for (const row of rows) publicKeys.set(row.kid, await importKey(row.publicJwk));
    const newest = rows[0];
    if (newest !== undefined) {
      const jwk: JWK = JSON.parse(this.#vault.decrypt('signing-key', newest.privateJwk));
      this.#signing = { kid: newest.kid, key: await importKey(jwk) };
    }
    this.#publicKeys = publicKeys;
    this.#publicJwks = rows.map((row) => row.publicJwk);
  }
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new Error('A signing key must be asymmetric.');
  return key;
}
