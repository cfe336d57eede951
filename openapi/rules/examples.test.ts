/**
 * The examples tell one story. Nothing else holds them together: each is valid by itself, and a client that is called
 * otherwise in another file would only be noticed by a reader.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { isObject, type JsonObject } from './contract.ts';

const folder = fileURLToPath(new URL('../examples/', import.meta.url));

interface Found {
  where: string;
  fields: JsonObject;
}

const objects = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => objectsIn(parse(readFileSync(join(folder, file), 'utf8')), file));

const rows = objects.filter(({ fields }) => 'id' in fields && 'version' in fields && 'createdAt' in fields).map(plain);
const rowsById = Map.groupBy(rows, ({ fields }) => fields.id);

test('rows of the same id and version are the same everywhere', () => {
  const differences: string[] = [];
  for (const same of Map.groupBy(rows, ({ fields }) => `${fields.id} version ${fields.version}`).values()) {
    const [first, ...others] = same;
    if (first === undefined) continue;
    for (const other of others) {
      const isSent = [first, other].some(({ where }) => where.startsWith('events/'));
      const [one, another] = [first.fields, other.fields].map((fields) => (isSent ? withoutRates(fields) : fields));
      // A project is a job with more fields, so what both have is compared.
      for (const key of Object.keys(Object(one)).filter((key) => key in Object(another))) {
        if (!isEqual(Reflect.get(Object(one), key), Reflect.get(Object(another), key)))
          differences.push(`${key} in ${first.where} and in ${other.where}`);
      }
    }
  }
  expect(differences).toEqual([]);
});

/** Events carry no rates, so there is nothing to compare. */
function withoutRates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRates);
  if (!isObject(value)) return value;
  const others = Object.entries(value).filter(([key]) => !/[a-z]Rate$/.test(key));
  return Object.fromEntries(others.map(([key, part]) => [key, withoutRates(part)]));
}

test('the versions of a row follow each other in time', () => {
  const disorder: string[] = [];
  for (const same of rowsById.values()) {
    const inOrder = same.toSorted((a, b) => Number(a.fields.version) - Number(b.fields.version));
    for (const [index, row] of inOrder.entries()) {
      const before = inOrder[index - 1];
      if (before === undefined) continue;
      if (row.fields.createdAt !== before.fields.createdAt)
        disorder.push(`createdAt in ${before.where} and in ${row.where}`);
      if (String(row.fields.updatedAt) < String(before.fields.updatedAt))
        disorder.push(`updatedAt in ${before.where} and in ${row.where}`);
    }
  }
  expect(disorder).toEqual([]);
});

test('a part of a row shows what some version of the row shows', () => {
  const differences: string[] = [];
  // An item of a bulk answer has an `index` and says what became of it, not what the row is.
  const parts = objects.filter(({ fields }) => 'id' in fields && !('version' in fields) && !('index' in fields));
  for (const { where, fields } of parts) {
    const versions = rowsById.get(fields.id) ?? [];
    for (const key of Object.keys(fields)) {
      const shown = versions.filter((version) => key in version.fields);
      if (shown.length > 0 && !shown.some((version) => isEqual(version.fields[key], fields[key]))) {
        differences.push(`${key} in ${where} and in ${shown[0]?.where}`);
      }
    }
  }
  expect(differences).toEqual([]);
});

test('an id leads to the same type wherever its name stands', () => {
  const types = new Map<string, Map<string, string>>();
  for (const { where, fields } of objects) {
    for (const [key, value] of Object.entries(fields)) {
      const stem = /^(.+)Ids?$/.exec(key)?.[1];
      // Where a field beside it says the type, it differs.
      if (stem === undefined || `${stem}Type` in fields) continue;
      for (const id of [value].flat()) {
        const type = /^0199a1c2-([0-9a-f]{4})-/.exec(String(id))?.[1];
        if (type !== undefined) types.set(stem, (types.get(stem) ?? new Map()).set(type, where));
      }
    }
  }
  const several = [...types].filter(([, places]) => places.size > 1);
  expect(several.map(([stem, places]) => `${stem}Id: ${JSON.stringify(Object.fromEntries(places))}`)).toEqual([]);
});

function objectsIn(value: unknown, where: string): Found[] {
  if (Array.isArray(value)) return value.flatMap((element, index) => objectsIn(element, `${where}/${index}`));
  if (!isObject(value)) return [];
  return [
    { where, fields: value },
    ...Object.entries(value).flatMap(([key, child]) => objectsIn(child, `${where}/${key}`)),
  ];
}

/** The records API shows the fields of a row under `attributes`, beside its type. */
function plain({ where, fields }: Found): Found {
  const { attributes, type: _, ...base } = fields;
  return { where, fields: isObject(attributes) ? { ...base, ...attributes } : fields };
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
