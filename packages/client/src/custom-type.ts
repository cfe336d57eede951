import type { CustomTypeName } from '@financial-automation/spec';

/**
 * The name of a custom record type, for records: `{ type: customType('Opportunity'), … }`. A plain string is not accepted
 * there, because the attributes of standard and custom types could not be distinguished then.
 */
export function customType(name: string): CustomTypeName {
  return name as CustomTypeName;
}
