import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { firmOf, outcomeOf, timeOf, unique } from '../../test/modules/time.ts';
import { type TestService, testService } from '../../test/service.ts';
import { Directory } from '../admission/directory.ts';
import { type OperatorSettings, settingSchemas } from '../admission/tenant-settings.ts';
import { setTenantSetting } from './tenant-settings.ts';

/** Fake time in milliseconds; the directory caches settings for five seconds. */
let now = 1;
const service = await testService({
  replace: ({ store }) => ({ directory: new Directory(store, { now: () => now }) }),
});

interface Effect {
  /** The value to start with, if it is not the default. */
  readonly from?: string;
  readonly to: string;
  /** What a caller sees of the setting. */
  readonly observe: (caller: TestService) => Promise<unknown>;
  readonly before: unknown;
  readonly after: unknown;
}

const workDate = '2026-03-02';

/** Every setting must have an effect that a caller sees, so a setting that no code reads cannot be added. */
const effects: Readonly<Record<keyof OperatorSettings, Effect>> = {
  currency: {
    to: 'CAD',
    // The rate of a staff type is in the currency of the tenant, and applies to jobs in this currency.
    observe: async (caller) => {
      const staffTypeId = await (await firmOf(caller)).staffType({ defaultBillingRate: '150' });
      const entry = await enterTime(caller, {}, { staffTypeId, rateCardAssignment: null });
      return entry.attributes?.billingRate;
    },
    before: '150',
    after: '0',
  },
  timeZone: {
    // The same day never applies in both zones.
    from: 'Pacific/Pago_Pago',
    to: 'Pacific/Kiritimati',
    // Rates start today if no day is provided.
    observe: async (caller) => {
      const kiritimati = Temporal.Now.plainDateISO('Pacific/Kiritimati').toString();
      const rates = { billingRate: '100', averageRate: '80', currency: 'USD' };
      const id = await (await firmOf(caller)).person({ rateCardAssignment: rates });
      const row = await service.store.read(caller.tenant.id, (session) =>
        session.first<{ day: string }>(sql`select effective_from_date as day from staff_rate where staff_id = ${id}`),
      );
      return (row?.day ?? '') >= kiritimati;
    },
    before: false,
    after: true,
  },
  hourIncrement: {
    to: '0.25',
    observe: async (caller) => outcomeOf(await enterTime(caller, { hours: '0.10' })),
    before: 'CREATED',
    after: 'VALIDATION_ERROR /records/0/attributes/hours',
  },
  timeApproval: {
    to: 'off',
    observe: async (caller) => (await enterTime(caller, { status: 'SUBMITTED' })).attributes?.status,
    before: 'SUBMITTED',
    after: 'APPROVED',
  },
  selfApproval: {
    to: 'on',
    observe: async (caller) => {
      const { systemRef } = await enterTime(caller, { status: 'SUBMITTED' });
      return outcomeOf(await timeOf(caller).time(systemRef ?? '', { status: 'APPROVED' }));
    },
    before: 'FORBIDDEN /records/0/attributes/status',
    after: 'UPDATED',
  },
  reviewCompletedJobs: {
    to: 'on',
    observe: async (caller) => {
      const firm = await firmOf(caller);
      const jobId = await firm.job();
      const taskId = await firm.task(jobId);
      const set = (type: string, systemRef: string, ...states: string[]) =>
        recordsOf(caller).update(states.map((status) => ({ type, systemRef, attributes: { status } })));
      await set('Job', jobId, 'READY', 'IN_PROGRESS');
      await set('Task', taskId, 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED');
      return (await timeOf(caller).read(`/gql/v1/job/${jobId}`)).status;
    },
    before: 'IN_PROGRESS',
    after: 'IN_REVIEW',
  },
  wipEvents: {
    to: 'off',
    observe: async (caller) => {
      const firm = await firmOf(caller);
      const fee = { wipType: 'FIXED_FEE', clientId: firm.clientId, jobId: await firm.job(), workDate, amount: '10.00' };
      const { id } = await recordsOf(caller).make('WipEntry', fee);
      const events = await service.store.read(caller.tenant.id, (session) =>
        session.all<{ operation: string }>(sql`select operation from recorded_event where entity_id = ${id}`),
      );
      return events.map(({ operation }) => operation);
    },
    before: ['CREATE'],
    after: [],
  },
  deliveryPorts: {
    to: '8443',
    observe: async (caller) => {
      const events = { entityType: 'Client', operations: ['CREATE'] };
      const deliveryUrl = 'https://hooks.example.com:8443/';
      return (await caller.call('POST', '/api/v1/event-subscriptions', { ...events, deliveryUrl })).status;
    },
    before: 400,
    after: 201,
  },
  allowedAddresses: { to: '203.0.113.0/24', observe: listOrgs, before: 'allowed', after: 'ACCESS_RESTRICTED' },
  allowedClientIds: { to: 'hartwell-crm', observe: listOrgs, before: 'allowed', after: 'ACCESS_RESTRICTED' },
};

async function listOrgs({ call }: TestService): Promise<string> {
  const { status, body } = await call<{ code: string }>('POST', '/gql/v1/orgs', {});
  return status === 200 ? 'allowed' : body.code;
}

async function enterTime(caller: TestService, attributes: object, person: object = {}) {
  const firm = await firmOf(caller);
  const work = { staffId: await firm.person(person), jobId: await firm.job(), workDate, hours: '1.00' };
  return timeOf(caller).time(unique('entry'), { ...work, ...attributes });
}

test('every setting of tenants has an effect here', () => {
  expect(Object.keys(effects).toSorted()).toEqual([...settingSchemas.keys()].toSorted());
});

test.each(Object.entries(effects))('tenant set › %s takes effect within seconds', async (setting, effect) => {
  const name = setting.toLowerCase();
  const set = async (value: string) => {
    await setTenantSetting(service, { tenant: name, setting, value });
    now += 5_001;
  };
  const tenant = await service.addTenant(name);
  if (effect.from !== undefined) await set(effect.from);
  const caller = { ...service, ...(await service.signIn({ roles: ['API_ADMIN'], tenant })) };
  expect(await effect.observe(caller)).toEqual(effect.before);
  await set(effect.to);
  expect(await effect.observe(caller)).toEqual(effect.after);
});
