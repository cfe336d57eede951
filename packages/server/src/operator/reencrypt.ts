import { sql } from 'kysely';
import { allEntities } from '../entity/registry.ts';
import { importedContentPurpose } from '../modules/bulk/index.ts';
import { signingKeyPurpose } from '../platform/auth/key-ring.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Store, Transaction } from '../platform/store/store.ts';
import { encryptedColumns } from './copies/index.ts';
import { urlPurpose } from './databases/index.ts';
import type { Operator } from './operator.ts';

/** The columns that belong to no tenant, like `encryptedColumns`. */
const columnsOfInstallation = {
  signing_key: { private_jwk_encrypted: signingKeyPurpose },
  cell: { url_encrypted: urlPurpose },
};

/** Values that one statement writes: it locks their rows until it ends. */
const maxValues = 1_000;

export interface Reencrypted {
  /** How many values there are, and how many were under another key than the first one. */
  readonly values: number;
  readonly reencrypted: number;
}

/**
 * Encrypts with the first master key what another one has encrypted, in all databases, beside requests. A value that somebody changes
 * meanwhile is under the first key already. It may run any number of times.
 *
 * @throws Error with a sentence if a database is unavailable, a tenant moves, or a value is under none of the keys
 */
export async function reencryptAll({ service: { store, vault }, progress }: Operator): Promise<Reencrypted> {
  const total = { values: 0, reencrypted: 0 };
  const inTransaction = async (
    transact: <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>,
    columns: Readonly<Record<string, Readonly<Record<string, string>>>>,
  ) => {
    for (const [table, purposes] of Object.entries(columns))
      for (const [column, purpose] of Object.entries(purposes)) {
        const stored = await transact((transaction) =>
          transaction.all<{ value: Buffer }>(
            sql`select ${sql.ref(column)} as value from ${sql.table(table)} where ${sql.ref(column)} is not null`,
          ),
        );
        const changes = stored.flatMap(({ value }) => {
          const next = reencrypted(vault, `${table}.${column}`, purpose, value);
          return next === value ? [] : [{ value: value.toString('hex'), next: next.toString('hex') }];
        });
        for (let from = 0; from < changes.length; from += maxValues) {
          const some = changes.slice(from, from + maxValues);
          await transact((transaction) =>
            transaction.all(sql`
              update ${sql.table(table)} set ${sql.ref(column)} = decode(change.next, 'hex')
              from unnest(${some.map(({ value }) => value)}::text[], ${some.map(({ next }) => next)}::text[]) change (value, next)
              where ${sql.ref(`${table}.${column}`)} = decode(change.value, 'hex')`),
          );
        }
        total.values += stored.length;
        total.reencrypted += changes.length;
      }
    progress?.({ step: 'master-key reencrypt', done: total.values });
  };
  for (const { name, number, isReady } of store.cells) {
    if (!isReady) throw new Error(`The database ${name} is unavailable. Run this again when it is back.`);
    const cell = store.cell(number);
    for (const tenantId of await tenantsIn(cell)) {
      const transact = <Result>(work: (transaction: Transaction) => Promise<Result>) => cell.write(tenantId, work);
      while ((await transact((transaction) => encryptDigests(transaction, vault))) > 0);
      await inTransaction(transact, encryptedColumns);
    }
  }
  // At the end, so that the act is recorded with what was done.
  await inTransaction((work) => store.system(work), columnsOfInstallation);
  await recordOperatorAct(store.owner, {
    operation: 'master-key reencrypt',
    subject: 'installation',
    details: total,
  });
  return total;
}

/** Encrypts digests of imports of types with encrypted values, which an earlier version stored as they are. @returns their number */
async function encryptDigests(transaction: Transaction, vault: Operator['service']['vault']): Promise<number> {
  const types = [...allEntities()].flatMap(({ type, table }) => (table in encryptedColumns ? [type] : []));
  const rows = await transaction.all<{ type: string; systemRef: string; digest: string }>(sql`
    select type, system_ref as "systemRef", encode(digest, 'hex') as digest from imported_content
    where digest is not null and type = any(${types}) limit ${maxValues} for update`);
  const encrypted = rows.map(({ digest }) => vault.encrypt(importedContentPurpose, digest).toString('hex'));
  await transaction.all(sql`
    update imported_content last set digest = null, digest_encrypted = decode(next.encrypted, 'hex')
    from unnest(${rows.map(({ type }) => type)}::text[], ${rows.map(({ systemRef }) => systemRef)}::text[], ${encrypted}::text[])
      next (type, system_ref, encrypted)
    where last.type = next.type and last.system_ref = next.system_ref`);
  return rows.length;
}

function reencrypted(vault: Operator['service']['vault'], where: string, purpose: string, value: Buffer): Buffer {
  try {
    return vault.reencrypt(purpose, value);
  } catch (cause) {
    throw new Error(`A value of ${where} is under none of the keys in MASTER_KEY. Add the key that it had before.`, {
      cause,
    });
  }
}

/**
 * The tenants of a database, closed ones too. An old copy of a tenant that has moved keeps its keys: nobody reads it again.
 *
 * @throws Error with a sentence if a tenant moves, because the copy at its destination would keep the former key
 */
async function tenantsIn(cell: Store): Promise<number[]> {
  const found = await cell.owner.all<{ id: number; name: string; phase: string | null }>(sql`
    select id, name, phase from tenant left join tenant_move move on move.tenant = tenant.id
    where phase is null or phase not in ('LEFT', 'REMOVED') order by id`);
  const moving = found.find(({ phase }) => phase !== null);
  if (moving !== undefined)
    throw new Error(
      `The tenant ${moving.name} moves to another database. Finish the move or cancel it, and run this again.`,
    );
  return found.map(({ id }) => id);
}
