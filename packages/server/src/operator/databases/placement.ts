import { sql } from 'kysely';
import { homeCell, type Store } from '../../platform/store/store.ts';
import { noTenant, type OperatorOf } from '../operator.ts';

export const noDatabase = (name: string | null) =>
  `The directory has no database ${name}. "operator cell list" shows them.`;

export function nameOfDatabase(store: Store, number: number): string {
  return store.cells.find((cell) => cell.number === number)?.name ?? String(number);
}

/** Returns the database that has the tenant, open or closed. @throws Error with a sentence if it does not exist, or has another name now */
export async function storeOfTenant({ service: { directory } }: OperatorOf<'directory'>, name: string): Promise<Store> {
  const store = await directory.storeOf(name);
  if (store === undefined) throw new Error(noTenant(name));
  const entry = await store.owner.first<{ cell: number; present: string | null }>(
    sql`select cell, renamed_to as present from tenant_place where name = ${name}`,
  );
  if (entry?.present != null) throw new Error(`The tenant ${name} is called ${entry.present} now.`);
  // In its own database, a tenant is in number 0.
  if (entry !== undefined && entry.cell !== 0)
    throw new Error(`The tenant ${name} is in another database, which a restored one uses after "operator adopt".`);
  return store;
}

/**
 * Creates a tenant in a database of the directory, where its name is placed before. If this process is killed in between, the same
 * call can be repeated.
 *
 * @param cell the name of the database; null for the one with the directory.
 * @throws Error with a sentence if the name is used or the database is not in the directory.
 */
export async function inCell<Result>(
  { service: { store } }: OperatorOf<'store'>,
  name: string,
  cell: string | null,
  create: (store: Store) => Promise<Result>,
): Promise<Result> {
  const number = store.cells.find((one) => one.name === (cell ?? homeCell))?.number;
  if (number === undefined) throw new Error(noDatabase(cell));
  const target = store.cell(number);
  // Its trigger places it.
  if (number === 0) return create(target);
  const exists = () => target.owner.first(sql`select from tenant where name = ${name}`);
  const placement = await store.owner.first<{ cell: number }>(sql`
    insert into tenant_place (name, cell) select ${name}, number from cell where number = ${number}
    on conflict (name) do update set cell = tenant_place.cell returning cell`);
  if (placement === undefined) throw new Error(noDatabase(cell));
  if (placement.cell !== number || (await exists()) !== undefined)
    throw new Error(`The tenant ${name} already exists.`);
  try {
    return await create(target);
  } catch (error) {
    if ((await exists()) === undefined)
      await store.owner.all(sql`delete from tenant_place where name = ${name} and cell = ${number}`);
    throw error;
  }
}
