/** The examples are about the same firm: an ID in one of them is the ID of a row in another. */
import type { Oas3Rule } from '@redocly/openapi-core';
import { isObject, type JsonObject, nameOf, operationsOf, Place, reporter } from './contract.ts';
import { isEntity } from './schemas.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const exampleReferences: Oas3Rule = () => {
  /** The types that properties refer to, by the names of the properties. */
  const references = new Map<string, Set<string>>();
  const entities = new Set<string>();
  return {
    Schema(schema, { location, resolve }) {
      const name = nameOf(location);
      if (name !== undefined && isEntity(new Place(schema, location, resolve))) entities.add(name);
    },
    SchemaProperties(properties, { location, resolve }) {
      for (const [name, property] of new Place(properties, location, resolve).entries()) {
        const type = property.text('x-references') ?? property.text('items', 'x-references');
        if (type !== undefined) references.set(name, (references.get(name) ?? new Set()).add(type));
      }
    },
    Root: {
      leave(node, context) {
        const report = reporter(context);
        const root = new Place(node, context.location, context.resolve);
        const examples = examplesOf(root);
        const ids = new Set(examples.flatMap((example) => objectsIn(example.get('value')?.value).map(({ id }) => id)));
        for (const example of examples) {
          for (const [name, value] of objectsIn(example.get('value')?.value).flatMap(Object.entries)) {
            // No operation returns types without a schema, such as API users.
            const isShown = [...(references.get(name) ?? [])].some((type) => entities.has(type));
            for (const id of [value].flat()) {
              if (isShown && typeof id === 'string' && uuid.test(id) && !ids.has(id))
                report(example.home, `Refer to a row that an example shows: ${name} ${id} is not one.`);
            }
          }
        }
      },
    },
  };
};

/** The examples of operations and webhooks, each once. */
function examplesOf(root: Place): Place[] {
  const messages = [
    ...operationsOf(root).flatMap(({ body, responses }) => [body, ...responses.map(([, response]) => response)]),
    ...root.map('webhooks').map(([, webhook]) => webhook.get('post', 'requestBody')),
  ];
  const examples = messages.flatMap((message) =>
    (message?.map('content') ?? []).flatMap(([, media]) => media.map('examples').map(([, example]) => example)),
  );
  return [...new Map(examples.map((example) => [example.home.absolutePointer, example])).values()];
}

function objectsIn(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}
