import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import {
  DatabaseError,
  DatabaseUnavailable,
  ForeignKeyViolation,
  UniqueViolation,
} from '../../platform/store/errors.ts';
import { recordOperatorAct } from '../../platform/store/operator-log.ts';
import { serviceRole } from '../../platform/store/role.ts';
import type { Transaction } from '../../platform/store/session.ts';
import type { Store } from '../../platform/store/store.ts';
import { type TenantTable, tenantTables } from '../../platform/store/tenant-tables.ts';
import { eventsRecorded, partitionsDue } from '../../platform/store/trace.ts';
import { booksOf } from '../books.ts';
import { counted } from '../counted.ts';
import { inCell } from '../databases/index.ts';
import { checkTenantName, type Operator } from '../operator.ts';
import { insertCopiedRows } from './copied-rows.ts';
import type { ContentPart, FileEnd, FileHeader, FileRow } from './file-format.ts';
import { FileKey } from './file-key.ts';
import { holdImport, removeImport, reserveImport } from './interrupted-imports.ts';
import { type OpenFile, openFile, verifyFile } from './read-file.ts';
import { insertTenant, schemaIn } from './tenant-row.ts';

export interface ImportRequest {
  /** An absolute path. */
  readonly file: string;
  /** The name of the tenant; null for the one that it had. */
  readonly name: string | null;
  /** The database of the directory that gets it; null for the one with the directory. */
  readonly cell: string | null;
  /** Whether the tenant is closed; otherwise it is if it was. */
  readonly isClosed: boolean;
  /** The key of the secrets in the file, 32 bytes in base64; null for the master key. */
  readonly transferKey: string | null;
}

export interface ImportSummary {
  readonly tenant: string;
  readonly rows: number;
  readonly files: number;
  /** Hashes of content that the exported storage lacked. */
  readonly missing: readonly string[];
  /** Number of payment links whose tokens lead to another tenant: the original, in the same database. */
  readonly linksElsewhere: number;
}

/** Rows are inserted this many at a time, or fewer long ones. */
const rowsAtOnce = 1_000;
const lengthAtOnce = 1 << 20;

/** Statistics of tables with fewer new rows do not matter. */
const worthStatistics = 2_000;

/**
 * Creates a tenant from a file, with all of its rows as they were, in one transaction. The file is read twice: first it is
 * verified, so a damaged one is rejected before anything is written.
 *
 * @throws Error with a sentence if the file is damaged, is from another schema, or its rows contradict each other, or if the
 * tenant exists. Nothing remains then.
 */
export async function importTenant(operator: Operator, request: ImportRequest): Promise<ImportSummary> {
  const { vault, storage } = operator.service;
  const key = new FileKey(vault, request.transferKey ?? undefined);
  operator.progress?.({ step: 'verifying the file', done: 0 });
  const { header, end } = await verifyFile(request.file, key);
  const name = request.name ?? header.tenant.name;
  checkTenantName(name);
  return inCell(operator, name, request.cell, (store) =>
    importInto(store, { operator, request, key, header, end, name, storage }),
  );
}

interface VerifiedImport {
  readonly operator: Operator;
  readonly storage: Operator['service']['storage'];
  readonly request: ImportRequest;
  readonly key: FileKey;
  readonly header: FileHeader;
  readonly end: FileEnd;
  readonly name: string;
}

