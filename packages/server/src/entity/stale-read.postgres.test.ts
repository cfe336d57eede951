import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { contact } from '../modules/contacts/contact.ts';
import { contactClient } from '../modules/contacts/contact-client.ts';
import { asOperator } from '../operator/tenants.ts';

const { handle, service, store, tenant } = await testService();

async function waiting(): Promise<boolean> {
  const blocked = await store.system((transaction) =>
    transaction.first(
      sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    ),
  );
  return blocked !== undefined;
}

test('a row that is read after waiting for its lock is current, with all values of other rows that it includes', async () => {
  const { clientId } = (await handle('onboardClient', { body: { name: 'X', address: {} } })).body;
  const change = <T>(work: Parameters<typeof asOperator<T>>[3]) => asOperator(service, tenant, 'test', work);
  const { id } = await change((unit) => unit.plan((plan) => plan.create(contact, { lastName: 'Waited' }).row));
  const locked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const first = change(async (unit) => {
    await unit.plan((plan) => plan.getForUpdate(contact, id));
    locked.resolve();
    await goOn.promise;
    await unit.plan((plan) => plan.create(contactClient, { contactId: id, clientId }));
  });
  await locked.promise;
  const second = change((unit) => unit.plan((plan) => plan.getForUpdate(contact, id)));
  while (!(await waiting()));
  goOn.resolve();
  await first;
  expect(await second).toMatchObject({ clients: [{ clientId, active: true }] });
});
