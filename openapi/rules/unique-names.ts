/**
 * The bundle names a component after its file, so two files of one name would become `Client` and `Client-2`: types,
 * links and generated code would change with the order of the files. (`component-name-unique` sees neither examples nor
 * headers.) Generators make types of schemas, parameters and headers alike, and call a second one of the same name
 * `Cursor2`, so these share no name either.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { nameOf } from './contract.ts';

const kinds = ['Example', 'Header', 'Schema', 'Parameter', 'Response', 'RequestBody', 'PathItem'];
const typed = ['Header', 'Schema', 'Parameter'];

export const uniqueNames: Oas3Rule = () => {
  const homes = new Map<string, string>();
  return {
    ref(_, { type, report, rawLocation }, { location }) {
      const name = location === undefined ? undefined : nameOf(location);
      if (location === undefined || name === undefined || !kinds.includes(type.name)) return;
      const key = `${typed.includes(type.name) ? 'type' : type.name} ${name.toLowerCase()}`;
      const first = homes.get(key);
      if (first === undefined) homes.set(key, location.absolutePointer);
      else if (first !== location.absolutePointer) {
        report({
          message: `Rename ${name}: ${first.slice(first.indexOf('openapi/'))} has this name, and the bundle has room for one.`,
          location: rawLocation,
        });
      }
    },
  };
};
