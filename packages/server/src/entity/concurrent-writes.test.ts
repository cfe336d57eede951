/** Concurrent writes. PGlite runs one transaction after the other, so there these tests prove less. */
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { client } from '../modules/clients/client.ts';
import { contact } from '../modules/contacts/contact.ts';
import { contactClient } from '../modules/contacts/contact-client.ts';
import { industry } from '../modules/reference/reference-data.ts';
import { asOperator } from '../operator/tenants.ts';
import type { Plan } from './plan.ts';
import type { UnitOfWork } from './unit-of-work.ts';

const { service, store, tenant } = await testService();

const change = <Result>(work: (unit: UnitOfWork) => Promise<Result>) => asOperator(service, tenant, 'test', work);
const planned = <Result>(work: (plan: Plan) => Result) => change((unit) => unit.plan(work));
const rows = <Row>(query: ReturnType<typeof sql>) =>
  store.read(tenant.id, (session) => session.all(query)) as Promise<Row[]>;
const of = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => make(index));

/** Makes the next statements on a table fail as if they conflicted with another transaction. */
async function failNext(table: string, times: number, sqlState: string): Promise<void> {
  await store.system(async (transaction) => {
    await transaction.all(sql`create sequence if not exists failures`);
    await transaction.all(sql`alter sequence failures restart`);
    await transaction.all(sql`grant usage on sequence failures to public`);
    await transaction.all(
      sql.raw(`create or replace function fail_sometimes() returns trigger language plpgsql as $$
        begin
          if nextval('failures') <= ${times} then raise exception 'conflict' using errcode = '${sqlState}'; end if;
          return null;
        end $$`),
    );
    await transaction.all(
      sql`create or replace trigger fail_sometimes after insert or update on ${sql.table(table)}
        for each statement execute function fail_sometimes()`,
    );
  });
}

test('items › two calls that change the same rows in opposite order both succeed', async () => {
  const count = isNightly ? 1_000 : 200;
  const created = await change((unit) =>
    unit.items(
      of(count, (index) => `Shared ${index}`),
      (plan, lastName) => plan.create(contact, { lastName }).row.id,
    ),
  );
  const ids = created.flatMap((outcome) => ('result' in outcome ? [outcome.result] : []));
  const update = (order: readonly string[], title: string) =>
    change((unit) => unit.items(order, (plan, id) => plan.update(contact, id, { title }).status));
  const calls = await Promise.all([update(ids, 'forwards'), update(ids.toReversed(), 'backwards')]);
  for (const outcomes of calls) {
    expect(outcomes).toHaveLength(count);
    expect(outcomes.every((outcome) => 'result' in outcome && outcome.result === 'UPDATED')).toBe(true);
  }
  const [state] = await rows(
    sql`select count(distinct title) as titles, min(version) as least, max(version) as most from contact where id = any(${ids}::uuid[])`,
  );
  // The last of the two calls determines the titles of all rows.
  expect(state).toEqual({ titles: 1, least: 3, most: 3 });
});

test('items › two calls that create the same 100 rows in opposite order: one creates them, the other updates them', async () => {
  const refs = of(100, (index) => `race-${index}`);
  const upsert = (order: readonly string[]) =>
    change((unit) =>
      unit.items(order, (plan, systemRef) => {
        const row = plan.findForUpdate(industry, 'systemRef', systemRef);
        if (row !== undefined) return plan.update(industry, row.id, { code: '5412' }).status;
        return plan.create(industry, { name: systemRef }, { systemRef }).status;
      }),
    );
  const calls = await Promise.all([upsert(refs), upsert(refs.toReversed())]);
  const statuses = calls.map(
    (outcomes) => new Set(outcomes.map((one) => ('result' in one ? one.result : one.rejection))),
  );
  expect(statuses.map((set) => [...set]).toSorted()).toEqual([['CREATED'], ['UPDATED']]);
});

describe.each([
  ['a deadlock', '40P01'],
  ['a serialization failure', '40001'],
])('%s during a bulk write', (_, sqlState) => {
  test('is retried without an error, and nothing is written twice', async () => {
    const names = of(50, (index) => `${sqlState} ${index}`);
    await failNext('contact', 2, sqlState);
    const outcomes = await change((unit) =>
      unit.items(names, (plan, lastName) => plan.create(contact, { lastName }).row.id),
    );
    expect(outcomes.every((outcome) => 'result' in outcome)).toBe(true);
    const [count] = await rows(sql`
      select count(*) as contacts, count(distinct pms_ref) as refs,
        (select count(*) from recorded_event where data ->> 'lastName' = any(${names})) as events
      from contact where last_name = any(${names})`);
    expect(count).toEqual({ contacts: 50, refs: 50, events: 50 });
  });

  test('that persists is reported as one problem, and nothing is written', async () => {
    await failNext('contact', 1_000, sqlState);
    const work = change((unit) =>
      unit.items(['never', 'ever'], (plan, lastName) => plan.create(contact, { lastName })),
    );
    await expect(work).rejects.toMatchObject({ name: 'TransactionConflict' });
    await failNext('contact', 0, sqlState);
    expect(await rows(sql`select 1 from contact where last_name in ('never', 'ever')`)).toEqual([]);
    expect(await rows(sql`select 1 from audit_log where after ->> 'lastName' in ('never', 'ever')`)).toEqual([]);
  });
});

