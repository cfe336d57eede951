/**
 * The validator fills in defaults. In a partial update, where an omitted field keeps its value, a default would
 * overwrite it. The values that the service sets on creation are in `x-on-create`.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { operationsOf, Place, type Report, reporter } from './contract.ts';
import { contentOf, partsOf } from './schemas.ts';

export const partialUpdateDefaults: Oas3Rule = () => ({
  Root(node, context) {
    const report = reporter(context);
    for (const { method, body } of operationsOf(new Place(node, context.location, context.resolve))) {
      if (body === undefined || (method !== 'patch' && method !== 'put')) continue;
      for (const part of contentOf(body).flatMap((schema) => partsOf(schema))) refuseDefaults(part, report);
    }
  },
  // The records API writes these too, partially, without naming them in its bodies.
  Schema(node, context) {
    const schema = new Place(node, context.location, context.resolve);
    if (schema.name?.endsWith('Fields')) refuseDefaults(schema, reporter(context));
  },
});

function refuseDefaults(part: Place, report: Report): void {
  for (const [name, property] of part.map('properties')) {
    const value = property.get('default');
    if (value !== undefined) {
      report(
        value,
        `Declare the default of ${name} in \`x-on-create\`: \`default\` would overwrite it in a partial update.`,
      );
    }
  }
}
