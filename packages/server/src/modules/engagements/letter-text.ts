import { textsOf } from '../documents/index.ts';
import type { Letter } from './letter.ts';

/** A heading and what follows it. */
interface Section {
  readonly heading: string;
  readonly text: string;
}

/**
 * What the standard letter of the service says. Firms with their own text send their own letter, and only record its signatures
 * here.
 */
export const letterTexts = textsOf('letter');

/** Returns the sections of a letter. They contain no user input, so the text is in one script. */
export function sectionsOf({
  type,
  feeType,
  language,
}: Pick<Letter, 'type' | 'feeType' | 'language'>): readonly Section[] {
  const texts = letterTexts[language];
  return [
    { heading: texts.scopeHeading, text: texts.scopes[type] },
    texts.responsibilities,
    { heading: texts.feeHeading, text: texts.fees[feeType ?? 'NONE'] },
    texts.confidentiality,
    texts.term,
    texts.agreement,
  ];
}
