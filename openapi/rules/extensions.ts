/**
 * The server, the index and the checks obey the extensions, so a misspelt or misplaced one would silently have no effect.
 * Only those of the table can be used, in the places and the form that the table specifies.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { isObject } from './contract.ts';
import { extensionTable } from './extension-table.ts';

const ajv = new Ajv2020({ allErrors: true });
const validators = new Map<string, ValidateFunction>();
for (const [key, { schema }] of Object.entries(extensionTable)) validators.set(key, ajv.compile(schema));

/** The findings on the extensions of one object, as pairs of key and sentence. */
export function findings(object: unknown, type: string): [key: string, sentence: string][] {
  // Names of properties are not keys of OpenAPI.
  if (!isObject(object) || type === 'SchemaProperties' || type === 'SpecExtension') return [];
  return Object.keys(object)
    .filter((key) => key.startsWith('x-'))
    .flatMap((key): [string, string][] => {
      const extension = extensionTable[key];
      const validate = validators.get(key);
      if (extension === undefined || validate === undefined) {
        return [
          [key, `Remove \`${key}\`, or add it with its form and its reader to openapi/rules/extension-table.ts.`],
        ];
      }
      if (!extension.on.includes(type)) {
        return [[key, `Move \`${key}\` (${extension.why}) to where it is read: ${extension.on.join(', ')}.`]];
      }
      if (!validate(object[key])) {
        return [
          [
            key,
            `Correct the form of \`${key}\` (${extension.why}): ${ajv.errorsText(validate.errors, { dataVar: key })}.`,
          ],
        ];
      }
      return [];
    });
}

export const extensions: Oas3Rule = () => ({
  any(node, { type, location, report }) {
    for (const [key, message] of findings(node, type.name)) report({ message, location: location.child([key]) });
  },
  // Siblings of a reference are not part of the node that the reference leads to.
  ref(node, { type, rawLocation, report }) {
    for (const [key, message] of findings(node, type.name)) report({ message, location: rawLocation.child([key]) });
  },
});
