import { contract, type EventDeclaration, type EventOperation } from './contract.ts';

const declarations = new Map<string, EventDeclaration>(
  Object.values(contract.webhooks).map(({ post }) => [keyOf(post['x-event']), post['x-event']]),
);

/** Whether events of this kind are sent in a tenant with these settings. Does not apply to custom types. */
export function isEventEnabled(settings: object, entityType: string, operation: EventOperation): boolean {
  const event = declarations.get(keyOf({ entityType, operation }));
  if (event === undefined) return false;
  return event.setting === undefined || Reflect.get(settings, event.setting) === true;
}

function keyOf({ entityType, operation }: Pick<EventDeclaration, 'entityType' | 'operation'>): string {
  return `${entityType} ${operation}`;
}
