import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';

// One connection, so that state left behind by a statement affects the next one.
const { store, tenantId } = await testStore({ poolSize: 1 });

const whoami = () =>
  store.read(tenantId, (session) =>
    session.first(sql<{ user: string; tenant: string }>`
      select current_user as user, current_setting('app.tenant_id') as tenant`),
  );

test('ownerStatements › runs as the owner, without a tenant, and does not affect the connection', async () => {
  const before = await whoami();
  const text = `select current_user as user, current_setting('app.tenant_id') as tenant`;
  for (const { rows } of [
    await store.ownerStatements(text),
    await store.ownerStatements(`${text} where $1`, [true]),
    await store.ownerStatements(`BEGIN; ${text}; COMMIT;`),
  ]) {
    expect(rows).toEqual([{ user: expect.not.stringMatching('financial_automation_service'), tenant: '' }]);
  }
  expect(await whoami()).toEqual(before);
  expect(before?.user).toBe('financial_automation_service');
});

test('ownerStatements › commits all statements or none', async () => {
  const insert = (name: string) => `insert into tenant (name, display_name, time_zone) values ('${name}', 'x', 'UTC')`;
  await store.ownerStatements(`${insert('one')}; ${insert('two')}`);
  for (const [text, values] of [
    [`${insert('three')}; select 1 / 0`, []],
    [`BEGIN; ${insert('three')}; select 1 / 0; COMMIT;`, []],
    [`${insert('three')} returning 1 / $1::integer`, [0]],
  ] as const) {
    await expect(store.ownerStatements(text, values)).rejects.toMatchObject({ sqlState: '22012' });
    expect(await whoami()).toMatchObject({ user: 'financial_automation_service' });
  }
  const { rows } = await store.ownerStatements(`select name from tenant where display_name = 'x' order by name`);
  expect(rows).toEqual([{ name: 'one' }, { name: 'two' }]);
});

test('listen › receives notifications of committed transactions, outside of their work', async () => {
  const received: string[] = [];
  const worked: Promise<unknown>[] = [];
  const listener = await store.listen('test_channel', (payload) => {
    received.push(payload);
    // Would be rejected, or wait forever, as part of the transaction that sent the notification.
    worked.push(whoami());
  });
  const notify = (payload: string, fail = false) =>
    store.write(tenantId, async (transaction) => {
      await transaction.all(sql`select pg_notify('test_channel', ${payload})`);
      if (fail) throw new Error('Rolled back.');
    });
  // Notifications are only received once the listening connection is open.
  await expect
    .poll(async () => {
      await notify('a');
      return received.includes('a');
    })
    .toBe(true);
  await expect(notify('b', true)).rejects.toThrow('Rolled back.');
  await notify('c');
  await expect.poll(() => received).toContain('c');
  expect(received).not.toContain('b');
  await Promise.all(worked);
  await listener.close();
  await notify('d');
  await notify('e');
  expect(received).not.toContain('d');
});
