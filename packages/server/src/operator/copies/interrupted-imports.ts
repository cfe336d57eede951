import { sql } from 'kysely';
import { UniqueViolation } from '../../platform/store/errors.ts';
import type { Transaction } from '../../platform/store/session.ts';
import type { Operator } from '../operator.ts';

/** An import holds this advisory lock, with the ID of its tenant, while its transaction runs. */
const lockOfImports = 72306;
/** The time until the transaction of an import has begun, at most. */
const startsWithin = '1 minute';

type Resources = Pick<Operator['service'], 'store' | 'storage'>;

/**
 * Notes that a tenant is about to be imported, in a transaction of its own: if the process is killed, the content that it has stored
 * is found by the note.
 *
 * @returns the ID of the new tenant
 * @throws Error with a sentence if the name is used.
 */
export async function reserveImport(service: Resources, name: string): Promise<number> {
  await removeInterruptedImports(service);
  try {
    const reserved = await service.store.system(async (transaction) => {
      const known = await transaction.first(sql`select from tenant where name = ${name}
        union all select from tenant_place where name = ${name}`);
      if (known !== undefined)
        throw new Error(`The tenant ${name} already exists. To import it under another name, use --name.`);
      return transaction.first<{ id: number }>(sql`
        insert into tenant_import (tenant, name) values (nextval(pg_get_serial_sequence('tenant', 'id')), ${name})
        returning tenant as id`);
    });
    if (reserved === undefined) throw new Error('The import was not noted.');
    return reserved.id;
  } catch (error) {
    if (error instanceof UniqueViolation)
      throw new Error(
        `The tenant ${name} is being imported by another process, or was until a minute ago. Try again later.`,
      );
    throw error;
  }
}

/** Lets others see until the end of the transaction that the import runs. The note disappears if the transaction commits. */
export async function holdImport(transaction: Transaction, tenantId: number): Promise<void> {
  await transaction.all(sql`select pg_advisory_xact_lock(${lockOfImports}::integer, ${tenantId}::integer)`);
  const noted = await transaction.first(sql`delete from tenant_import where tenant = ${tenantId} returning tenant`);
  if (noted === undefined) throw new Error('The import took too long to start. Run the command again.');
}

/** Removes the content that imports have stored whose processes were killed. */
export async function removeInterruptedImports(service: Resources): Promise<void> {
  const noted = await service.store.owner.all<{ tenant: number }>(sql`
    select tenant from tenant_import where started_at < now() - ${startsWithin}::interval order by tenant`);
  for (const { tenant } of noted) await removeImport(service, tenant);
}

/** Removes the content of an import that has failed. What was committed stays, even if its process has not learned that. */
export async function removeImport({ store, storage }: Resources, tenantId: number): Promise<void> {
  await store.system(async (transaction) => {
    const lock = await transaction.first<{ isFree: boolean }>(sql`
      select pg_try_advisory_xact_lock(${lockOfImports}::integer, ${tenantId}::integer) as "isFree"`);
    if (lock?.isFree !== true) return;
    const noted = await transaction.first(sql`select tenant from tenant_import where tenant = ${tenantId} for update`);
    if (noted === undefined) return;
    await storage.removeAll(tenantId);
    await transaction.all(sql`delete from tenant_import where tenant = ${tenantId}`);
  });
}
