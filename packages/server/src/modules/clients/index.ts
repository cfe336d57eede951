import { aggregateOf, byId, pageOf } from '../../query/handlers.ts';
import { client } from './client.ts';
import { clientGroup } from './client-group.ts';

export const clients = {
  listClients: pageOf(client),
  searchClients: pageOf(client),
  getClient: byId(client),
  aggregateClients: aggregateOf(client),
  listClientGroups: pageOf(clientGroup),
};
export { activeClient, checkClientRef, unknownClientRef } from './active-client.ts';
export { client, taxIdPurpose } from './client.ts';
export { checkClientCurrency, completeClientCurrency } from './client-currency.ts';
export { clientGroup } from './client-group.ts';
export { reopenClient } from './reopen-client.ts';
