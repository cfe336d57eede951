import { expect, test } from 'vitest';
import { objectOf } from './contract.ts';
import { nameEvents } from './events.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

test('nameEvents names each payload, unites those of a type and those of all, and leaves custom types open', () => {
  const webhook = (entityType: string, operation: string) => ({
    post: {
      'x-event': { entityType, operation },
      requestBody: {
        content: { 'application/json': { schema: { type: 'object', title: `${entityType} ${operation}` } } },
      },
    },
  });
  const document = {
    webhooks: {
      boatCreated: webhook('Boat', 'CREATE'),
      boatDeleted: webhook('Boat', 'DELETE'),
      harborUpdated: webhook('Harbor', 'UPDATE'),
      customRecordCreated: webhook('CustomRecord', 'CREATE'),
    },
    components: { schemas: {} },
  };
  nameEvents(document);
  const schemas = objectOf(document.components.schemas);
  expect(schemas.BoatCreatedEvent).toEqual({ type: 'object', title: 'Boat CREATE' });
  expect(document.webhooks.boatCreated.post.requestBody.content['application/json'].schema).toEqual(
    ref('BoatCreatedEvent'),
  );
  expect(schemas.BoatEvent).toMatchObject({
    oneOf: [ref('BoatCreatedEvent'), ref('BoatDeletedEvent')],
    discriminator: {
      propertyName: 'operation',
      mapping: { CREATE: ref('BoatCreatedEvent').$ref, DELETE: ref('BoatDeletedEvent').$ref },
    },
  });
  expect(schemas.StandardEvent).toMatchObject({
    oneOf: [ref('BoatEvent'), ref('HarborEvent')],
    discriminator: {
      propertyName: 'entityType',
      mapping: { Boat: ref('BoatEvent').$ref, Harbor: ref('HarborEvent').$ref },
    },
  });
  expect(schemas.Event).toMatchObject({ oneOf: [ref('StandardEvent'), ref('CustomRecordEvent')] });
});
