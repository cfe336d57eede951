/** A value that some readers must not see reads null for them, so each restricted property must allow null. */
import type { Place } from './contract.ts';
import { eachProperty, typesOf } from './schemas.ts';

export const restrictedFields = eachProperty((name, property, report) => {
  if (property.get('x-read-roles') !== undefined && !allowsNull(property))
    report(property, `Allow null in ${name}: it reads null without one of its \`x-read-roles\`.`);
});

function allowsNull(schema: Place): boolean {
  return typesOf(schema).includes('null') || schema.list('anyOf').some(allowsNull);
}
