/**
 * A name promises a type: what ends in `Id` is an id, in `At` an instant, in `Date` a business day. Types, tables and people rely on
 * it, and one shared schema per type keeps their pattern and bounds the same everywhere.
 */
import { isReference, type Place } from './contract.ts';
import { eachProperty, typesOf } from './schemas.ts';

interface Promise {
  name: RegExp;
  format: string;
  what: string;
}

const promises: Promise[] = [
  { name: /([a-z]Id|^id)$/, format: 'uuid', what: 'Uuid or NullableUuid' },
  { name: /[a-z]At$/, format: 'date-time', what: 'Instant or NullableInstant' },
  { name: /([a-z]Date|^date)$/, format: 'date', what: 'BusinessDate or NullableBusinessDate' },
  {
    name: /([a-z](Amount|Balance|Hours|Percent|Rate)|^(amount|hours|total))$/,
    format: 'decimal',
    what: 'one of the decimals',
  },
];

/** Numbers that others give: they are called ids in the trade and are not ours. */
const foreignIds = new Set(['taxId']);

export const propertyTypes = eachProperty((name, property, report) => {
  if (foreignIds.has(name)) return;
  if (/[a-z]Ids$/.test(name)) {
    const items = property.get('items');
    if (!isSearch(property) && items?.text('format') !== 'uuid')
      report(property, `Make ${name} a list of Uuid, by reference.`);
    return;
  }
  if (/^(is|can)[A-Z]/.test(name) && !isSearch(property) && !typesOf(property).includes('boolean')) {
    report(property, `Make ${name} a boolean.`);
  }
  const promise = promises.find((candidate) => candidate.name.test(name));
  if (promise === undefined || isSearch(property)) return;
  if (property.text('format') !== promise.format || !isReference(property.raw)) {
    report(property, `Make ${name} a reference to ${promise.what}, as its name promises.`);
  }
});

/** In a search a column is a condition or a direction. */
function isSearch(property: Place): boolean {
  return property.name?.endsWith('Filter') === true || property.name === 'OrderDirection';
}
