import { setTimeout as pause } from 'node:timers/promises';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { sql } from 'kysely';
import { pasteable } from '../operator-command.ts';
import { recordOperatorAct } from '../store/operator-log.ts';
import type { Store } from '../store/store.ts';
import type { Vault } from './vault.ts';

/** The only signature algorithm; tokens whose header names another one are rejected. */
export const algorithm = 'EdDSA';

/**
 * Keys are read again when they are older than this, in milliseconds, so that each process notices that one is retired
 * within 5 s.
 */
const freshness = 4_000;

/** Time during which requests with unknown keys wait for one read of all keys, in milliseconds. */
const readAgainAfter = 100;

/** What the vault encrypts them for. */
export const signingKeyPurpose = 'signing-key';

/** Only one process creates the first key. */
const firstKeyLock = sql`select pg_advisory_xact_lock(hashtext('first_signing_key'))`;

interface SigningKeyRow {
  kid: string;
  publicJwk: JWK;
  privateJwk: Buffer;
}

/** A signing key, as operators see it. */
export interface SigningKeyState {
  readonly kid: string;
  readonly createdAt: string;
  readonly retiredAt: string | null;
  readonly use: 'signs and verifies' | 'verifies' | 'none';
}

/**
 * The keys that sign API keys and access tokens. The newest one signs; each verifies until it is retired, because API
 * keys outlive rotations. Tokens signed by a retired key are rejected.
 */
export class KeyRing {
  readonly #store: Store;
  readonly #vault: Vault;
  #publicKeys = new Map<string, CryptoKey>();
  #publicJwks: JWK[] = [];
  #signing: { kid: string; key: CryptoKey } | undefined;
  readonly #clock: { now(): number };
  #loadedAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  /** The next read for keys that this process does not know. */
  #next: Promise<void> | undefined;

  private constructor(store: Store, vault: Vault, clock: { now(): number }) {
    this.#store = store;
    this.#vault = vault;
    this.#clock = clock;
  }

  /** Opens the key ring, and creates the first key if there is none. */
  static async open(store: Store, vault: Vault, clock: { now(): number } = performance): Promise<KeyRing> {
    const ring = new KeyRing(store, vault, clock);
    await ring.#load();
    if (ring.#signing === undefined) await ring.#create(true);
    return ring;
  }

  /** Creates a signing key, which signs from now on. @returns its ID. */
  rotate(): Promise<string> {
    return this.#create(false);
  }

  /** @param onlyFirst whether to create no key if there is one. */
  async #create(onlyFirst: boolean): Promise<string> {
    const pair = await generateKeyPair(algorithm, { crv: 'Ed25519', extractable: true });
    const publicJwk = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(publicJwk);
    const privateJwk = this.#vault.encrypt(signingKeyPurpose, JSON.stringify(await exportJWK(pair.privateKey)));
    const stored = JSON.stringify({ ...publicJwk, kid, alg: algorithm, use: 'sig' });
    await this.#store.system(async (transaction) => {
      if (onlyFirst) {
        await transaction.all(firstKeyLock);
        const other = await transaction.first(sql`select from signing_key where retired_at is null limit 1`);
        if (other !== undefined) return;
      }
      await transaction.all(sql`
        insert into signing_key (kid, algorithm, public_jwk, private_jwk_encrypted)
        values (${kid}, ${algorithm}, ${stored}::jsonb, ${privateJwk})`);
      await recordOperatorAct(transaction, { operation: 'signing-key rotate', subject: kid });
    });
    await this.#load();
    return kid;
  }

  /**
   * Retires a key: tokens that it signed are rejected, in this process at once and in every other one within seconds.
   *
   * @throws Error with a sentence if the key does not exist or is the one that signs
   */
  async retire(kid: string): Promise<void> {
    await this.#load();
    if (kid === this.#signing?.kid) {
      throw new Error(`The key ${kid} signs new tokens. First run: ${pasteable('operator signing-key rotate')}`);
    }
    await this.#store.system(async (transaction) => {
      const retired = await transaction.first(sql`
        update signing_key set retired_at = now() where kid = ${kid} and retired_at is null returning kid`);
      if (retired === undefined) throw new Error(`No signing key ${kid} is in use.`);
      await recordOperatorAct(transaction, { operation: 'signing-key retire', subject: kid });
    });
    await this.#load();
  }

  /** Returns all keys, the newest first. */
  async list(): Promise<SigningKeyState[]> {
    const rows = await this.#store.owner.all<Omit<SigningKeyState, 'use'>>(sql`
      select kid, created_at as "createdAt", retired_at as "retiredAt" from signing_key order by created_at desc, kid`);
    const newest = rows.find((row) => row.retiredAt === null);
    return rows.map((row) => ({
      ...row,
      use: row === newest ? 'signs and verifies' : row.retiredAt === null ? 'verifies' : 'none',
    }));
  }

  /** @throws Error if the ring is empty, which `open` prevents. */
  signingKey(): { kid: string; key: CryptoKey } {
    if (this.#signing === undefined) throw new Error('There is no signing key.');
    return this.#signing;
  }

  /**
   * Returns the public key with this ID, or undefined if it is unknown or retired.
   *
   * @param mayBeNew whether another process may have created the key since the keys were last read. They are then read
   * again; concurrent callers share one read that began after they called.
   */
  async publicKey(kid: string, mayBeNew = false): Promise<CryptoKey | undefined> {
    if (!this.#isFresh) await this.#refresh();
    const known = this.#publicKeys.get(kid);
    if (known !== undefined || !mayBeNew) return known;
    await this.#readAgain();
    return this.#publicKeys.get(kid);
  }

  /** The public keys as a JWK set (RFC 7517). */
  async jwks(): Promise<{ keys: JWK[] }> {
    await this.#refresh();
    return { keys: this.#publicJwks };
  }

  get #isFresh(): boolean {
    return this.#clock.now() - this.#loadedAt <= freshness;
  }

  async #refresh(): Promise<void> {
    if (this.#isFresh) return;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  /**
   * Reads the keys, beginning after this call: a read that is under way may have missed a new key. All callers of a tenth of a
   * second share one read, so tokens with changed key IDs cannot keep the database busy.
   */
  #readAgain(): Promise<void> {
    this.#next ??= (async () => {
      await pause(readAgainAfter);
      this.#next = undefined;
      await this.#load();
    })();
    return this.#next;
  }

  async #load(): Promise<void> {
    const began = this.#clock.now();
    const rows = await this.#store.owner.all<SigningKeyRow>(sql`
      select kid, public_jwk as "publicJwk", private_jwk_encrypted as "privateJwk"
      from signing_key where retired_at is null order by created_at desc, kid`);
    const publicKeys = new Map<string, CryptoKey>();
    for (const row of rows) publicKeys.set(row.kid, await importKey(row.publicJwk));
    const newest = rows[0];
    const signing = newest && {
      kid: newest.kid,
      key: await importKey(JSON.parse(this.#vault.decryptOwn(signingKeyPurpose, newest.privateJwk))),
    };
    // A later read has finished first, and its result is newer.
    if (began < this.#loadedAt) return;
    this.#loadedAt = began;
    this.#signing = signing;
    this.#publicKeys = publicKeys;
    this.#publicJwks = rows.map((row) => row.publicJwk);
  }
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new Error('A signing key must be asymmetric.');
  return key;
}
