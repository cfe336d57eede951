/**
 * The server looks up what an id refers to by `x-references` (and what a code refers to by `x-references-by`), and the
 * records API returns it to integrators, who follow `recordsUrl` to read the rows. So both must exist in the contract.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { Place, reporter, typeNameOf } from './contract.ts';
import { rowExtensions } from './extension-table.ts';
import { propertiesOf } from './schemas.ts';

export const references: Oas3Rule = () => {
  const schemas = new Map<string, Place>();
  const byId: Place[] = [];
  const byKey: Place[] = [];
  const urls: Place[] = [];
  return {
    Schema(schema, { location, resolve }) {
      const name = typeNameOf(schema, location);
      const place = new Place(schema, location, resolve);
      if (name !== undefined) schemas.set(name, place);
      urls.push(...rowExtensions.flatMap((key) => place.get(key, 'recordsUrl') ?? []));
    },
    SchemaProperties(properties, { location, resolve }) {
      for (const [, property] of new Place(properties, location, resolve).entries()) {
        byId.push(...[property.get('x-references') ?? []].flat());
        byKey.push(...[property.get('x-references-by') ?? []].flat());
      }
    },
    Root: {
      leave(root, context) {
        const report = reporter(context);
        for (const type of [...byId, ...byKey.flatMap((reference) => reference.list('types'))]) {
          if (!schemas.has(String(type.value))) {
            report(type, `Refer to a type of the contract: the schema \`${type.value}\` does not exist.`);
          }
        }
        const paths = Object.keys(root.paths ?? {});
        for (const url of urls) {
          // Types that are read by a path with their name, such as `/api/v1/records/batch/{type}`.
          const general = String(url.value).replace(/\/[A-Z][A-Za-z0-9]*$/, '/{type}');
          if (!paths.includes(general))
            report(url, `Refer to the path of the rows: the path ${general} does not exist.`);
        }
        for (const reference of byKey) {
          const key = reference.text('key') ?? '';
          for (const type of reference.list('types')) {
            const schema = schemas.get(String(type.value));
            if (schema !== undefined && !propertiesOf(schema).has(key)) {
              report(reference, `Refer by a field of \`${type.value}\`: \`${key}\` does not exist.`);
            }
          }
        }
      },
    },
  };
};
