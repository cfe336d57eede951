import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { threeDatabases, upsert, verify } from '../../../test/moves.ts';
import { tenantTables } from '../../platform/store/tenant-tables.ts';
import { cancelMove, removeOldCopies } from './end-move.ts';
import { moveTenant } from './move-tenant.ts';

const databases = await threeDatabases();
const { tenantId, callers, cells, operator, second, placesOf, interruptedMove, endLeases } = databases;

test('tenant move › moves a tenant while it and others are used, whichever process finishes it', async () => {
  const load = databases.loads();
  await expect(interruptedMove('west', 'finish')).rejects.toThrow('interrupted');
  // The command has died after the decision: the next request finishes the move.
  expect(await callers.beta('/api/v1/records', upsert('done', 'done'), second.address)).toMatchObject({ status: 200 });
  expect(await placesOf('beta')).toEqual(['east false old copy; the tenant moved to west', 'west true ']);
  await verify(databases, load);
  expect((await second.service.directory.tenant('beta'))?.id).toBe(tenantId);
  await expect(moveTenant(operator, { tenant: 'beta', to: 'west' })).rejects.toThrow(/is in the database west already/);
  await expect(moveTenant(operator, { tenant: 'beta', to: 'east' })).rejects.toThrow(/--remove-old$/);
  await expect(moveTenant(operator, { tenant: 'beta', to: 'none' })).rejects.toThrow(/"operator cell list" shows them/);
});

test('tenant move --remove-old › removes all rows of the old copy, and continues where it was interrupted', async () => {
  const tablesWithRows = () =>
    cells.cell(1).system(async (transaction) => {
      await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
      const found: unknown[] = [];
      for (const { name } of await tenantTables(transaction))
        found.push(
          ...(await transaction.all(sql`select from ${sql.table(name)} where tenant_id = ${tenantId} limit 1`)),
        );
      return found.length;
    });
  const progress = ({ done }: { readonly done: number }) => {
    if (done > 0) throw new Error('interrupted');
  };
  // The move back that was rejected changed nothing.
  const before = await tablesWithRows();
  await expect(removeOldCopies({ ...operator, progress }, 'beta')).rejects.toThrow('interrupted');
  const between = await tablesWithRows();
  expect(between).toBeGreaterThan(0);
  expect(between).toBeLessThan(before);
  expect(await removeOldCopies(operator, 'beta')).toEqual({ cells: ['east'] });
  expect(await placesOf('beta')).toEqual(['west true ']);
  await expect(removeOldCopies(operator, 'beta')).rejects.toThrow(/has no old copy/);
  const left = await cells.cell(1).system(async (transaction) => {
    await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
    return transaction.all(sql`
      select 'audit_log' as table from audit_log where tenant_id = ${tenantId} union all select 'tenant' from tenant
      union all select tgname from pg_trigger where tgname like 'zz_move_%'`);
  });
  expect(left).toEqual([]);
});

test('tenant move --cancel › gives up a move that was interrupted', async () => {
  await expect(interruptedMove('east', 'verify')).rejects.toThrow('interrupted');
  expect(await placesOf('beta')).toEqual([
    'east false arriving copy; the tenant is in west',
    'west true moving to east',
  ]);
  await expect(moveTenant(operator, { tenant: 'beta', to: 'home' })).rejects.toThrow(/on its way to another database/);
  await endLeases();
  await cancelMove(operator, 'beta');
  expect(await placesOf('beta')).toEqual(['west true ']);
  await expect(cancelMove(operator, 'beta')).rejects.toThrow(/is not moving/);
});
