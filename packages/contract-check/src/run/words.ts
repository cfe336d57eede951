import pluralize from 'pluralize';

/** The words of a name, in lower case: `createdAt`, `created_at` and `filter[created-at]` are made of `created` and `at`. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z\d]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** Two names that are written alike but for case, separators and brackets have the same key. */
export function keyOfName(name: string | readonly string[]): string {
  return (typeof name === 'string' ? wordsOf(name) : name).join('');
}

/** `Statuses` and `status` are one. */
export function singularKey(words: readonly string[]): string {
  const last = words.at(-1);
  return [...words.slice(0, -1), ...(last === undefined ? [] : [pluralize.singular(last)])].join('');
}

/** What only groups controls: `filter[status]` is about the status. */
export function withoutContainer(words: readonly string[]): readonly string[] {
  const [first = '', ...rest] = words;
  return rest.length > 0 && /^(?:filters?|where|conditions?|criteria|by|query|options|params)$/.test(first)
    ? withoutContainer(rest)
    : words;
}
