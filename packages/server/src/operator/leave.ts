import { sql } from 'kysely';
import { pasteable } from '../platform/operator-command.ts';
import { UniqueViolation } from '../platform/store/errors.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Transaction } from '../platform/store/session.ts';
import type { Store } from '../platform/store/store.ts';
import { tenantTables } from '../platform/store/tenant-tables.ts';
import { storeOfTenant } from './databases/index.ts';
import { removeCopy } from './moves/index.ts';
import { checkTenantName, noTenant, type Operator } from './operator.ts';

export interface DeleteRequest {
  readonly tenant: string;
  /** How many days the tenant waits, closed, until it can be deleted. */
  readonly days: number;
}

/** What a tenant had when it was deleted. */
export interface Certificate {
  readonly tenantId: number;
  /** Of all lines of the last export. */
  readonly exportSha256: string;
  /** Rows by table. */
  readonly tables: Readonly<Record<string, number>>;
  readonly files: number;
  readonly bytes: number;
}

/** Either when the tenant can be deleted, or what was deleted. */
export type Deletion = { readonly from: string } | { readonly certificate: Certificate };

/** Processes serve a tenant for so long after it was closed, so an export must be later. */
const noticed = sql`interval '5 seconds'`;

/**
 * Deletes a tenant that has left, in two steps: the first call says from when on it can be deleted, one after that deletes all rows of all
 * tables and the content of files. A call that was interrupted can be repeated.
 *
 * @throws Error with a sentence if the tenant is open, was not exported since it was closed, or waits.
 */
export async function deleteTenant(operator: Operator, { tenant: name, days }: DeleteRequest): Promise<Deletion> {
  const home = operator.service.store;
  const store = await storeOfTenant(operator, name);
  const begun = await home.system((transaction) => begunDeletion(transaction, name));
  const found = await store.owner.first<{
    id: number;
    closedAt: string | null;
    deleteAfter: string | null;
    isDue: boolean | null;
  }>(sql`
    select id, closed_at as "closedAt", delete_after as "deleteAfter", delete_after <= now() as "isDue"
    from tenant where name = ${name}`);
  if (found === undefined) {
    if (begun === undefined) throw new Error(noTenant(name));
    return { certificate: await endDeletion(home, name, begun) };
  }
  const { id, closedAt, deleteAfter, isDue } = found;
  await checkHasNoCopy(home, id, name);
  if (closedAt === null)
    throw new Error(`The tenant ${name} is open. To close it, run: ${pasteable(`operator tenant close ${name}`)}`);
  const exported = await home.owner.first<{ sha256: string }>(sql`
    select details ->> 'sha256' as sha256 from operator_log where operation = 'tenant export' and subject = ${name}
      and (details ->> 'asOf')::timestamptz > ${closedAt}::timestamptz + ${noticed} order by id desc limit 1`);
  if (exported === undefined)
    throw new Error(
      `The tenant ${name} was not exported since it was closed. Run: ${pasteable(`operator tenant export ${name} --to ${name}.ndjson.gz`)}`,
    );
  if (deleteAfter === null) return { from: await scheduleDeletion(store, name, days) };
  if (isDue !== true)
    throw new Error(
      `The tenant ${name} can be deleted from ${deleteAfter} on. To keep it, run: ${pasteable(`operator tenant open ${name}`)}`,
    );
  const certificate = begun ?? (await certify(home, store, name, id, exported.sha256));
  // While there is the tenant, the call can be repeated.
  await operator.service.storage.removeAll(id);
  let done = 0;
  await removeCopy(store, id, false, (rows) => {
    done += rows;
    operator.progress?.({ step: 'delete', done });
  });
  return { certificate: await endDeletion(home, name, certificate) };
}

async function scheduleDeletion(store: Store, name: string, days: number): Promise<string> {
  return store.system(async (transaction) => {
    const waiting = await transaction.first<{ from: string }>(sql`
      update tenant set delete_after = now() + ${days} * interval '1 day' where name = ${name}
      returning delete_after as "from"`);
    if (waiting === undefined) throw new Error(noTenant(name));
    await recordOperatorAct(transaction, { operation: 'tenant delete', subject: name, details: waiting });
    return waiting.from;
  });
}

