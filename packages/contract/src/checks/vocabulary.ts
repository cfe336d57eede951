import { vocabulary as ofLists } from './semantics/lists/vocabulary.ts';
import { vocabulary as ofThings } from './semantics/things/vocabulary.ts';

/** All that `x-contract-check` may say, and where. */
export const vocabulary = [...ofLists, ...ofThings];

/** The vocabulary as Markdown, for the README. */
export function vocabularyTable(): string {
  const rows = vocabulary.map(({ on, member, says }) => `| ${on} | \`${member}\` | ${says} |`);
  return ['| on | member | says |', '|---|---|---|', ...rows].join('\n');
}
