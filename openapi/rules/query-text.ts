/**
 * express-openapi-validator rejects a value in the query that contains a `:` or a `+`, unless the parameter allows
 * reserved characters. Every instant has a `:`, and free text may have anything.
 */
import { eachOperation } from './contract.ts';
import { typesOf } from './schemas.ts';

export const queryText = eachOperation(({ parameters }, report) => {
  for (const parameter of parameters) {
    const schema = parameter.get('schema');
    if (parameter.text('in') !== 'query' || schema === undefined) continue;
    const items = schema.get('items') ?? schema;
    const isBound = ['enum', 'const', 'pattern'].some((keyword) => items.get(keyword) !== undefined);
    const isFree = typesOf(items).includes('string') && (!isBound || items.text('format') === 'date-time');
    if (isFree && parameter.get('allowReserved')?.value !== true) {
      report(parameter.home, 'Set `allowReserved: true`: the value can contain a `:` or a `+`.');
    }
  }
});
