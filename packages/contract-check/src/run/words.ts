import pluralize from 'pluralize';

/** The words of a name in lower case: `createdAt`, `created_at` and `filter[created-at]` contain `created` and `at`. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z\d]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** A key for names that ignores case, separators and brackets. */
export function keyOfName(name: string | readonly string[]): string {
  return (typeof name === 'string' ? wordsOf(name) : name).join('');
}

/** A key that ignores plural: `Statuses` and `status` are equal. */
export function singularKey(words: readonly string[]): string {
  const last = words.at(-1);
  return [...words.slice(0, -1), ...(last === undefined ? [] : [pluralize.singular(last)])].join('');
}

/** Removes words that only group parameters: `filter[status]` becomes `status`. */
export function withoutContainer(words: readonly string[]): readonly string[] {
  const [first = '', ...rest] = words;
  return rest.length > 0 && /^(?:filters?|where|conditions?|criteria|by|query|options|params)$/.test(first)
    ? withoutContainer(rest)
    : words;
}
