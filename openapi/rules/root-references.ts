/**
 * express-openapi-validator does not see what stands beside a reference at the root of a body, an answer or a
 * parameter: a bound that is written there would be in the reference and not in force.
 */
import { eachOperation, isReference } from './contract.ts';
import { bodiesOf } from './schemas.ts';

export const rootReferences = eachOperation((operation, report) => {
  const schemas = operation.parameters.flatMap((parameter) => parameter.get('schema') ?? []);
  for (const schema of [...schemas, ...bodiesOf(operation)]) {
    if (isReference(schema.raw) && schema.layers.length > 1) {
      report(schema, 'Wrap the reference in `allOf`: what stands beside it at the root is not seen by the validator.');
    }
  }
});
