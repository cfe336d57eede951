/** The examples succeed in a demo tenant of any day, and of any age. */
import { expect, it } from 'vitest';
import { fillDemoTenant } from '../../packages/demo-data/src/demo.ts';
import { storyId } from '../../packages/demo-data/src/story-id.ts';
import { createApiKey } from '../../packages/server/src/operator/api-keys.ts';
import { createTenant } from '../../packages/server/src/operator/tenants.ts';
import { failedExamples, reactivateSubscription, serveDemo, tokenOf } from '../test/example-calls.ts';

const server = await serveDemo();

const day = 86_400_000;
const today = Temporal.Now.plainDateISO();
const daysUntil = (month: number, dayOfMonth: number) =>
  today.until(Temporal.PlainDate.from({ year: today.year + 1, month, day: dayOfMonth })).total('days');

/** Creates a demo tenant that is loaded this many days from today. */
async function demoTenant(name: string, daysAhead: number) {
  const place = { currency: 'USD', timeZone: 'America/Los_Angeles', country: 'US', orgId: storyId('Org', 1) };
  const { id } = await createTenant(server, { name, displayName: name, ...place, sandbox: true });
  await setClock(id, daysAhead);
  await fillDemoTenant(server, name);
  const roles = ['API_ADMIN', 'PYMT_EVNT_ALL'];
  const { key } = await createApiKey(server, { tenant: name, user: 'demo', description: undefined, roles, days: 1 });
  const caller = { tenant: name, token: await tokenOf(server.address, key) };
  await reactivateSubscription(server.address, caller);
  return caller;
}

function setClock(tenantId: number, daysAhead: number): Promise<unknown> {
  return server.service.store.ownerStatements('update tenant set clock_offset = $2 where id = $1', [
    tenantId,
    daysAhead * day,
  ]);
}

it.each([
  ['the first day of a year', daysUntil(1, 1)],
  ['the last day of February', daysUntil(3, 1) - 1],
  ['midsummer', daysUntil(6, 24)],
])('examples succeed in a demo tenant that is loaded on %s', async (name, daysAhead) => {
  const caller = await demoTenant(name.replaceAll(' ', '_').toLowerCase(), daysAhead);
  expect(await failedExamples(server.address, caller)).toEqual([]);
});

it('examples succeed in a demo tenant that was loaded three weeks ago', async () => {
  const caller = await demoTenant('of_last_month', 0);
  const advanced = await fetch(`${server.address}/api/v1/sandbox/clock`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Tenant: caller.tenant, Authorization: `Bearer ${caller.token}` },
    body: JSON.stringify({ advanceBy: 'P21D' }),
  });
  expect(advanced.status).toBe(200);
  expect(await failedExamples(server.address, caller)).toEqual([]);
});
