import { importedContentPurpose } from '../../modules/bulk/index.ts';
import { taxIdPurpose } from '../../modules/clients/index.ts';
import { webhookSecretPurpose } from '../../modules/events/index.ts';
import { batchEntryPurpose } from '../../modules/records/index.ts';
import { Vault } from '../../platform/auth/vault.ts';

/** The columns that are encrypted with the master key, by table, with the purposes of their keys. */
export const encryptedColumns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  client: { tax_id_encrypted: taxIdPurpose },
  imported_content: { digest_encrypted: importedContentPurpose },
  record_batch_item: { entry_encrypted: batchEntryPurpose },
  webhook_secret: { secret_encrypted: webhookSecretPurpose },
};

const signaturePurpose = 'tenant-export';

/**
 * The key of a file: the master key of the service, or a key that was created for a transfer to a service with another master key.
 * It encrypts the secrets in the file, and signs the file.
 */
export class FileKey {
  readonly #own: Vault;
  readonly #file: Vault;

  /** @param transferKey 32 bytes in base64. @throws Error with a sentence if it is not. */
  constructor(own: Vault, transferKey: string | undefined) {
    this.#own = own;
    this.#file = transferKey === undefined ? own : vaultOf(transferKey);
  }

  /** Identifies the key, and does not reveal it. */
  get id(): string {
    return this.#file.sign(signaturePurpose, 'key').slice(0, 16);
  }

  sign(sha256: string): string {
    return this.#file.sign(signaturePurpose, sha256);
  }

  verify(sha256: string, signature: string): boolean {
    return this.#file.verify(signaturePurpose, sha256, signature);
  }

  /** @param stored in hexadecimal. @returns the value for the file, in base64 */
  toFile(table: string, column: string, stored: string): string {
    const bytes = Buffer.from(stored, 'hex');
    return this.#recrypted(this.#own, this.#file, table, column, bytes).toString('base64');
  }

  /** @returns the value for the column, in hexadecimal. @throws Error if the key of the file is another one */
  fromFile(table: string, column: string, written: string): string {
    const bytes = Buffer.from(written, 'base64');
    return this.#recrypted(this.#file, this.#own, table, column, bytes).toString('hex');
  }

  #recrypted(from: Vault, to: Vault, table: string, column: string, bytes: Buffer): Buffer {
    const purpose = encryptedColumns[table]?.[column];
    if (purpose === undefined) throw new Error(`The column ${column} of ${table} is not encrypted.`);
    return from === to ? to.reencrypt(purpose, bytes) : to.encrypt(purpose, from.decrypt(purpose, bytes));
  }
}

function vaultOf(transferKey: string): Vault {
  try {
    return new Vault([Buffer.from(transferKey, 'base64')]);
  } catch (error) {
    throw new Error('TRANSFER_KEY must be 32 bytes in base64. Generate one with: openssl rand -base64 32', {
      cause: error,
    });
  }
}