/** Counts what the tenant has, and records that it is deleted. */
async function certify(home: Store, store: Store, name: string, id: number, sha256: string): Promise<Certificate> {
  const counted = await store.snapshot(
    async () => ({ tenantId: id, value: undefined }),
    async (transaction) => {
      const tables: Record<string, number> = {};
      for (const { name: table } of await tenantTables(transaction)) {
        const [row] = await transaction.all<{ rows: number }>(sql`
          select count(*)::integer as rows from ${sql.table(table)} where tenant_id = ${id}`);
        tables[table] = row?.rows ?? 0;
      }
      const content = await transaction.first<{ files: number; bytes: number }>(sql`
        select count(*)::integer as files, coalesce(sum(size_bytes), 0)::float as bytes
        from (select distinct sha256, size_bytes from file where tenant_id = ${id} and sha256 is not null) stored`);
      return { tables, files: content?.files ?? 0, bytes: content?.bytes ?? 0 };
    },
  );
  const certificate = { tenantId: id, exportSha256: sha256, ...counted };
  await recordOperatorAct(home.owner, { operation: 'tenant delete', subject: name, details: { certificate } });
  return certificate;
}

/** The deletion of the tenant of this name that has begun and not ended. */
async function begunDeletion(transaction: Transaction, name: string): Promise<Certificate | undefined> {
  const act = await transaction.first<{ certificate: Certificate | null }>(sql`
    select details -> 'certificate' as certificate from operator_log
    where operation = 'tenant delete' and subject = ${name} order by id desc limit 1`);
  return act?.certificate ?? undefined;
}

async function endDeletion(home: Store, name: string, certificate: Certificate): Promise<Certificate> {
  const { tenantId } = certificate;
  for (const { number } of home.cells)
    await home.cell(number).owner.all(sql`delete from tenant_move where tenant = ${tenantId}`);
  await home.system(async (transaction) => {
    await transaction.all(sql`delete from tenant_place where ${name} in (name, renamed_to)`);
    await recordOperatorAct(transaction, { operation: 'tenant delete', subject: name, details: { deleted: tenantId } });
  });
  return certificate;
}

/** @throws Error with a sentence if a database has a copy of the tenant, or one is on its way. */
async function checkHasNoCopy(home: Store, id: number, name: string): Promise<void> {
  for (const { number } of home.cells) {
    const move = await home
      .cell(number)
      .owner.first(sql`select from tenant_move where tenant = ${id} and phase <> 'REMOVED'`);
    if (move !== undefined)
      throw new Error(
        `The tenant ${name} moves, or has an old copy. To remove it, run: ${pasteable(`operator tenant move ${name} --remove-old`)}`,
      );
  }
}

export interface RenameRequest {
  readonly tenant: string;
  readonly to: string;
}

/**
 * Gives a tenant another name. The former one still leads to it, for API keys and for callers who send it, and no other tenant gets it. A
 * call that was interrupted can be repeated.
 *
 * @throws Error with a sentence if the tenant does not exist, moves, or the name is used or invalid.
 */
export async function renameTenant(operator: Operator, { tenant: name, to }: RenameRequest): Promise<null> {
  checkTenantName(to);
  const home = operator.service.store;
  const store = await storeOfTenant(operator, name);
  const found = await store.owner.first<{ id: number }>(sql`select id from tenant where name = ${name}`);
  if (found === undefined) throw new Error(noTenant(name));
  await checkHasNoCopy(home, found.id, name);
  try {
    await home.system(async (transaction) => {
      await placeUnder(transaction, name, to);
      await transaction.all(sql`update tenant set name = ${to} where name = ${name}`);
      await recordOperatorAct(transaction, { operation: 'tenant rename', subject: name, details: { to } });
    });
    // Each database has a directory, for its own tenants.
    if (store !== home.cell(0))
      await store.system(async (transaction) => {
        await placeUnder(transaction, name, to);
        await transaction.all(sql`update tenant set name = ${to} where name = ${name}`);
      });
  } catch (error) {
    if (error instanceof UniqueViolation) throw new Error(`The tenant ${to} already exists.`);
    throw error;
  }
  return null;
}

async function placeUnder(transaction: Transaction, name: string, to: string): Promise<void> {
  const done = await transaction.first(sql`select from tenant_place where name = ${name} and renamed_to = ${to}`);
  if (done !== undefined) return;
  // A tenant can take back a name that it had.
  await transaction.all(sql`delete from tenant_place where name = ${to} and renamed_to = ${name}`);
  await transaction.all(sql`
    insert into tenant_place (name, cell, tenant, moves_to)
    select ${to}, cell, tenant, moves_to from tenant_place where name = ${name}`);
  await transaction.all(sql`
    update tenant_place set renamed_to = ${to}, tenant = null where ${name} in (name, renamed_to)`);
}
