import { expect, test } from 'vitest';
import { allOperations } from '../contract/contract.ts';
import type { PublicContext } from '../entity/context.ts';
import { contextOf } from './sign-in.ts';

const tenant = { id: 1, name: 'firm' } as Parameters<typeof contextOf>[1];
const caller = { roles: new Set() } as unknown as Parameters<typeof contextOf>[2];

test('reads may run on a standby and cannot write; what other operations read before they write comes from the primary', async () => {
  const places: Record<string, string[]> = { standby: [], primary: [] };
  const rejected: string[] = [];
  for (const operation of allOperations) {
    const store = {
      read: async (_tenantId: number, _work: unknown, place: string) => places[place]?.push(operation.id),
      write: async () => undefined,
    };
    const open = { service: { store }, operation } as unknown as PublicContext;
    const context = contextOf(open, tenant, caller, undefined);
    await context.read(async () => undefined);
    try {
      await context.write(async () => undefined);
    } catch (error) {
      // The transaction of the others needs more of a store.
      if (error instanceof Error && error.message.includes('must not write')) rejected.push(operation.id);
    }
  }
  expect(rejected).toEqual(places.standby);
  expect(places.standby).toEqual(expect.arrayContaining(['getClient', 'listClients', 'searchClients', 'aggregateWip']));
  const byMethod = allOperations.filter(({ method }) => method === 'GET').map(({ id }) => id);
  expect(byMethod.filter((id) => !places.standby?.includes(id))).toEqual([]);
  expect(places.primary).toEqual(expect.arrayContaining(['onboardClient', 'createToken']));
  const writing = allOperations.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method)).map(({ id }) => id);
  expect(writing.filter((id) => !places.primary?.includes(id))).toEqual([]);
});
