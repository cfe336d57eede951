/** Code that must not compile: `tsc` rejects this file if a marked line compiles. */
import { expect, test } from 'vitest';
import type { Handler } from '../entity/context.ts';
import type { Plan } from '../entity/plan.ts';
import { client } from '../modules/clients/client.ts';
import { org } from '../modules/reference/reference-data.ts';
import { byId, pageOf } from './handlers.ts';

test('a handler can only return rows of its operation', () => {
  const listClients: Handler<'listClients'> = pageOf(client);
  const getClient: Handler<'getClient'> = byId(client);
  // @ts-expect-error orgs are no clients
  const listOrgsAsClients: Handler<'listClients'> = pageOf(org);
  // @ts-expect-error an org is no client
  const getOrgAsClient: Handler<'getClient'> = byId(org);
  // @ts-expect-error the type of the rows follows from the entity
  const listNamed = pageOf<'listClients'>;
  expect([listClients, getClient, listOrgsAsClients, getOrgAsClient, listNamed]).not.toContain(undefined);
});

test('a row can only be written with the fields and values of its type', () => {
  const writes = (plan: Plan) => {
    plan.create(client, { name: 'Harbor & Pine LLC' });
    // @ts-expect-error no such field
    plan.create(client, { title: 'Harbor & Pine LLC' });
    // @ts-expect-error no such status
    plan.create(client, { name: 'Harbor & Pine LLC', status: 'NEW' });
    // @ts-expect-error money is a decimal string
    plan.set(client, '', { outstandingBalance: 12.5 });
  };
  expect(writes).toBeInstanceOf(Function);
});
