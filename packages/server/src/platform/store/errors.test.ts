import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { insertOrg } from '../../../test/rows.ts';
import {
  CheckViolation,
  DatabaseError,
  DatabaseUnavailable,
  ForeignKeyViolation,
  retryLevel,
  TenantMoving,
  TransactionConflict,
  UniqueViolation,
} from './errors.ts';
import type { Query } from './store.ts';

const { store, tenantId } = await testStore();
await store.write(tenantId, (transaction) => transaction.all(insertOrg(tenantId, 'taken')));

async function failureOf(query: Query<unknown>): Promise<unknown> {
  try {
    await store.write(tenantId, (transaction) => transaction.all(query));
  } catch (error) {
    return error;
  }
  throw new Error('The statement succeeded.');
}

const office = (orgId: string) => sql`
  insert into office (tenant_id, id, system_ref, name, code, org_id, time_zone)
  values (${tenantId}, gen_random_uuid(), 'x', 'x', 'x', ${orgId}, 'America/New_York')`;
const clientType = (days: number) => sql`
  insert into client_type (tenant_id, id, system_ref, name, code, default_payment_terms_days)
  values (${tenantId}, gen_random_uuid(), 'x', 'x', 'x', ${days})`;

test('a violated constraint is named in the error', async () => {
  const unique = await failureOf(insertOrg(tenantId, 'taken'));
  expect(unique).toBeInstanceOf(UniqueViolation);
  expect(unique).toMatchObject({ constraint: 'org_name_unique', table: 'org', sqlState: '23505' });

  const reference = await failureOf(office('00000000-0000-7000-8000-000000000000'));
  expect(reference).toBeInstanceOf(ForeignKeyViolation);
  expect(reference).toMatchObject({ constraint: 'office_org_id_reference', table: 'office', sqlState: '23503' });

  const check = await failureOf(clientType(121));
  expect(check).toBeInstanceOf(CheckViolation);
  expect(check).toMatchObject({ constraint: 'client_type_default_payment_terms_days_range', table: 'client_type' });
});

test('a unique index is named like a constraint', async () => {
  const type = (name: string) => sql`
    insert into custom_record_type (tenant_id, id, system_ref, name, fields)
    values (${tenantId}, gen_random_uuid(), ${name}, ${name}, '[]')`;
  await store.write(tenantId, (transaction) => transaction.all(type('Opportunity')));
  expect(await failureOf(type('OPPORTUNITY'))).toMatchObject({ constraint: 'custom_record_type_name_unique' });
});

test('a statement that waits too long for a lock is reported as an unavailable database', async () => {
  const failure = await failureOf(sql`do $$ begin raise exception 'waited' using errcode = '55P03'; end $$`);
  expect(failure).toBeInstanceOf(DatabaseUnavailable);
  await store.ready();
});

test('work that is done again logs an error only if somebody has to act', async () => {
  const temporary = [new TenantMoving(), new TransactionConflict('Concurrent transactions conflict.', '40001')];
  expect(temporary.map(retryLevel)).toEqual(['warn', 'warn']);
  expect([await failureOf(insertOrg(tenantId, 'taken')), new TypeError('x')].map(retryLevel)).toEqual([
    'error',
    'error',
  ]);
});

test('no error contains the text of a statement or a value of a row', async () => {
  const statements = [
    insertOrg(tenantId, 'taken'),
    sql`select 'sensitive'::uuid`,
    sql`select ${'sensitive'}::integer`,
    sql`insert into org (tenant_id, name) values (${tenantId}, 'sensitive')`,
    sql`select sensitive from_here to_there`,
  ];
  for (const statement of statements) {
    const failure = await failureOf(statement);
    expect(failure).toBeInstanceOf(DatabaseError);
    const text = JSON.stringify(
      failure,
      Object.getOwnPropertyNames(failure).filter((name) => name !== 'stack'),
    );
    expect(text).not.toMatch(/insert into|select |values|'sensitive'|"sensitive"|taken/);
  }
});
