import { contract } from '../../contract/contract.ts';
import { typesWith } from '../bulk/index.ts';

/** Whether the contract has a record type with this name, implemented or not. */
export function isStandardType(name: string): boolean {
  return contract.components.schemas[name]?.['x-record'] !== undefined;
}

/** The record types of the service, by name. */
export function standardTypes() {
  return typesWith('x-record');
}
