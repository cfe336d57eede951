/**
 * express-openapi-validator ignores the siblings of a reference at the root of a body, a response or a parameter: a bound
 * there would be shown in the reference, but not validated.
 */
import { eachOperation, isReference } from './contract.ts';
import { bodiesOf } from './schemas.ts';

export const rootReferences = eachOperation((operation, report) => {
  const schemas = operation.parameters.flatMap((parameter) => parameter.get('schema') ?? []);
  for (const schema of [...schemas, ...bodiesOf(operation)]) {
    if (isReference(schema.raw) && schema.layers.length > 1) {
      report(schema, 'Wrap the reference in `allOf`: the validator ignores its siblings at the root.');
    }
  }
});
