import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { columnsOfTenants } from '../../../test/isolation/marked-tenant.ts';
import { sharedService } from '../../../test/service.ts';
import { allOperations, contract } from '../../contract/contract.ts';

const { call, store, tenant } = await sharedService();

/** Whether a part of the contract, or one that it refers to, has a property. */
function has(part: unknown, property: string, seen = new Set<unknown>()): boolean {
  if (typeof part !== 'object' || part === null || seen.has(part)) return false;
  seen.add(part);
  if ('properties' in part && Object.hasOwn(Object(part.properties), property)) return true;
  const target = '$ref' in part ? String(part.$ref).slice(2).split('/') : [];
  const referred = target.reduce<unknown>((found, name) => Object(found)[name], contract);
  return [...Object.values(part), ...(target.length > 0 ? [referred] : [])].some((one) => has(one, property, seen));
}

test('a tax ID is in no table, readable or as a digest that can be tried out, whatever operation receives it, also while a batch waits', async () => {
  const receiving = allOperations.filter(({ path, method }) =>
    has(Object(contract.paths)[path][method.toLowerCase()].requestBody, 'taxId'),
  );
  const taxId = 'QX-90817263';
  const record = (number: number, more: object = {}) => ({
    type: 'Client',
    systemRef: `tax-${number}`,
    attributes: { name: `Taxed ${number}`, taxId, ...more },
  });
  const attributes = { name: 'Taxed 4', taxId };
  const bodies: Readonly<Record<string, object>> = {
    onboardClient: { name: 'Onboarded', address: {}, taxId },
    upsertRecords: { records: [record(1), record(2, { email: 'no address' }), { ...record(4), source: 'IMPORT' }] },
    updateRecords: { records: [record(1, { taxId: `${taxId}-1` })] },
    createRecordBatch: { records: [record(3)] },
  };
  expect(receiving.map(({ id }) => id).sort()).toEqual(Object.keys(bodies).sort());
  for (const { id, method, path } of receiving) {
    const { status } = await call(method, path, bodies[id], { 'Idempotency-Key': id });
    expect([id, status]).toEqual([id, expect.toBeOneOf([200, 201, 202])]);
  }
  const digestOf = (content: unknown) => createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const digests = [
    ...receiving.map(({ id }) => digestOf([id, {}, {}, bodies[id]])),
    digestOf({ attributes, source: 'IMPORT' }),
  ];
  const found = [taxId, Buffer.from(taxId).toString('hex'), ...digests].join('|');
  const tables = new Set((await store.system(columnsOfTenants)).map(({ table }) => table));
  const readable = await store.system(async (transaction) => {
    await transaction.all(sql`select set_config('app.tenant_id', ${String(tenant.id)}, true)`);
    const having: string[] = [];
    for (const table of tables) {
      const [row] = await transaction.all(sql`
        select from ${sql.table(table)} t where tenant_id = ${tenant.id} and t::text ~ ${found} limit 1`);
      if (row !== undefined) having.push(table);
    }
    return having;
  });
  expect(readable).toEqual([]);
});
