export { type Comparison, compare, identity } from './compare.ts';
export type { Break, Bundle } from './document.ts';
export { loadDocument, NotComparable } from './load.ts';
export { type User, usersOf, wordsFor } from './users.ts';
