/**
 * Valid JSON Schema that a tool of ours processes incorrectly; each was seen. The contract does not use it, so that the
 * validator, the types, the mock and the reference all see the same.
 */
import type { Location, Oas3Rule } from '@redocly/openapi-core';
import { isObject, Place, type Report, reporter } from './contract.ts';
import { isCondition } from './schemas.ts';

/** Keywords that validators or generators of types do not support, or with which they lose properties. */
const unknownKeywords = ['$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', 'dependentSchemas'];

export const keywords: Oas3Rule = () => ({
  Schema(schema, context) {
    if (isCondition(context.location)) return;
    const report = reporter(context);
    check(new Place(schema, context.location, context.resolve), report);
    checkDirection(schema, context.location, report);
  },
  // Siblings of a reference are not part of the node that the reference leads to.
  ref(node, context) {
    checkDirection(node, context.rawLocation, reporter(context));
  },
});

function check(schema: Place, report: Report): void {
  for (const keyword of unknownKeywords) {
    if (schema.get(keyword) !== undefined) report(schema, `Replace \`${keyword}\`: the validators do not support it.`);
  }
  // Ajv in strict mode rejects tuples of open length, and the server would not start.
  if (schema.get('prefixItems') !== undefined && schema.get('minItems') === undefined) {
    report(schema, 'Add a `minItems` to the schema with `prefixItems`.');
  }
}

/** Generators read these in different ways, and in a webhook the sender is the service. */
function checkDirection(node: unknown, location: Location, report: Report): void {
  for (const keyword of ['readOnly', 'writeOnly']) {
    if (isObject(node) && node[keyword] === true)
      report(
        location,
        `Remove \`${keyword}\`: describe written and read values with two schemas that have a common part.`,
      );
  }
}
