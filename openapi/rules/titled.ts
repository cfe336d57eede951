/** Gives each schema of the bundle a title for people, such as "Client search request". It follows from the name of the schema. */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, objectOf } from './contract.ts';

export const titled: Oas3Decorator = () => ({
  Root: {
    leave(root) {
      const schemas: unknown = root.components?.schemas;
      for (const [name, schema] of Object.entries(objectOf(schemas)))
        if (isObject(schema)) schema.title ??= titleOf(name);
    },
  },
});

const acronyms = new Set(['url', 'uuid', 'id', 'ids', 'wip', 'mime']);

/** Names end in the words of the search grammar, which mean little to readers. */
const endings: readonly (readonly [RegExp, string])[] = [
  [/RelationWhere$/, 'RelatedRowFilter'],
  [/Where$/, 'Filter'],
  [/(?<=.)Filter$/, 'Condition'],
  [/OrderBy$/, 'SortKeys'],
  [/Columns$/, 'FilterColumns'],
];

/** `WipEntryWhere` becomes "WIP entry filter". */
export function titleOf(name: string): string {
  const ending = endings.find(([pattern]) => pattern.test(name));
  const plain = ending === undefined ? name : name.replace(...ending);
  const words = plain.match(/[A-Z][a-z0-9]*/g) ?? [name];
  const title = words.map((word) => (acronyms.has(word.toLowerCase()) ? word.toUpperCase() : word.toLowerCase()));
  const text = title.join(' ').replace('IDS', 'IDs');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
