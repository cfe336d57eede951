/**
 * Names the payloads of events, so that a receiver has a type for each: the payload of the webhook `clientCreated` becomes the
 * schema `ClientCreatedEvent`, all those of a type of row `ClientEvent`, and those of all types `Event`.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, type JsonObject, objectOf, reference } from './contract.ts';

export const events: Oas3Decorator = () => ({
  Root: {
    leave(root) {
      const document: unknown = root;
      if (isObject(document)) nameEvents(document);
    },
  },
});

/** The type of row of records whose type a tenant has defined: their events have its name as `entityType`. */
const custom = 'CustomRecord';

export function nameEvents(document: JsonObject): void {
  const schemas = objectOf(objectOf(document.components).schemas);
  const byType = new Map<string, Record<string, string>>();
  for (const [webhook, item] of Object.entries(objectOf(document.webhooks))) {
    const post = objectOf(objectOf(item).post);
    const { entityType, operation } = objectOf(post['x-event']);
    const media = objectOf(objectOf(objectOf(post.requestBody).content)['application/json']);
    const name = `${webhook.charAt(0).toUpperCase()}${webhook.slice(1)}Event`;
    schemas[name] = media.schema;
    media.schema = reference(name);
    byType.set(`${entityType}`, { ...byType.get(`${entityType}`), [`${operation}`]: name });
  }
  for (const [type, names] of byType) {
    const description = type === custom ? 'Event about a record of a custom type.' : `Event about a \`${type}\`.`;
    schemas[`${type}Event`] = union(description, 'operation', names);
  }
  const standard = [...byType.keys()].filter((type) => type !== custom);
  schemas.StandardEvent = union(
    'Event about a standard type.',
    'entityType',
    Object.fromEntries(standard.map((type) => [type, `${type}Event`])),
  );
  schemas.Event = {
    description:
      'Event. `entityType` and `operation` identify its type. In generated types, narrow a `StandardEvent` by `entityType`: the names of custom record types are any text, so that they remain in an `Event`.',
    oneOf: [reference('StandardEvent'), reference(`${custom}Event`)],
  };
  // Lists of events have the payloads that are delivered.
  const { data } = objectOf(objectOf(schemas.EventPage).properties);
  if (isObject(data)) data.items = reference('Event');
}

/** Exactly one of the schemas, by the value of a property. */
function union(description: string, propertyName: string, names: Readonly<Record<string, string>>): JsonObject {
  const mapping = Object.fromEntries(Object.entries(names).map(([value, name]) => [value, reference(name).$ref]));
  return {
    description,
    oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
    discriminator: { propertyName, mapping },
  };
}
