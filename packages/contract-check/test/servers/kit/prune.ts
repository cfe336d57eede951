import { type Contract, type Json, type JsonObject, list, object } from './contract.ts';
import { resolved } from './parameters.ts';

/** The value with only declared properties. An open schema accepts others, but they need not be stored. */
export function prune(contract: Contract, schema: JsonObject, value: Json): Json {
  const plain = resolved(contract, schema);
  if (Array.isArray(value)) return value.map((item) => prune(contract, object(plain.items), item));
  if (value === null || typeof value !== 'object') return value;
  const properties = [plain, ...list(plain.allOf).map((part) => resolved(contract, object(part)))].map((part) =>
    object(part.properties),
  );
  const schemaOf = (name: string) => properties.find((known) => Object.hasOwn(known, name))?.[name];
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const known = schemaOf(name) ?? plain.additionalProperties;
      return known === undefined ? [] : [[name, prune(contract, object(known), item)]];
    }),
  );
}
