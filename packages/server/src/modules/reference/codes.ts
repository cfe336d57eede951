import { sql } from 'kysely';
import { defineEntity, type EntityDefinition } from '../../entity/entity.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';

type CodeType = 'WorkCode' | 'ExpenseCode' | 'NonWorkCode';

/** A code for the kind of work that time was spent on. */
export const workCode = defineEntity(
  'WorkCode',
  definitionOf('work_code', { time_entry: 'code', wip_entry: 'code', task_type: 'default_work_code' }),
);

/** A code for the kind of expense. */
export const expenseCode = defineEntity(
  'ExpenseCode',
  definitionOf('expense_code', { expense_entry: 'code', wip_entry: 'code' }),
);

/** A code for time off. */
export const nonWorkCode = defineEntity('NonWorkCode', definitionOf('non_work_code', { time_entry: 'code' }));

/** @param uses the columns with such codes, by their table. */
function definitionOf<Type extends CodeType>(
  table: string,
  uses: Readonly<Record<string, string>>,
): EntityDefinition<Type> {
  const usedCodes = usedCodesOf(table, uses);
  return {
    table,
    rules: {
      isFixed: (row, plan) => plan.lookup(usedCodes, (row as { readonly code: string }).code) === true,
    },
  };
}

/** Whether a code is in use, by the code. */
function usedCodesOf(table: string, uses: Readonly<Record<string, string>>): Lookup<boolean> {
  return {
    name: `used codes of ${table}`,
    async load(transaction, tenantId, codes) {
      const isUsed = Object.entries(uses).map(
        ([user, column]) =>
          sql`exists (select from ${sql.table(user)} u where u.tenant_id = ${tenantId} and u.${sql.ref(column)} = code.code)`,
      );
      const used = await transaction.all<{ code: string }>(sql`
        select code from unnest(${codes}::text[]) code where ${sql.join(isUsed, sql` or `)}`);
      return new Map(used.map(({ code }) => [code, true]));
    },
  };
}
