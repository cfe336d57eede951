import { Ajv2020, type Options } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { contract } from './contract.ts';
import { addUniqueItems } from './unique-items.ts';

/** Creates an Ajv with the schemas of the contract. They compile when they are first used. */
export function contractAjv(options: Options = {}): Ajv2020 {
  // The contract is linted before it is bundled.
  const ajv = new Ajv2020({ strict: false, validateSchema: false, ...options });
  addFormats.default(ajv);
  addUniqueItems(ajv);
  // Patterns, which are stricter, validate it.
  ajv.addFormat('decimal', true);
  for (const [name, schema] of Object.entries(contract.components.schemas))
    ajv.addSchema(schema, `#/components/schemas/${name}`);
  return ajv;
}
