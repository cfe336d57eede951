/**
 * Counts the statements of writes, which must not depend on the number of rows. This detects regressions without timing.
 */
import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { statementsOf } from '../../test/statements.ts';

const { handle } = await testService();

let created = 0;
const newContacts = (count: number) => Array.from({ length: count }, () => ({ lastName: `Contact ${++created}` }));
const upsertContacts = (contacts: { pmsRef?: string; lastName?: string; title?: string }[]) =>
  handle('upsertContacts', { body: { contacts } });
const upsertRecords = (systemRefs: readonly string[], name: string) =>
  handle('upsertRecords', {
    body: {
      records: systemRefs.map((systemRef) => ({
        type: 'Industry' as const,
        systemRef,
        attributes: { name: `${name} ${systemRef}` },
      })),
    },
  });

test.each([1, 100])('upsertContacts creates %i contacts with five statements', async (count) => {
  const statements = await statementsOf(() => upsertContacts(newContacts(count)));
  expect(statements).toEqual([
    'begin',
    'insert into tenant_counter',
    'insert into contact',
    'insert into audit_log, insert into recorded_event',
    'commit',
  ]);
});

test.each([1, 100])('upsertContacts updates %i contacts with six statements', async (count) => {
  const { body } = await upsertContacts(newContacts(count));
  const changed = body.succeeded.map(({ pmsRef }) => ({ pmsRef, title: `Title ${count}` }));
  const statements = await statementsOf(() => upsertContacts(changed));
  expect(statements).toEqual([
    'begin',
    'lock contact',
    'select contact',
    'update contact',
    'insert into audit_log, insert into recorded_event',
    'commit',
  ]);
});

test.each([1, 100])('upsertRecords creates and updates %i records with seven and six statements', async (count) => {
  const systemRefs = Array.from({ length: count }, (_, index) => `${count}-${index}`);
  expect(await statementsOf(() => upsertRecords(systemRefs, 'New'))).toEqual([
    'begin',
    'lock industry',
    // Checks whether another row already has the name.
    'select industry',
    'insert into industry',
    'insert into entity_ref',
    'insert into audit_log, insert into recorded_event',
    'commit',
  ]);
  expect(await statementsOf(() => upsertRecords(systemRefs, 'Changed'))).toEqual([
    'begin',
    'lock industry',
    'select industry',
    'update industry',
    'insert into audit_log, insert into recorded_event',
    'commit',
  ]);
  expect(await statementsOf(() => upsertRecords(systemRefs, 'Changed'))).toEqual([
    'begin',
    'lock industry',
    'select industry',
    'commit',
  ]);
});

test.each([
  ['one', [37], 130],
  ['all', Array.from({ length: 100 }, (_, index) => index), 560],
])('upsertContacts finds %s of 100 entries that the database rejects', async (_, rejected, most) => {
  const { body } = await handle('onboardClient', {
    body: { name: 'X', address: {}, billingContact: { lastName: 'First' } },
  });
  const claim = { clients: [{ clientRef: body.clientRef, roles: ['BILLING' as const] }] };
  const contacts = newContacts(100).map((one, index) => (rejected.includes(index) ? { ...one, ...claim } : one));
  const statements = await statementsOf(() => upsertContacts(contacts));
  expect(statements.length).toBeLessThanOrEqual(most);
});
