import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/** At least one key; the first encrypts and signs, the others are those before or after it while keys change. */
export type MasterKeys = readonly [Buffer, ...Buffer[]];

/**
 * Protects data that must not be readable in the database or forgeable from outside: encrypts (AES-256-GCM) and signs
 * (HMAC-SHA256). Each purpose has its own key, derived from the master key, so that a result for one purpose cannot be
 * used for another. What any of the master keys has encrypted or signed is accepted.
 */
export class Vault {
  readonly #masterKeys: MasterKeys;
  readonly #derived = new Map<string, MasterKeys>();

  /** @param masterKeys each 32 random bytes, kept outside the database. */
  constructor(masterKeys: MasterKeys) {
    if (masterKeys.some(({ length }) => length !== 32))
      throw new Error('The master key must have 32 bytes. Generate one with: openssl rand -base64 32');
    this.#masterKeys = masterKeys;
  }

  encrypt(purpose: string, plaintext: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#keys(purpose)[0], nonce);
    return Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws Error if the ciphertext was modified, or was encrypted with another key or for another purpose. */
  decrypt(purpose: string, ciphertext: Buffer): string {
    return this.#open(purpose, ciphertext).plaintext;
  }

  /**
   * Returns the ciphertext under the first key; the one that it was given if it is under that key already.
   *
   * @throws Error as `decrypt`
   */
  reencrypt(purpose: string, ciphertext: Buffer): Buffer {
    const { plaintext, isCurrent } = this.#open(purpose, ciphertext);
    return isCurrent ? ciphertext : this.encrypt(purpose, plaintext);
  }

  /** Decrypts what every database has. @throws Error with a sentence for the operator */
  decryptOwn(purpose: string, ciphertext: Buffer): string {
    try {
      return this.decrypt(purpose, ciphertext);
    } catch (error) {
      throw new Error('MASTER_KEY is not the key with which this database was set up. Set it to that key.', {
        cause: error,
      });
    }
  }

  /** @returns a signature in base64url. */
  sign(purpose: string, text: string): string {
    return signature(this.#keys(purpose)[0], text);
  }

  verify(purpose: string, text: string, signed: string): boolean {
    // As text, because several texts in base64url stand for the same bytes.
    const provided = Buffer.from(signed);
    return this.#keys(purpose).some((key) => {
      const expected = Buffer.from(signature(key, text));
      return expected.length === provided.length && timingSafeEqual(expected, provided);
    });
  }

  #open(purpose: string, ciphertext: Buffer): { plaintext: string; isCurrent: boolean } {
    const [current, ...others] = this.#keys(purpose);
    try {
      return { plaintext: decrypted(current, ciphertext), isCurrent: true };
    } catch (error) {
      for (const key of others) {
        try {
          return { plaintext: decrypted(key, ciphertext), isCurrent: false };
        } catch {
          // The error of the first key is the one that is thrown.
        }
      }
      throw error;
    }
  }

  #keys(purpose: string): MasterKeys {
    return this.#derived.getOrInsertComputed(purpose, () => {
      const [first, ...others] = this.#masterKeys;
      const derived = (key: Buffer) => Buffer.from(hkdfSync('sha256', key, '', purpose, 32));
      return [derived(first), ...others.map(derived)];
    });
  }
}

/** @returns base64url */
function signature(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** @throws Error if the key is another one, or the ciphertext was modified */
function decrypted(key: Buffer, ciphertext: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, ciphertext.subarray(0, nonceBytes));
  decipher.setAuthTag(ciphertext.subarray(-tagBytes));
  return decipher.update(ciphertext.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
}
