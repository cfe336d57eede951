import { aggregateOf, byId, pageOf, searchOf } from '../../query/handlers.ts';
import { client } from './client.ts';
import { clientGroup } from './client-group.ts';

export const clients = {
  listClients: pageOf(client),
  searchClients: searchOf(client),
  getClient: byId(client),
  aggregateClients: aggregateOf(client),
  listClientGroups: pageOf(clientGroup),
};
export { client, hasDocuments, onlyOrg, taxIdPurpose } from './client.ts';
export { clientGroup } from './client-group.ts';
export {
  activeClient,
  checkClientCurrency,
  checkClientRef,
  checkNotArchived,
  completeClientCurrency,
  reopenClient,
  unknownClientRef,
} from './client-of-rows.ts';
