import { sql } from 'kysely';
import type { Cells } from '../../platform/store/databases/index.ts';
import { recordOperatorAct } from '../../platform/store/operator-log.ts';
import { nameOfDatabase } from '../databases/index.ts';
import type { Operator } from '../operator.ts';
import { placementOf } from './placement.ts';
import { removeCopy, removeRows } from './remove-copy.ts';
import { unwatchRows } from './watch-rows.ts';

/**
 * Gives up a move that has not been decided: the tenant stays where it is, and the copy is removed. It can be repeated.
 *
 * @throws Error with a sentence if no move can be given up.
 */
export async function cancelMove(operator: Operator, name: string): Promise<null> {
  const { cells, tenantId, cell, movesTo } = await placementOf(operator, name);
  if (movesTo !== null) await cells.follow(tenantId, cell);
  const placement = await placementOf(operator, name);
  if (placement.movesTo === null || placement.cell !== cell)
    throw new Error(
      `The tenant ${name} is not moving: it is in the database ${nameOfDatabase(cells, placement.cell)}.`,
    );
  const [source, target] = [cells.cell(cell), cells.cell(placement.movesTo)];
  await source.system(async (transaction) => {
    const move = await transaction.first<{ isWorkedOn: boolean; phase: string }>(sql`
      select mover_until > now() as "isWorkedOn", phase from tenant_move where tenant = ${tenantId} for update`);
    if (move?.isWorkedOn === true)
      throw new Error(
        `A process is moving the tenant ${name}, or did so seconds ago. Stop it, wait 10 seconds, and run the command again.`,
      );
    if (move !== undefined && !/^(LEAVING|STOPPED)$/.test(move.phase))
      throw new Error(`The tenant ${name} has just moved. "operator tenant list" shows where it is.`);
    await transaction.all(sql`delete from tenant_move where tenant = ${tenantId}`);
  });
  await unwatchRows(source, tenantId);
  await source.owner.all(sql`delete from moved_row where tenant = ${tenantId}`);
  await target.system(async (transaction) => {
    const copy = await transaction.first(sql`
      select from tenant_move where tenant = ${tenantId} and phase = 'ARRIVING' for update`);
    if (copy === undefined) return;
    await removeRows(transaction, tenantId, placement.movesTo === 0);
    await transaction.all(sql`delete from tenant_move where tenant = ${tenantId}`);
  });
  await cells.system(async (transaction) => {
    await transaction.all(sql`update tenant_place set moves_to = null where name = ${name}`);
    const details = { to: nameOfDatabase(cells, placement.movesTo ?? 0) };
    await recordOperatorAct(transaction, { operation: 'tenant move --cancel', subject: name, details });
  });
  return null;
}

/**
 * Removes the copies that a tenant has left behind in other databases. It can be repeated.
 *
 * @returns the names of these databases
 * @throws Error with a sentence if there are none.
 */
export async function removeOldCopies(
  operator: Operator,
  name: string,
): Promise<{ readonly cells: readonly string[] }> {
  const { cells, tenantId, cell, movesTo } = await placementOf(operator, name);
  if (movesTo !== null) await cells.follow(tenantId, cell);
  const { cell: now } = await placementOf(operator, name);
  const removed: string[] = [];
  for (const { number, name: cellName } of cells.cells) {
    if (number === now || !(await isOldCopy(cells, number, tenantId))) continue;
    let done = 0;
    const show = (rows: number) => {
      done += rows;
      operator.progress?.({ step: `remove the copy in ${cellName}`, done });
    };
    show(0);
    const store = cells.cell(number);
    await removeCopy(store, tenantId, number === 0, show);
    await unwatchRows(store, tenantId);
    // Processes that have not looked at the directory for long still find out where the tenant is.
    await store.owner.all(sql`update tenant_move set phase = 'REMOVED' where tenant = ${tenantId} and phase = 'LEFT'`);
    removed.push(cellName);
  }
  if (removed.length === 0)
    throw new Error(`The tenant ${name} has no old copy: all of it is in the database ${nameOfDatabase(cells, now)}.`);
  await recordOperatorAct(cells.owner, { operation: 'tenant move --remove-old', subject: name, details: { removed } });
  return { cells: removed };
}

async function isOldCopy(cells: Cells, number: number, tenantId: number): Promise<boolean> {
  const found = await cells
    .cell(number)
    .owner.first(sql`select from tenant_move where tenant = ${tenantId} and phase = 'LEFT'`);
  return found !== undefined;
}
