import type { components } from '@financial-automation/spec';
import { contract, type EventOperation, readRolesOf, schemaOf } from '../../../contract/contract.ts';
import { isEventEnabled } from '../../../contract/events.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import type { Session } from '../../../platform/store/store.ts';
import { schemaUrls, type TypeExtension } from '../../bulk/index.ts';
import { customTypeNames, findCustomTypes } from '../../records/index.ts';
import { isFiltered, paymentFilters } from '../subscriptions/payment-filter.ts';

export type CatalogEntry = components['schemas']['EventCatalogEntry'];

/** A type of row with what can be told of it. */
export interface EventType {
  readonly name: string;
  /** Roles of which one is required to read such rows. Empty for types that nobody can subscribe to. */
  readonly readRoles: readonly string[];
  /** @param settings those of the tenant. */
  entries(settings: object): readonly CatalogEntry[];
}

/** The type that webhooks give for records of all types that tenants define. */
export const customRecord = 'CustomRecord';

const operations: readonly EventOperation[] = ['CREATE', 'UPDATE', 'DELETE'];
const deeds = { CREATE: 'created', UPDATE: 'changed', DELETE: 'deactivated' } as const;

/** The types of the contract, by name. */
const standardTypes: ReadonlyMap<string, EventType> = new Map(
  [...enabledTypes(), ...disabledTypes()].map((type) => [type.name, type]),
);

/** The names of all types of the contract. */
export const standardTypeNames: readonly string[] = [...standardTypes.keys()];

const customReadRoles = readRolesOf(customRecord) ?? [];

/** All types of a tenant, by name: those of the contract, and the active ones that it defined. */
export async function listEventTypes(session: Session, tenantId: number): Promise<readonly EventType[]> {
  const custom = await customTypeNames(session, tenantId, false);
  const types = [...standardTypes.values(), ...custom.map(customType)];
  return types.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** The type of a tenant with the name, or undefined. */
export async function findEventType(session: Session, tenantId: number, name: string): Promise<EventType | undefined> {
  const standard = standardTypes.get(name);
  if (standard !== undefined) return standard;
  const [custom] = await findCustomTypes(session, tenantId, [name]);
  return custom?.active === true ? customType(name) : undefined;
}

/** Whether a tenant can have events of a type: one of the contract, or one that it defined, active or not. */
export async function findListedType(session: Session, { id, settings }: Tenant, name: string): Promise<boolean> {
  if (standardTypes.has(name)) return operations.some((operation) => isEventEnabled(settings, name, operation));
  return (await findCustomTypes(session, id, [name])).length > 0;
}

/** The roles that read rows of a type. One that the contract does not have is a type that a tenant defined. */
export function rolesToRead(entityType: string): readonly string[] {
  return standardTypes.get(entityType)?.readRoles ?? customType(entityType).readRoles;
}

function enabledTypes(): EventType[] {
  const webhooks = Object.entries(contract.webhooks).map(([name, { post }]) => ({
    name,
    post,
    event: post['x-event'],
  }));
  const standard = webhooks.filter(({ event }) => event.entityType !== customRecord);
  return [...Map.groupBy(standard, ({ event }) => event.entityType)].map(([name, group]) => ({
    name,
    readRoles: knownReadRoles(name),
    entries: (settings) =>
      group.map(({ name: webhook, post, event }) => ({
        ...entryOf(name, event.operation, isEventEnabled(settings, name, event.operation), `${post.summary}.`),
        schemaUrl: schemaUrlOf(name) ?? `/openapi.json#/webhooks/${webhook}`,
      })),
  }));
}

function knownReadRoles(type: string): readonly string[] {
  const roles = readRolesOf(type);
  if (roles === undefined) throw new Error(`The contract declares no roles that read rows of ${type}.`);
  return roles;
}

function disabledTypes(): EventType[] {
  return (schemaOf('EventEntityType')['x-disabled-events'] ?? []).map(({ entityType: name, operations }) => ({
    name,
    readRoles: [],
    entries: () =>
      operations.map((operation) => ({
        ...entryOf(name, operation, false, `${inWords(name)} was ${deeds[operation]}.`),
        schemaUrl: schemaUrlOf(name) ?? '/openapi.json',
      })),
  }));
}

function customType(name: string): EventType {
  return {
    name,
    readRoles: customReadRoles,
    entries: () =>
      operations.map((operation) => ({
        ...entryOf(name, operation, true, `A record of the type ${name} was ${deeds[operation]}.`),
        schemaUrl: `${schemaUrls['x-record']}${name}`,
      })),
  };
}

function entryOf(entityType: string, operation: EventOperation, enabled: boolean, description: string) {
  const filterExpressionRequired = isFiltered(entityType);
  const allowedFilterExpressions = filterExpressionRequired ? [...paymentFilters] : [];
  return { entityType, operation, enabled, description, filterExpressionRequired, allowedFilterExpressions };
}

/** Where the fields of a record, code or entry type are described, or undefined. */
function schemaUrlOf(name: string): string | undefined {
  const schema = contract.components.schemas[name];
  const extensions: TypeExtension[] = ['x-record', 'x-code-type', 'x-entry-type'];
  const extension = extensions.find((one) => schema?.[one] !== undefined);
  return extension === undefined ? undefined : `${schemaUrls[extension]}${name}`;
}

/** `IndustryType` becomes "An industry type". */
function inWords(name: string): string {
  const words = name.replaceAll(/(?<=[a-z])[A-Z]/g, ' $&').toLowerCase();
  return `${/^[aeiou]/.test(words) ? 'An' : 'A'} ${words}`;
}
