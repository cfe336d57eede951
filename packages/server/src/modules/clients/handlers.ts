import { aggregateOf, byId, pageOf } from '../../query/handlers.ts';
import { contactClient } from '../contacts/contact-client.ts';
import { client } from './client.ts';
import { clientGroup } from './client-group.ts';
import { contactInfo } from './contact-info.ts';
import { onboardClient } from './onboardClient.ts';
import {
  clientBusinessEntity,
  clientType,
  department,
  industry,
  office,
  org,
  serviceLine,
  taxRegion,
} from './reference-data.ts';

export const clients = {
  listClients: pageOf(client),
  searchClients: pageOf(client),
  getClient: byId(client),
  aggregateClients: aggregateOf(client),
  onboardClient,
  listClientTypes: pageOf(clientType),
  getClientTypes: pageOf(clientType),
  listTaxRegions: pageOf(taxRegion),
  getTaxRegions: pageOf(taxRegion),
  listClientGroups: pageOf(clientGroup),
  listClientBusinessEntities: pageOf(clientBusinessEntity),
  listContactClients: pageOf(contactClient),
  listContactInfos: pageOf(contactInfo),
  listDepartments: pageOf(department),
  listIndustries: pageOf(industry),
  listOffices: pageOf(office),
  listOrgs: pageOf(org),
  listServiceLines: pageOf(serviceLine),
};