async function importInto(store: Store, verified: VerifiedImport): Promise<ImportSummary> {
  const { operator, request, key, header, end, name, storage } = verified;
  checkSchema(request.file, header, await schemaIn(store));
  const tenantId = await reserveImport({ store, storage }, name);
  try {
    const file = await openFile(request.file, key);
    return await store.writeNew(
      async (transaction) => {
        await holdImport(transaction, tenantId);
        await transaction.all(sql`set local idle_in_transaction_session_timeout = 0`);
        await transaction.all(sql`set local app.copies_rows = 'on'`);
        await transaction.all(sql`set constraints all deferred`);
        const state = request.isClosed ? { active: false } : {};
        await insertTenant(transaction, tenantId, { ...header.tenant, ...state, name });
        const details = { file: header.tenant.name, exportedAt: header.exportedAt, sha256: end.sha256 };
        await recordOperatorAct(transaction, { operation: 'tenant import', subject: name, details });
        return { tenantId, value: await tenantTables(transaction) };
      },
      async (transaction, tables) => {
        await using content = new ContentImport(operator, tenantId);
        const rows = new RowImport(operator, transaction, tenantId, tables, key, end);
        await rows.run(file, content);
        const { files, missing } = content;
        return { tenant: name, rows: end.rows, files, missing, linksElsewhere: rows.linksElsewhere };
      },
    );
  } catch (error) {
    // If the database is unavailable, the next import or a serving process removes it.
    await removeImport({ store, storage }, tenantId).catch(() => undefined);
    throw explained(error, request.file, name);
  } finally {
    store.notify(eventsRecorded, String(tenantId));
    store.notify(partitionsDue, '');
  }
}

function checkSchema(path: string, { schema }: FileHeader, here: string): void {
  if (schema === here) return;
  const difference = `${path} has the schema ${schema}, and this database has ${here}.`;
  throw new Error(
    schema > here
      ? `${difference} Upgrade this database to the version that exported the file, with "operator migrate", and import it then.`
      : `${difference} Import it into an empty database with the version that exported it, upgrade that database with "operator migrate", and export the tenant again.`,
  );
}

/** Describes a failure to the operator. */
function explained(error: unknown, path: string, name: string): unknown {
  if (error instanceof UniqueViolation && /^tenant(_place)?$/.test(error.table))
    return new Error(`The tenant ${name} already exists.`);
  if (error instanceof ForeignKeyViolation)
    return new Error(
      `A row of ${error.table} refers to a row that ${path} does not have (${error.constraint}). Nothing was imported. Export the tenant again.`,
    );
  if (error instanceof DatabaseError && !(error instanceof DatabaseUnavailable))
    return new Error(`The database rejects a row of ${path}: ${error.message} Nothing was imported.`, { cause: error });
  return error;
}

/** Inserts the rows of a file, in batches, and checks them. */
class RowImport {
  linksElsewhere = 0;
  readonly #operator: Operator;
  readonly #transaction: Transaction;
  readonly #tenantId: number;
  readonly #tables: ReadonlyMap<string, TenantTable>;
  readonly #key: FileKey;
  readonly #end: FileEnd;
  #table: TenantTable | undefined;
  #batch: string[] = [];
  #length = 0;
  #done = 0;

  constructor(
    operator: Operator,
    transaction: Transaction,
    tenantId: number,
    tables: readonly TenantTable[],
    key: FileKey,
    end: FileEnd,
  ) {
    this.#operator = operator;
    this.#transaction = transaction;
    this.#tenantId = tenantId;
    this.#tables = new Map(tables.map((table) => [table.name, table]));
    this.#key = key;
    this.#end = end;
  }

  async run({ lines }: OpenFile, content: ContentImport): Promise<void> {
    for await (const line of lines) {
      if (line.kind === 'content') await content.add(line);
      else await this.#add(line);
    }
    await this.#flush();
    await this.#workAsOwner();
    this.#operator.progress?.({ step: 'checking references', done: this.#done, total: this.#end.rows });
    await this.#transaction.all(sql`set constraints all immediate`);
    this.#operator.progress?.({ step: 'checking the books', done: this.#done, total: this.#end.rows });
    await this.#checkBooks();
  }

  async #add(row: FileRow): Promise<void> {
    if (row.table !== this.#table?.name) {
      await this.#flush();
      this.#table = this.#tables.get(row.table);
      if (this.#table === undefined) throw new Error(`The file has rows of ${row.table}, which is not a table here.`);
    }
    const json = this.#withSecrets(row);
    this.#batch.push(json);
    this.#length += json.length;
    if (this.#batch.length >= rowsAtOnce || this.#length >= lengthAtOnce) await this.#flush();
  }

  #withSecrets({ table, secrets, json }: FileRow): string {
    const values = Object.entries(secrets).map(
      ([column, value]) => `"${column}":"\\\\x${this.#key.fromFile(table, column, value)}",`,
    );
    return values.length === 0 ? json : `{${values.join('')}${json.slice(1)}`;
  }

