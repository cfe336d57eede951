/**
 * The server looks up what an id refers to by `x-references`, and the records API shows it to integrators. A type that the
 * contract does not have could not be looked up by anyone.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { nameOf, Place, reporter } from './contract.ts';

export const references: Oas3Rule = () => {
  const schemas = new Set<string>();
  const references: Place[] = [];
  return {
    Schema(_, { location }) {
      const name = nameOf(location);
      if (name !== undefined) schemas.add(name);
    },
    SchemaProperties(properties, { location, resolve }) {
      for (const [, property] of new Place(properties, location, resolve).entries()) {
        const reference = property.get('x-references');
        if (reference !== undefined) references.push(reference);
      }
    },
    Root: {
      leave(_, context) {
        const report = reporter(context);
        for (const reference of references) {
          if (!schemas.has(String(reference.value))) {
            report(reference, `Refer to a type that the contract has: there is no schema \`${reference.value}\`.`);
          }
        }
      },
    },
  };
};
