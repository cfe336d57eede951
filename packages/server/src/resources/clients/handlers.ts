import { byId, pageOf } from '../../query/handlers.ts';
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
  listClients: pageOf<'listClients'>(client),
  searchClients: pageOf<'searchClients'>(client),
  getClient: byId<'getClient'>(client),
  onboardClient,
  listClientTypes: pageOf<'listClientTypes'>(clientType),
  getClientTypes: pageOf<'getClientTypes'>(clientType),
  listTaxRegions: pageOf<'listTaxRegions'>(taxRegion),
  getTaxRegions: pageOf<'getTaxRegions'>(taxRegion),
  listClientGroups: pageOf<'listClientGroups'>(clientGroup),
  listClientBusinessEntities: pageOf<'listClientBusinessEntities'>(clientBusinessEntity),
  listContactClients: pageOf<'listContactClients'>(contactClient),
  listContactInfos: pageOf<'listContactInfos'>(contactInfo),
  listDepartments: pageOf<'listDepartments'>(department),
  listIndustries: pageOf<'listIndustries'>(industry),
  listOffices: pageOf<'listOffices'>(office),
  listOrgs: pageOf<'listOrgs'>(org),
  listServiceLines: pageOf<'listServiceLines'>(serviceLine),
};