describe('plans that lock rows out of order', () => {
  const party = async () => {
    const clientId = await planned((plan) => plan.create(client, { name: 'Ordered' }).row.id);
    const contactId = await planned((plan) => plan.create(contact, { lastName: 'Ordered' }).row.id);
    return { clientId, contactId };
  };

  test('plan › many concurrent plans all succeed, each based on the changes before it', async () => {
    const { clientId, contactId } = await party();
    // The lock order places contacts before clients.
    const inOrder = (plan: Plan) => {
      const title = `${Number(plan.getForUpdate(contact, contactId)?.title ?? 0) + 1}`;
      plan.update(contact, contactId, { title });
      const days = (plan.getForUpdate(client, clientId)?.fiscalYearEndDay ?? 0) + 1;
      plan.update(client, clientId, { fiscalYearEndDay: days });
    };
    const outOfOrder = (plan: Plan) => {
      const days = (plan.getForUpdate(client, clientId)?.fiscalYearEndDay ?? 0) + 1;
      plan.update(client, clientId, { fiscalYearEndDay: days });
      const title = `${Number(plan.getForUpdate(contact, contactId)?.title ?? 0) + 1}`;
      plan.update(contact, contactId, { title });
    };
    await Promise.all(of(20, (index) => planned(index % 2 === 0 ? inOrder : outOfOrder)));
    const read = await planned((plan) => [
      plan.get(contact, contactId)?.title,
      plan.get(client, clientId)?.fiscalYearEndDay,
    ]);
    expect(read).toEqual(['20', 20]);
  });

  test('plan › several plans in one transaction, each in another order, all succeed', async () => {
    const { clientId, contactId } = await party();
    const both = (isForwards: boolean) =>
      change(async (unit) => {
        const steps = [
          () =>
            unit.plan((plan) =>
              plan.update(contact, contactId, { title: `${plan.getForUpdate(contact, contactId)?.title ?? ''}x` }),
            ),
          () =>
            unit.plan((plan) =>
              plan.update(client, clientId, {
                fiscalYearEndDay: (plan.getForUpdate(client, clientId)?.fiscalYearEndDay ?? 0) + 1,
              }),
            ),
        ];
        for (const step of isForwards ? steps : steps.toReversed()) await step();
      });
    await Promise.all(of(6, (index) => both(index % 2 === 0)));
    const read = await planned((plan) => [
      plan.get(contact, contactId)?.title,
      plan.get(client, clientId)?.fiscalYearEndDay,
    ]);
    expect(read).toEqual(['xxxxxx', 6]);
  });
});

describe('rows that a plan reads before it locks them', () => {
  test('plan › of links that are added to a contact concurrently, exactly one is primary', async () => {
    for (let time = 0; time < 5; time += 1) {
      const contactId = await planned((plan) => plan.create(contact, { lastName: 'Linked' }).row.id);
      const clients = await change((unit) =>
        unit.items(
          of(6, (index) => `Client ${index}`),
          (plan, name) => plan.create(client, { name }).row.id,
        ),
      );
      await Promise.all(
        clients.map((outcome) =>
          planned((plan) => {
            if ('rejection' in outcome) throw outcome.rejection;
            plan.create(contactClient, { contactId, clientId: outcome.result });
          }),
        ),
      );
      const primary = await rows(sql`select 1 from contact_client where contact_id = ${contactId} and is_primary`);
      expect(primary).toHaveLength(1);
    }
  });

  test('plan › a key that another transaction has changed finds the new row', async () => {
    const ids = await change((unit) =>
      unit.items(
        ['left', 'right'],
        (plan, name) => plan.create(industry, { name }, { systemRef: `key-${name}` }).row.id,
      ),
    );
    const [left = '', right = ''] = ids.flatMap((outcome) => ('result' in outcome ? [outcome.result] : []));
    // Each plan moves the name "left" to the other row, and increments the code of the row that has it.
    const count = (plan: Plan) => {
      const row = plan.findForUpdate(industry, 'name', 'left');
      if (row === undefined) throw new Error('No row has the name.');
      const other = row.id === left ? right : left;
      const code = String(Number(row.code ?? plan.get(industry, other)?.code ?? '10') + 1);
      plan.update(industry, row.id, { name: `was left ${code}` });
      plan.update(industry, other, { name: 'left', code });
    };
    await Promise.all(of(8, () => planned(count)));
    const row = await planned((plan) => plan.find(industry, 'name', 'left'));
    expect(row?.code).toBe('18');
  });
});
