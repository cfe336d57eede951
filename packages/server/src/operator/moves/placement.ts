import { sql } from 'kysely';
import { Cells } from '../../platform/store/databases/index.ts';
import { noTenant, type OperatorOf } from '../operator.ts';

interface Placement {
  readonly cells: Cells;
  readonly tenantId: number;
  readonly cell: number;
  /** The number of the database that a move that has begun leads to. */
  readonly movesTo: number | null;
}

/** @throws Error with a sentence if the tenant or the directory does not exist */
export async function placementOf({ service: { store } }: OperatorOf<'store'>, name: string): Promise<Placement> {
  const found = await store.owner.first<{ cell: number; movesTo: number | null }>(
    sql`select cell, moves_to as "movesTo" from tenant_place where name = ${name}`,
  );
  if (found === undefined) throw new Error(noTenant(name));
  if (!(store instanceof Cells))
    throw new Error('The embedded database is the only one, so tenants cannot be moved. Use "tenant export".');
  const tenant = await store
    .cell(found.cell)
    .owner.first<{ id: number }>(sql`select id from tenant where name = ${name}`);
  if (tenant === undefined) throw new Error(noTenant(name));
  return { cells: store, tenantId: tenant.id, ...found };
}
