import { operations } from '@financial-automation/spec';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { firmOf, operationsOf, unknownId } from '../../test/modules/staff.ts';
import { sharedService } from '../../test/service.ts';

const service = await sharedService();
const { call } = service;
const firm = firmOf(service);
const { update } = recordsOf(service);
const { createStaff, updateStaff, getStaff } = operationsOf(service);

const tagOf = (response: { readonly headers: Headers }) => response.headers.get('etag') ?? '';

describe('If-None-Match', () => {
  test('returns 304 without a body for the current tag, in any list and also as a weak tag', async () => {
    const path = `/gql/v1/client/${await firm.client()}`;
    const tag = tagOf(await call('GET', path));
    expect(tag).toMatch(/^"[0-9a-f]{16}-1"$/);
    for (const list of [tag, '*', `W/${tag}`, `"a,b", ${tag}`, `"x",W/"y" , ${tag}`]) {
      const { status, headers, body } = await call('GET', path, undefined, { 'If-None-Match': list });
      expect({ list, status, body, tag: headers.get('etag') }).toEqual({ list, status: 304, body: undefined, tag });
      expect(headers.get('content-type')).toBeNull();
      expect(headers.get('x-request-id')).not.toBeNull();
    }
  });

  test.each(['"0000000000000000-1"', '"1"', 'W/"x", "a,*"', 'x', '<string>'])(
    'returns the row for %s',
    async (list) => {
      const path = `/gql/v1/client/${await firm.client()}`;
      const response = await call('GET', path, undefined, { 'If-None-Match': list });
      expect(response).toMatchObject({ status: 200, body: { version: 1 } });
    },
  );

  test('does not hide that a row does not exist', async () => {
    const headers = { 'If-None-Match': '*' };
    expect(await call('GET', `/gql/v1/client/${unknownId}`, undefined, headers)).toMatchObject({ status: 404 });
  });

  test('returns the row if an included name of another row has changed', async () => {
    const jobId = await firm.job();
    const path = `/v1/task/${await firm.task({ jobId })}`;
    const tag = tagOf(await call('GET', path));
    await update([{ type: 'Job', systemRef: jobId, attributes: { name: 'Renamed' } }]);
    const response = await call('GET', path, undefined, { 'If-None-Match': tag });
    expect(response).toMatchObject({ status: 200, body: { version: 1, job: { name: 'Renamed' } } });
  });

  test('returns the row to a caller who can read more of it', async () => {
    const rateCardAssignment = { billingRate: '190.00', averageRate: '155.8', currency: 'USD' };
    const { id } = await firm.person({ rateCardAssignment });
    const [some, all] = [
      await service.signIn({ roles: ['STAFF_R'] }),
      await service.signIn({ roles: ['STAFF_R', 'RATE_R'] }),
    ];
    const tag = tagOf(await some.call('GET', `/gql/v1/staff/${id}`));
    const headers = { 'If-None-Match': tag };
    expect(await some.call('GET', `/gql/v1/staff/${id}`, undefined, headers)).toMatchObject({ status: 304 });
    expect(await all.call('GET', `/gql/v1/staff/${id}`, undefined, headers)).toMatchObject({ status: 200 });
  });
});

describe('the ETag of a response that creates or changes a row', () => {
  const url = 'https://hooks.example.com/in';
  const subscription = { deliveryUrl: url, entityType: 'Client', operations: ['CREATE'] };
  const type = { name: 'Tagged', fields: [{ name: 'a', type: 'STRING' }] };

  test('is declared in the contract for every 201', () => {
    const creating = Object.entries(operations).filter(([, { statuses }]) => statuses.some((status) => status === 201));
    expect(creating.map(([id]) => id)).toEqual([
      'onboardClient',
      'createStaff',
      'createQuickPaymentLink',
      'createEngagement',
      'createCustomRecordType',
      'createEventSubscription',
      'createFile',
    ]);
  });

  test('createStaff and updateStaff › an update with it as If-Match succeeds, once', async () => {
    const created = await createStaff(await firm.newPerson());
    expect(tagOf(created)).toBe(tagOf(await getStaff(created.body.id)));
    const change = (title: string, tag: string) => updateStaff(created.body.id, { title }, { 'If-Match': tag });
    const first = await change('One', tagOf(created));
    expect(first.status).toBe(200);
    expect((await change('Two', tagOf(first))).status).toBe(200);
    expect((await change('Three', tagOf(first))).status).toBe(412);
  });

  test('createEngagement › an update with it as If-Match succeeds', async () => {
    const partnerId = (await firm.person()).id;
    const body = { clientId: await firm.client(), fiscalYear: 2026, partnerId };
    const created = await call<{ id: string }>('POST', '/api/v1/engagements/create', body);
    const path = `/api/v1/engagements/${created.body.id}`;
    expect(await call('PATCH', path, { name: 'New' }, { 'If-Match': tagOf(created) })).toMatchObject({ status: 200 });
    expect(await call('PATCH', path, { name: 'Old' }, { 'If-Match': tagOf(created) })).toMatchObject({ status: 412 });
  });

  test('event subscriptions › create, deactivate and reactivate return and check it', async () => {
    const created = await call<{ id: string }>('POST', '/api/v1/event-subscriptions', subscription);
    const path = `/api/v1/event-subscriptions/${created.body.id}`;
    const stale = { 'If-Match': '"0000000000000000-7"' };
    expect(await call('DELETE', path, undefined, stale)).toMatchObject({
      status: 412,
      body: { code: 'PRECONDITION_FAILED' },
    });
    const inactive = await call('DELETE', path, undefined, { 'If-Match': tagOf(created) });
    expect(inactive).toMatchObject({ status: 200, body: { active: false } });
    const again = { 'If-Match': tagOf(created) };
    expect(await call('POST', `${path}/reactivate`, undefined, again)).toMatchObject({ status: 412 });
    const active = await call('POST', `${path}/reactivate`, undefined, { 'If-Match': tagOf(inactive) });
    expect(active).toMatchObject({ status: 200, body: { active: true } });
    const changed = await call('PATCH', path, { description: 'x' }, { 'If-Match': tagOf(active) });
    expect(changed).toMatchObject({ status: 200 });
  });

  test('custom record types › create and deactivate return and check it', async () => {
    const created = await call('POST', '/api/v1/records/custom', type);
    const path = '/api/v1/records/custom/Tagged';
    expect(tagOf(created)).toBe(tagOf(await call('GET', path)));
    const stale = { 'If-Match': '"0000000000000000-7"' };
    expect(await call('DELETE', path, undefined, stale)).toMatchObject({ status: 412 });
    const inactive = await call('DELETE', path, undefined, { 'If-Match': tagOf(created) });
    expect(inactive).toMatchObject({ status: 200, body: { active: false } });
    const changed = await call('PUT', path, { active: true }, { 'If-Match': tagOf(inactive) });
    expect(changed).toMatchObject({ status: 200 });
  });

  test('onboardClient and createQuickPaymentLink › identifies the row', async () => {
    const onboarded = await call<{ clientId: string; clientRef: string }>('POST', '/api/v1/clients/v1/onboard', {
      name: 'Tagged',
      address: {},
    });
    expect(tagOf(onboarded)).toBe(tagOf(await call('GET', `/gql/v1/client/${onboarded.body.clientId}`)));
    const body = { clientRef: onboarded.body.clientRef, note: 'Thanks' };
    expect(tagOf(await call('POST', '/api/v1/clients/v1/link/payment', body))).toMatch(/-1"$/);
  });
});
