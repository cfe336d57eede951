/** The books of several orgs of a firm are separate. */
import { afterAll, expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';
import { checkBooks } from '../../operator/books.ts';

const service = await sharedService();
const { draftOf, newClient, newJob, pay, post, records, workFor } = await firm(service);
const { body: orgs } = await service.call<{ data: { id: string }[] }>('POST', '/gql/v1/orgs', {});
const first = orgs.data[0]?.id;
const place = { currency: 'USD', country: 'US', timeZone: 'UTC', fiscalYearStartMonth: 1 };
const { id: second } = await records.make('Org', { name: 'Second', legalName: 'Second', code: '2', ...place });

const change = async (type: string, systemRef: string | null, attributes: object) =>
  only(await records.update([{ type, systemRef, attributes }]));
const inGroup = async () => {
  const { id } = await records.make('ClientGroup', { name: `Group of ${Math.random()}` });
  return (orgId?: string) => newClient({ orgId, clientGroupId: id });
};

test('a client moves to another org only before it has documents', async () => {
  const moving = await newClient({ orgId: first });
  expect(await change('Client', moving.id, { orgId: second })).toMatchObject({ status: 'UPDATED' });
  const bill = await post(await draftOf([{}], { clientId: moving.id }));
  const rejected = { code: 'INVALID_STATE', pointer: '/records/0/attributes/orgId' };
  expect(await change('Client', moving.id, { orgId: first })).toMatchObject({ error: rejected });
  const working = await newClient({ orgId: first });
  await workFor('1.00', await newJob(working.id));
  expect(await change('Client', working.id, { orgId: second })).toMatchObject({ error: rejected });
  await pay('100.00', [{ invoiceId: bill, amount: '100.00' }], { clientId: moving.id });
});

test('a payment covers invoices of its client group in its own org', async () => {
  const member = await inGroup();
  const [payer, sister, cousin] = [await member(first), await member(first), await member(second)];
  const bills = [];
  for (const { id } of [sister, cousin]) bills.push(await post(await draftOf([{}], { clientId: id })));
  const [own = '', other = ''] = bills;
  const paid = await pay('200.00', [{ invoiceId: own, amount: '100.00' }], { clientId: payer.id });
  const allocations = bills.map((invoiceId) => ({ invoiceId, amount: '100.00' }));
  expect(await change('Payment', paid.systemRef, { allocations })).toMatchObject({
    error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/allocations/1/invoiceId' },
  });
  await expect(pay('100.00', [{ invoiceId: other, amount: '100.00' }], { clientId: payer.id })).rejects.toThrow(
    'The invoice is of another org',
  );
});

afterAll(async () => {
  expect((await checkBooks(service, { tenant: service.tenant.name, repair: false })).breaches).toEqual([]);
});
