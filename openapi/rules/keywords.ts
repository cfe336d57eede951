/**
 * Valid JSON Schema that a tool in our chain gets wrong; each was met. The contract does without, so that the
 * validator, the types, the mock and the reference all see the same.
 */
import { eachSchema, propertiesOf, requiredOf, typesOf } from './schemas.ts';

/** Keywords that validators or generators of types do not know, or lose properties at. */
const unknownKeywords = ['$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', 'dependentSchemas'];

export const keywords = eachSchema((schema, report) => {
  for (const keyword of unknownKeywords) {
    if (schema.get(keyword) !== undefined)
      report(schema, `Say it without \`${keyword}\`: our validators do not follow it.`);
  }
  // Ajv in strict mode refuses tuples of open length, and the server would not start.
  if (schema.get('prefixItems') !== undefined && schema.get('minItems') === undefined) {
    report(schema, 'Give a schema with `prefixItems` a `minItems`.');
  }
  // express-openapi-validator answers 500 on it.
  const items = schema.get('items');
  if (typesOf(schema).includes('array') && typesOf(schema).includes('null') && items !== undefined) {
    const properties = propertiesOf(items);
    for (const name of requiredOf(items)) {
      if (properties.get(name)?.some((property) => property.get('readOnly')?.value === true)) {
        report(
          schema,
          `Make the array or \`${name}\` otherwise: a required read-only property in an array that may be null fails.`,
        );
      }
    }
  }
});
