import { vocabulary as ofLists } from './behavior/lists/vocabulary.ts';
import { vocabulary as ofResources } from './behavior/resources/vocabulary.ts';

/** All members of `x-contract-check`, and where they are allowed. */
export const vocabulary = [...ofLists, ...ofResources];

/** The vocabulary as Markdown, for EXTENSION.md. */
export function vocabularyTable(): string {
  const rows = vocabulary.map(({ on, member, meaning }) => `| ${on} | \`${member}\` | ${meaning} |`);
  return ['| on | member | meaning |', '|---|---|---|', ...rows].join('\n');
}
