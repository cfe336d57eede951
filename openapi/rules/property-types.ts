/**
 * A name implies a type: names that end in `Id` are IDs, in `At` instants, in `Date` business days. Types, tables and
 * people rely on it, and one shared schema per type keeps their pattern and bounds the same everywhere.
 */
import { isReference, type Place } from './contract.ts';
import { eachProperty, isOnlyNull, typesOf } from './schemas.ts';

interface Promise {
  name: RegExp;
  format: string;
  what: string;
}

const promises: Promise[] = [
  { name: /([a-z]Id|^id)$/, format: 'uuid', what: 'a reference to Uuid or NullableUuid' },
  { name: /[a-z]At$/, format: 'date-time', what: 'a reference to Instant or NullableInstant' },
  { name: /([a-z]Date|^date)$/, format: 'date', what: 'a reference to BusinessDate or NullableBusinessDate' },
  {
    name: /([a-z](Amount|Balance|Hours|Percent|Rate)|^(amount|hours))$/,
    format: 'decimal',
    what: 'a decimal string with its `x-scale`',
  },
];

/** Numbers that others give: they are called ids in the trade and are not ours. */
const foreignIds = new Set(['taxId']);

export const propertyTypes = eachProperty((name, given, report) => {
  const property = withoutKeys(given);
  if (foreignIds.has(name) || isOnlyNull(property)) return;
  if (/[a-z]Ids$/.test(name)) {
    const items = property.get('items');
    if (!isSearch(property) && items?.text('format') !== 'uuid')
      report(property, `Declare ${name} as a list of references to Uuid.`);
    return;
  }
  if (/^(is|can)[A-Z]/.test(name) && !isSearch(property) && !typesOf(property).includes('boolean')) {
    report(property, `Declare ${name} as a boolean.`);
  }
  const promise = promises.find((candidate) => candidate.name.test(name));
  if (promise === undefined || isSearch(property)) return;
  // Some rows have keys that are no UUIDs, with schemas of their own names (`WebhookMessageId`).
  if (promise.format === 'uuid' && property.name?.endsWith('Id')) return;
  // A decimal may have bounds of its own, a percentage over 100 for one; the others are the same everywhere.
  const isShared = promise.format === 'decimal' ? property.get('x-scale') !== undefined : isReference(property.raw);
  if (property.text('format') !== promise.format || !isShared) {
    report(property, `Declare ${name} as ${promise.what}, which its name means.`);
  }
});

/** Of a reference to a row by its ID or by another key, the ID. The bundle has such references. */
function withoutKeys(property: Place): Place {
  const branches = property.list('anyOf');
  return (branches.some(({ name }) => name === 'RowReference') ? branches[0] : undefined) ?? property;
}

/** In a search a column is a condition or a direction. */
function isSearch(property: Place): boolean {
  return property.name?.endsWith('Filter') === true || property.name === 'OrderDirection';
}
