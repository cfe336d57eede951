/**
 * Valid JSON Schema that a tool in our chain gets wrong; each was met (shared notes on the toolchain). The contract does without, so
 * that the validator, the types, the mock and the reference all see the same.
 */
import { isReference, operationsOf, type Place, type Report, wholeContract } from './contract.ts';
import { contentOf, eachSchema, partsOf, propertiesOf, requiredOf, typesOf } from './schemas.ts';

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

/** The validator does not see what stands beside a reference at the root of a body, an answer or a parameter. */
export const rootReferences = wholeContract((root, report) => {
  for (const { parameters, body, responses } of operationsOf(root)) {
    for (const parameter of parameters) {
      const schema = parameter.get('schema');
      if (schema !== undefined) checkRoot(schema, report);
      checkReserved(parameter, report);
    }
    for (const message of [...(body === undefined ? [] : [body]), ...responses.map(([, response]) => response)]) {
      for (const schema of contentOf(message)) checkRoot(schema, report);
    }
  }
});

function checkRoot(schema: Place, report: Report): void {
  if (isReference(schema.raw) && schema.layers.length > 1) {
    report(schema, 'Wrap the reference in `allOf`: what stands beside it at the root is not seen by the validator.');
  }
}

/** Without `allowReserved` the validator refuses a `:` or `+`, which instants and free text have. */
function checkReserved(parameter: Place, report: Report): void {
  const schema = parameter.get('schema');
  if (parameter.text('in') !== 'query' || schema === undefined) return;
  const items = schema.get('items') ?? schema;
  const isFree =
    typesOf(items).includes('string') &&
    items.get('enum') === undefined &&
    items.get('const') === undefined &&
    (items.get('pattern') === undefined || items.text('format') === 'date-time');
  if (isFree && parameter.get('allowReserved')?.value !== true) {
    report(parameter.home, 'Say `allowReserved: true`: the value may have a `:` or a `+`.');
  }
}

/**
 * The validator fills in defaults. In a partial update, where what is left out keeps its value, a default would overwrite it; what the
 * service puts on creation stands in `x-on-create`.
 */
export const partialUpdateDefaults = wholeContract((root, report) => {
  for (const { method, body } of operationsOf(root)) {
    if (body === undefined) continue;
    for (const schema of contentOf(body)) {
      const parts = partsOf(schema);
      const isPartial = (part: Place) =>
        method === 'patch' || method === 'put' || part.name?.endsWith('Fields') === true;
      for (const part of parts.filter(isPartial)) refuseDefaults(part, report);
    }
  }
});

function refuseDefaults(part: Place, report: Report): void {
  for (const [name, property] of part.map('properties')) {
    const value = property.get('default');
    if (value !== undefined) {
      report(
        value,
        `Say the default of ${name} in \`x-on-create\`: \`default\` would overwrite the value in a partial update.`,
      );
    }
  }
}
