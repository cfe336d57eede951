import type { Ajv2020, FuncKeywordDefinition } from 'ajv/dist/2020.js';

/**
 * Replaces the `uniqueItems` of an Ajv by one that takes linear time. Its own compares each item with all others, unless
 * their schema says without a reference that they are not objects.
 */
export function addUniqueItems(ajv: Ajv2020): void {
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword(uniqueItems);
}

const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: true,
  compile(isRequired: boolean) {
    const validate: ReturnType<NonNullable<FuncKeywordDefinition['compile']>> = (items: readonly unknown[]) => {
      const pair = isRequired ? equalItems(items) : undefined;
      if (pair === undefined) return true;
      const [i, j] = pair;
      const message = `must NOT have duplicate items (items ## ${i} and ${j} are identical)`;
      validate.errors = [{ keyword: 'uniqueItems', message, params: { i, j } }];
      return false;
    };
    return validate;
  },
};

/** Returns the indexes of the first item that equals one before it, and of that one. */
function equalItems(items: readonly unknown[]): [number, number] | undefined {
  if (items.length < 2) return undefined;
  const indexes = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    const before = indexes.get(key);
    if (before !== undefined) return [before, index];
    indexes.set(key, index);
  }
  return undefined;
}

/** JSON of a value whose properties are sorted. Not by `JSON.stringify` alone: an `Unstorable` throws. */
function keyOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(keyOf).join(',')}]`;
  const properties = Object.keys(value).sort();
  return `{${properties.map((name) => `${JSON.stringify(name)}:${keyOf(Reflect.get(value, name))}`).join(',')}}`;
}
