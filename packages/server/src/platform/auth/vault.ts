import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Protects data that must not be readable in the database or forgeable from outside: encrypts (AES-256-GCM) and signs
 * (HMAC-SHA256). Each purpose has its own key, derived from the master key, so that a result for one purpose cannot be
 * used for another.
 */
export class Vault {
  readonly #masterKey: Buffer;
  readonly #derived = new Map<string, Buffer>();

  /** @param masterKey 32 random bytes, kept outside the database. */
  constructor(masterKey: Buffer) {
    if (masterKey.length !== 32)
      throw new Error('The master key must have 32 bytes. Generate one with: openssl rand -base64 32');
    this.#masterKey = masterKey;
  }

  encrypt(purpose: string, plaintext: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key(purpose), nonce);
    return Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws Error if the ciphertext was modified, or was encrypted with another key or for another purpose. */
  decrypt(purpose: string, ciphertext: Buffer): string {
    const decipher = createDecipheriv('aes-256-gcm', this.#key(purpose), ciphertext.subarray(0, nonceBytes));
    decipher.setAuthTag(ciphertext.subarray(-tagBytes));
    return decipher.update(ciphertext.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
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
    return createHmac('sha256', this.#key(purpose)).update(text).digest('base64url');
  }

  verify(purpose: string, text: string, signature: string): boolean {
    const expected = Buffer.from(this.sign(purpose, text));
    const provided = Buffer.from(signature);
    return expected.length === provided.length && timingSafeEqual(expected, provided);
  }

  #key(purpose: string): Buffer {
    let key = this.#derived.get(purpose);
    if (key === undefined) {
      key = Buffer.from(hkdfSync('sha256', this.#masterKey, '', purpose, 32));
      this.#derived.set(purpose, key);
    }
    return key;
  }
}