  async #flush(): Promise<void> {
    if (this.#table === undefined || this.#batch.length === 0) return;
    await this.#transaction.all(insertCopiedRows(this.#table, this.#tenantId, `[${this.#batch.join(',')}]`));
    this.#done += this.#batch.length;
    this.#operator.progress?.({ step: this.#table.name, done: this.#done, total: this.#end.rows });
    this.#batch = [];
    this.#length = 0;
  }

  /** What the role of requests is not allowed to do. */
  async #workAsOwner(): Promise<void> {
    await this.#transaction.all(sql`set local role none`);
    const links = await this.#transaction.first<{ elsewhere: number }>(sql`
      select count(*) as elsewhere from quick_payment_link link where tenant_id = ${this.#tenantId}
        and not exists (select from payment_link_token where token_hash = link.token_hash and tenant = link.tenant_id)`);
    this.linksElsewhere = links?.elsewhere ?? 0;
    // So that what checks all rows is planned for them.
    for (const [table, { lines }] of Object.entries(this.#end.tables))
      if (lines >= worthStatistics) await this.#transaction.all(sql`analyze ${sql.table(table)}`);
    await this.#transaction.all(sql`set local role ${sql.ref(serviceRole)}`);
  }

  async #checkBooks(): Promise<void> {
    const { differences, breaches } = await booksOf(this.#transaction, this.#tenantId);
    const found = [
      ...differences.map(
        ({ type, id, field, kept, actual }) => `${field} of ${type} ${id} is ${kept} and not ${actual}`,
      ),
      ...breaches.map(({ rule, id, detail }) => `${id} violates the rule "${rule}" (${detail})`),
    ];
    if (found.length === 0) return;
    throw new Error(
      `The books of the file are inconsistent in ${counted(found.length, 'place')}. The first: ${found[0]}. Nothing was imported. Run "operator books check" where the tenant was exported, and export it again.`,
    );
  }
}

/** Stores the content of files. */
class ContentImport {
  readonly missing: string[] = [];
  files = 0;
  readonly #operator: Operator;
  readonly #tenantId: number;
  #unfinished: { readonly folder: string; readonly path: string } | undefined;

  constructor(operator: Operator, tenantId: number) {
    this.#operator = operator;
    this.#tenantId = tenantId;
  }

  async add({ sha256, bytes, isLast }: ContentPart): Promise<void> {
    if (bytes === undefined) this.missing.push(sha256);
    else if (isLast && this.#unfinished === undefined) await this.#store(sha256, bytes);
    else await this.#append(sha256, bytes, isLast);
  }

  async #append(sha256: string, bytes: Buffer, isLast: boolean): Promise<void> {
    if (this.#unfinished === undefined) {
      const folder = await mkdtemp(join(tmpdir(), 'financial-automation-content-'));
      this.#unfinished = { folder, path: join(folder, 'content') };
    }
    const { path } = this.#unfinished;
    await appendFile(path, bytes, { mode: 0o600 });
    if (!isLast) return;
    await this.#store(sha256, { path });
    await this[Symbol.asyncDispose]();
  }

  async #store(sha256: string, content: Buffer | { readonly path: string }): Promise<void> {
    const stored = await this.#operator.service.storage.put(this.#tenantId, content);
    if (stored.sha256 !== sha256) throw new Error(`The content ${sha256} has the hash ${stored.sha256}.`);
    this.files++;
    this.#operator.progress?.({ step: 'content of files', done: this.files });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#unfinished === undefined) return;
    const { folder } = this.#unfinished;
    this.#unfinished = undefined;
    await rm(folder, { recursive: true, force: true });
  }
}
