import { defineEntity, type Entity } from '../../entity/entity.ts';
import { address, normalizeRegion, spreadAddress } from './address.ts';

/** The lists that classify clients and the firm. They have few rules: what must be unique or in range, the database holds. */

export const org: Entity = defineEntity({ type: 'Org', table: 'org' });

export const office: Entity = defineEntity({
  type: 'Office',
  table: 'office',
  computed: { address },
  rules: { complete: (_unit, draft) => spreadAddress(draft) },
});

export const department: Entity = defineEntity({ type: 'Department', table: 'department' });

export const serviceLine: Entity = defineEntity({ type: 'ServiceLine', table: 'service_line' });

export const industry: Entity = defineEntity({ type: 'Industry', table: 'industry' });

export const clientType: Entity = defineEntity({ type: 'ClientType', table: 'client_type' });

export const clientBusinessEntity: Entity = defineEntity({
  type: 'ClientBusinessEntity',
  table: 'client_business_entity',
});

export const taxRegion: Entity = defineEntity({
  type: 'TaxRegion',
  table: 'tax_region',
  rules: { complete: (_unit, draft) => normalizeRegion(draft.values) },
});
