import { pageOf } from '../../query/handlers.ts';
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

export const referenceData = {
  listClientTypes: pageOf(clientType),
  getClientTypes: pageOf(clientType, 'listClientTypes'),
  listTaxRegions: pageOf(taxRegion),
  getTaxRegions: pageOf(taxRegion, 'listTaxRegions'),
  listClientBusinessEntities: pageOf(clientBusinessEntity),
  listDepartments: pageOf(department),
  listIndustries: pageOf(industry),
  listOffices: pageOf(office),
  listOrgs: pageOf(org),
  listServiceLines: pageOf(serviceLine),
};
export { completeAddress } from './address.ts';
export { checkNotAfterToday, recordBookChange, storeBookChange } from './book-change.ts';
export { expenseCode, nonWorkCode, workCode } from './codes.ts';
export { hasOpenStatus, openStatuses } from './open-invoices.ts';
export {
  clientType,
  office,
  org,
  taxCode,
  taxRegion,
} from './reference-data.ts';
export { completeTaxes, type ListedTax, rateOf, type Tax } from './taxes.ts';
export { checkVatId } from './vat-id.ts';
