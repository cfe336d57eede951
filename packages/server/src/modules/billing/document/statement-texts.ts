import { textsOf } from '../../documents/index.ts';

/** What a statement of account says. Entries of work in progress are on no statement. */
export const statementTexts = textsOf('statement');
