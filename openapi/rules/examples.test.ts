/**
 * The examples tell one story. Nothing else holds them together: each is valid by itself, and a client that is called otherwise in
 * another file would only be noticed by a reader.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { isObject, type JsonObject } from './contract.ts';

const folder = new URL('../examples/', import.meta.url).pathname;
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));

interface Row {
  where: string;
  fields: JsonObject;
}

const rows = files.flatMap((file) => rowsIn(parse(readFileSync(join(folder, file), 'utf8')), file));

test('rows of the same id and version are the same everywhere', () => {
  const differences: string[] = [];
  for (const same of Map.groupBy(rows, ({ fields }) => `${fields.id} version ${fields.version}`).values()) {
    const [first, ...others] = same;
    if (first === undefined) continue;
    for (const other of others) differences.push(...compare(first, other));
  }
  expect(differences).toEqual([]);
});

test('a later version of a row was not changed earlier', () => {
  const disorder: string[] = [];
  for (const same of Map.groupBy(rows, ({ fields }) => String(fields.id)).values()) {
    const inOrder = same.toSorted((a, b) => Number(a.fields.version) - Number(b.fields.version));
    for (const [index, row] of inOrder.entries()) {
      const before = inOrder[index - 1];
      if (before === undefined) continue;
      if (row.fields.createdAt !== before.fields.createdAt)
        disorder.push(`${row.where} and ${before.where}: createdAt`);
      if (String(row.fields.updatedAt) < String(before.fields.updatedAt))
        disorder.push(`${row.where} and ${before.where}: updatedAt`);
    }
  }
  expect(disorder).toEqual([]);
});

/** Every whole row in a value: an object with an id, a version and a time of creation. */
function rowsIn(value: unknown, where: string): Row[] {
  if (Array.isArray(value)) return value.flatMap((element, index) => rowsIn(element, `${where}/${index}`));
  if (!isObject(value)) return [];
  const within = Object.entries(value).flatMap(([key, child]) => rowsIn(child, `${where}/${key}`));
  if (!('id' in value && 'version' in value && 'createdAt' in value)) return within;
  // The records API shows the fields of a row under `attributes`.
  const { attributes, type: _, ...fields } = value;
  return [{ where, fields: isObject(attributes) ? { ...fields, ...attributes } : value }, ...within];
}

/** A project is a job with more fields, so what both have is compared. */
function compare(one: Row, other: Row): string[] {
  return Object.keys(one.fields)
    .filter((key) => key in other.fields && JSON.stringify(one.fields[key]) !== JSON.stringify(other.fields[key]))
    .map(
      (key) =>
        `${key} of ${one.where} and ${other.where}: ${JSON.stringify(one.fields[key])}, ${JSON.stringify(other.fields[key])}`,
    );
}
