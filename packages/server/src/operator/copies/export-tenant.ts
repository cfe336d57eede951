import { sql } from 'kysely';
import { ContentMissing } from '../../platform/storage/storage.ts';
import { recordOperatorAct } from '../../platform/store/operator-log.ts';
import type { Transaction } from '../../platform/store/session.ts';
import { tenantTables } from '../../platform/store/tenant-tables.ts';
import { storeOfTenant } from '../databases/index.ts';
import { noTenant, type Operator } from '../operator.ts';
import { readCopiedRows } from './copied-rows.ts';
import { contentLine, endLine, FileDigest, headerLine, rowLine } from './file-format.ts';
import { encryptedColumns, FileKey } from './file-key.ts';
import { type FoundTenant, findTenant } from './tenant-row.ts';
import { type FileTarget, openTarget } from './write-file.ts';

export interface ExportRequest {
  readonly tenant: string;
  /** An absolute path, or `-`. */
  readonly to: string;
  /** The key of the secrets in the file, 32 bytes in base64; null for the master key. */
  readonly transferKey: string | null;
}

export interface ExportSummary {
  readonly rows: number;
  readonly tables: number;
  readonly files: number;
  readonly bytes: number;
  /** Hashes of content that the storage lacks. */
  readonly missing: readonly string[];
  readonly sha256: string;
}

/** Length of a part of content: a multiple of three, so that base64 needs no padding inside. */
const partLength = 3 << 16;

/**
 * Writes all of a tenant to a file: its rows as of one moment, and the content of its files. The tenant works meanwhile.
 *
 * @throws Error with a sentence if the tenant does not exist, or the file cannot be written; then there is no file.
 */
export async function exportTenant(operator: Operator, request: ExportRequest): Promise<ExportSummary> {
  const { store: home, vault } = operator.service;
  const store = await storeOfTenant(operator, request.tenant);
  const key = new FileKey(vault, request.transferKey ?? undefined);
  const target = await openTarget(request.to);
  try {
    let asOf = '';
    const summary = await store.snapshot(
      async (transaction) => {
        const found = await findTenant(transaction, sql`tenant.name = ${request.tenant}`);
        if (found === undefined) throw new Error(noTenant(request.tenant));
        return { tenantId: found.tenantId, value: found };
      },
      (transaction, found) => {
        asOf = found.asOf;
        return new Export(operator, transaction, found, key, target).run();
      },
    );
    const details = { rows: summary.rows, sha256: summary.sha256, asOf };
    await recordOperatorAct(home.owner, { operation: 'tenant export', subject: request.tenant, details });
    await target.end();
    return summary;
  } catch (error) {
    await target.abandon();
    throw error;
  }
}

/** One export, within its transaction. */
class Export {
  readonly #operator: Operator;
  readonly #transaction: Transaction;
  readonly #found: FoundTenant;
  readonly #key: FileKey;
  readonly #target: FileTarget;
  readonly #digest = new FileDigest();
  #rows = 0;

  constructor(operator: Operator, transaction: Transaction, found: FoundTenant, key: FileKey, target: FileTarget) {
    this.#operator = operator;
    this.#transaction = transaction;
    this.#found = found;
    this.#key = key;
    this.#target = target;
  }

  async run(): Promise<ExportSummary> {
    const { schema, tenant, asOf } = this.#found;
    const first = headerLine({ schema, exportedAt: asOf, key: this.#key.id, tenant });
    this.#digest.addHeader(first);
    await this.#target.write(first);
    const content = await this.#writeContent();
    const tables = await tenantTables(this.#transaction);
    for (const table of tables) {
      const secrets = Object.keys(encryptedColumns[table.name] ?? {});
      await readCopiedRows(this.#transaction, table, this.#found.tenantId, secrets, async (rows) => {
        const lines = rows.map((row) =>
          rowLine({ table: table.name, json: row.json, secrets: this.#toFile(table.name, row.secrets) }),
        );
        await this.#write(table.name, lines);
        this.#rows += rows.length;
        this.#operator.progress?.({ step: table.name, done: this.#rows });
      });
    }
    const end = this.#digest.end();
    await this.#target.write(endLine({ ...end, signature: this.#key.sign(end.sha256) }));
    return { rows: end.rows, tables: Object.keys(end.tables).length, ...content, sha256: end.sha256 };
  }

  #toFile(table: string, secrets: Readonly<Record<string, string>>): Record<string, string> {
    const written = Object.entries(secrets).map(([column, value]) => [column, this.#key.toFile(table, column, value)]);
    return Object.fromEntries(written);
  }

  async #write(table: string | undefined, lines: readonly string[]): Promise<void> {
    const text = lines.join('');
    this.#digest.add(table, text, lines.length);
    await this.#target.write(text);
  }

  /** Content comes first: an import stores it before its transaction begins. */
  async #writeContent(): Promise<Pick<ExportSummary, 'files' | 'bytes' | 'missing'>> {
    const { tenantId } = this.#found;
    const hashes = await this.#transaction.all<{ sha256: string }>(sql`
      select distinct sha256 from file where tenant_id = ${tenantId} and sha256 is not null order by sha256`);
    const missing: string[] = [];
    let bytes = 0;
    for (const [index, { sha256 }] of hashes.entries()) {
      try {
        bytes += await this.#writeContentOf(sha256);
      } catch (error) {
        if (!(error instanceof ContentMissing)) throw error;
        missing.push(sha256);
        await this.#write(undefined, [contentLine({ sha256, bytes: undefined, isLast: true })]);
      }
      this.#operator.progress?.({ step: 'content of files', done: index + 1 });
    }
    return { files: hashes.length - missing.length, bytes, missing };
  }

  /** @throws ContentMissing */
  async #writeContentOf(sha256: string): Promise<number> {
    const stream = await this.#operator.service.storage.open(this.#found.tenantId, sha256);
    let length = 0;
    let rest = Buffer.alloc(0);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      rest = Buffer.concat([rest, chunk]);
      for (; rest.length > partLength; rest = rest.subarray(partLength))
        await this.#write(undefined, [contentLine({ sha256, bytes: rest.subarray(0, partLength), isLast: false })]);
    }
    await this.#write(undefined, [contentLine({ sha256, bytes: rest, isLast: true })]);
    return length;
  }
}
