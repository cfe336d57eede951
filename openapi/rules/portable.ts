/**
 * Writes schemas of the bundle in the form that most tools read. A constant becomes an enum of one: some generators ignore `const`, and then
 * cannot tell the members of a union apart. An integer has a format, so that typed languages choose a type that has room for it.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, type JsonObject } from './contract.ts';
import { mapped } from './flat.ts';

export const portable: Oas3Decorator = () => ({
  Root: {
    leave(root) {
      const document: unknown = root;
      if (!isObject(document)) return;
      for (const [key, value] of Object.entries(document)) document[key] = mapped(value, [key], inPortableForm);
    },
  },
});

export function inPortableForm({ const: constant, ...schema }: JsonObject): JsonObject {
  const values = constant === undefined ? schema.enum : [constant];
  // Conditions have integers without a maximum.
  const isInteger = [schema.type].flat().includes('integer') && (values !== undefined || schema.maximum !== undefined);
  const format = isInteger ? { format: formatOf(schema, values) } : {};
  return { ...schema, ...(values !== undefined && { enum: values }), ...format };
}

const largest = 2 ** 31 - 1;

function formatOf({ minimum, maximum }: JsonObject, values: unknown): 'int32' | 'int64' {
  const bounds = Array.isArray(values) ? values.filter((value) => value !== null) : [minimum, maximum];
  return bounds.every((bound) => typeof bound === 'number' && Math.abs(bound) <= largest) ? 'int32' : 'int64';
}
