/**
 * The value of an enum is a word with a specific meaning. So its description explains each value, except those whose name is
 * explanation enough.
 */
import { eachSchema } from './schemas.ts';

const plain = new Set([
  'OTHER',
  // How many, how often, how urgent
  ...['LOW', 'NORMAL', 'HIGH', 'MONTHLY', 'QUARTERLY', 'ANNUAL'],
  // People and organizations
  ...['INDIVIDUAL', 'SOLE_PROPRIETOR', 'PARTNERSHIP', 'TRUST', 'ESTATE', 'GOVERNMENT', 'CLIENT', 'CONTACT', 'OFFICE'],
  // Ways to reach somebody, ways to pay
  ...['EMAIL', 'PHONE', 'SMS', 'HOME', 'CARD', 'CHECK', 'WIRE', 'CASH'],
  // Ends that their names explain
  ...['CREATED', 'UPDATED', 'APPROVED', 'REJECTED', 'DELETED', 'SIGNED', 'DECLINED', 'PAID', 'AVAILABLE', 'ADVISORY'],
  ...['CREATE', 'UPDATE'],
  // Keys that every row has, described there
  ...['id', 'systemRef', 'pmsRef'],
]);

export const enumValues = eachSchema((schema, report) => {
  if (schema.name === undefined || schema.location.pointer !== schema.home.pointer) return;
  const description = schema.text('description') ?? '';
  // Some values of another enum, which explains them.
  if (/those of `[A-Z]\w+`/.test(description)) return;
  for (const value of schema.list('enum')) {
    const word = String(value.value);
    if (!plain.has(word) && !description.includes(`\`${word}\``))
      report(value, `Explain \`${word}\` in the description of ${schema.name}.`);
  }
});
