import { expect, test, vi } from 'vitest';
import { testService } from '../../../test/service.ts';

const { address, call, store } = await testService();

/** Calls with statements that a newer version of the schema breaks: a table, a column and a function have other names. */
const calls = {
  upsertRecords: () => call('POST', '/api/v1/records', { records: [record] }),
  listIndustries: () => call('POST', '/gql/v1/industries', {}),
  listDepartments: () => call('POST', '/gql/v1/departments', {}),
};
const record = { type: 'Industry', systemRef: 'one', attributes: { name: 'One' } };
const ready = async () => {
  const response = await fetch(`${address}/readyz`);
  return { status: response.status, body: await response.json(), retryAfter: response.headers.get('Retry-After') };
};
const upgraded = {
  status: 503,
  body: {
    code: 'SERVICE_UNAVAILABLE',
    detail: expect.stringMatching(/^The database has been upgraded by a newer version/),
  },
};

test('statements that fail are a defect, unless a newer version has migrated the database', async () => {
  for (const [name, send] of Object.entries(calls)) expect([name, (await send()).status]).toEqual([name, 200]);
  await store.ownerStatements(
    'alter table industry rename column name to title; alter table department rename to unit',
  );
  const broken = async () =>
    Promise.all(Object.entries(calls).map(async ([name, send]) => [name, await send()] as const));
  for (const [name, response] of await broken()) expect([name, response.status]).toEqual([name, 500]);

  await store.ownerStatements(`insert into schema_migration (name, timestamp) values ('9999_later', '')`);
  for (const [name, response] of await broken()) {
    expect([name, response]).toMatchObject([name, upgraded]);
    expect(response.headers.get('Retry-After')).toBe('5');
  }
  expect(await ready()).toMatchObject({ ...upgraded, retryAfter: '5' });
});

test('statements that a newer version of the schema does not affect succeed', async () => {
  const office = { type: 'ServiceLine', systemRef: 'two', attributes: { name: 'Two', code: 'TWO' } };
  expect(await call('POST', '/api/v1/records', { records: [office] })).toMatchObject({ status: 200 });
  await store.ownerStatements(`delete from schema_migration where name = '9999_later'`);
  await vi.waitFor(async () => expect(await ready()).toMatchObject({ status: 200, body: { status: 'ready' } }), 10_000);
});

test('a process is ready while a newer version has only added to the schema, and reports statements that fail anyway', async () => {
  await store.ownerStatements(`insert into schema_expansion (name, timestamp) values ('9998_more', '')`);
  expect(await calls.listIndustries()).toMatchObject(upgraded);
  expect(await ready()).toMatchObject({ status: 200, body: { status: 'ready' } });
  await store.ownerStatements(`delete from schema_expansion where name = '9998_more'`);
});

test('a process whose statements do not fail is not ready either', async () => {
  await store.ownerStatements(`insert into schema_migration (name, timestamp) values ('9999_later', '')`);
  await vi.waitFor(async () => expect(await ready()).toMatchObject(upgraded), 10_000);
});
