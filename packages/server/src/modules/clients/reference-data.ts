import { checkAncestors } from '../../entity/ancestors.ts';
import { defineEntity, type Entity } from '../../entity/entity.ts';
import { abbreviatedState, completeAddress } from './address.ts';

/** Lists that classify clients and the firm. They have few rules: the database checks uniqueness and ranges. */

export const org = defineEntity('Org', { table: 'org' });

export const office = defineEntity('Office', {
  table: 'office',
  spread: ['address'],
  rules: {
    complete({ values }) {
      values.address = completeAddress(values.address);
    },
  },
});

export const department: Entity<'Department'> = defineEntity('Department', {
  table: 'department',
  rules: { complete: (change, plan) => checkAncestors(change, plan, department, 'parentId') },
});

export const serviceLine = defineEntity('ServiceLine', { table: 'service_line' });

export const industry: Entity<'Industry'> = defineEntity('Industry', {
  table: 'industry',
  rules: { complete: (change, plan) => checkAncestors(change, plan, industry, 'parentId') },
});

export const clientType = defineEntity('ClientType', { table: 'client_type' });

export const clientBusinessEntity = defineEntity('ClientBusinessEntity', { table: 'client_business_entity' });

export const taxRegion = defineEntity('TaxRegion', {
  table: 'tax_region',
  rules: {
    complete({ values }) {
      values.state = abbreviatedState(values.country, values.state);
    },
  },
});
