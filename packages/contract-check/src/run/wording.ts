import { wordsOf } from './words.ts';

/** Parses unambiguous statements in descriptions. Vague or contradictory wording yields nothing. */

/** The clauses of a description, each with one statement. */
export function clausesOf(description: unknown): string[] {
  return typeof description === 'string'
    ? description
        .replaceAll(/\s+/g, ' ')
        .split(/[.;:](?:\s|$)/)
        .map((clause) => clause.trim())
    : [];
}

export interface DocumentedBound {
  readonly includes: boolean;
  /** Whether the wording is explicit, rather than implied by `before this day`. */
  readonly isExplicit: boolean;
}

const inclusive =
  /\bor (?:later|after|newer|younger|more|greater|higher|above|longer|larger|bigger|earlier|before|older|less|fewer|lower|below|shorter|smaller|equal)\b|\b(?:at|on) or (?:after|before)\b|\bat (?:least|most)\b|\bno (?:more|less|fewer|earlier|later|older|newer) than\b|\b(?<!not )inclusive(?:ly)?\b|\b(?:up to|from) and including\b|[<>]=|[≤≥]/i;
const exclusive = /\bexclusive(?:ly)?\b|\bnot inclu(?:ding|sive)\b|\bstrictly\b/i;
const beyond = {
  least: /\b(?:after|later than|newer than|younger than)\b/i,
  most: /\b(?:before|earlier than|older than)\b/i,
};
const beyondThis =
  /\b(?:after|later than|before|earlier than) th(?:is|at) (?:moment|time|timestamp|instant|day|date|point in time)\b/i;

/** Whether the range includes its bound. */
export function documentedBound(
  description: string,
  side: 'least' | 'most',
): DocumentedBound | 'contradictory' | undefined {
  const [isIn, isOut] = [inclusive.test(description), exclusive.test(description)];
  if (isIn && isOut) return 'contradictory';
  if (isIn || isOut) return { includes: isIn, isExplicit: true };
  if (!beyond[side].test(description)) return undefined;
  return beyondThis.test(description) ? { includes: false, isExplicit: false } : 'contradictory';
}

export function mentionsUtc(description: string): boolean {
  return /\b(?:UTC|GMT)\b/.test(description);
}

/** Whether a row must match any of several values, or all of them. */
export function documentedJoin(description: string): 'any' | 'all' | undefined {
  const ofThese = '(?: of)? (?:these|the given|the listed|the specified)\\b';
  const isAny = new RegExp(`\\b(?:any|at least one|one or more|either)${ofThese}`, 'i').test(description);
  const isAll = new RegExp(`\\b(?:all|every one|each)${ofThese}`, 'i').test(description);
  return isAny === isAll ? undefined : isAny ? 'any' : 'all';
}

/** Whether a text must match exactly. */
export function requiresExactMatch(description: string): boolean {
  return /\bexactly as (?:it is |they are )?(?:written|stored|spelled|spelt|shown)\b|\bcase[- ]sensitive(?:ly)?\b/i.test(
    description,
  );
}

/** Whether both values of a flag filter: `true: only those with; false: only those without`. */
export function documentsBothValues(description: string): boolean {
  return /\bonly\b.*\bor only (?:those|the ones|ones)\b|\btrue\b.{0,6}\bonly\b.*\bfalse\b.{0,6}\bonly\b/is.test(
    description,
  );
}

export function ignoresCase(description: string): boolean {
  return /\b(?:in any case|in either case|case[- ]insensitive(?:ly)?|ignor(?:es|ing) (?:the )?case|(?:regardless of|without regard to|irrespective of) (?:the |upper or lower )?case|(?:upper|lower)[- ]? ?case (?:does not|doesn't) matter)\b/i.test(
    description,
  );
}

/** Whether a search matches parts of words. */
export function documentsPartialMatch(description: string): boolean {
  const isPart =
    /\bcontain(?:s|ing)? (?:this|the (?:text|given text))\b|\bwith this text\b|\bpart of\b|\bsubstring\b|\banywhere in\b/i;
  return (
    isPart.test(description) &&
    !/\bwords?\b|\bfull[- ]?text\b|\bterms?\b|\btokens?\b|\bbegin|\bstart/i.test(description)
  );
}

/** The properties that a search covers: `their title or in the name of the organizer` lists two. */
export function documentedPlaces(description: string): string[][] {
  const within =
    /\b(?:in|within|of) (?:their|its|the|either)\b (.+?)(?:[.;]|, in |, ignor|, regardless|, without|, case|$)/i.exec(
      description,
    ) ?? /\bwhose (.+?) (?:contains?|has|includes?|matches) /i.exec(description);
  return (within?.[1] ?? '')
    .replaceAll(/[`'"]/g, '')
    .split(/,\s*(?:or|and)\s+|,\s*|\s+(?:or|and)\s+/)
    .map((place) => {
      const plain = place.replace(/^(?:in )?(?:the |their |its |a )*/i, '').replace(/^e-?mail(?: address)?$/i, 'email');
      const owned = /^(\S+) of (?:the |their |its )?(\S+)$/i.exec(plain);
      return wordsOf(owned === null ? plain : `${owned[2]} ${owned[1]}`);
    })
    .filter((words) => words.length > 0);
}

/** Whether a clause mentions a property: `the plate number` mentions `plate_number`. */
export function mentionsProperty(clause: string, name: string): boolean {
  const wording = ` ${wordsOf(clause).join(' ')} `;
  const words = wordsOf(name).join(' ');
  return words !== '' && (wording.includes(` ${words} `) || clause.includes(`\`${name}\``));
}

/** Whether a value must be unique: `Unique within the account`, `the name is already in use`. */
export function documentsUniqueness(clause: string): boolean {
  const uniqueWords =
    /\bunique\b(?! identifier)|\balready (?:in use|used|taken|exists|known|has)\b|\bin use\b|\bis taken\b|\bexists already\b/i;
  // An idempotency key is also used once, but is not a property of the resource.
  const isOther = /\bnot (?:be |necessarily |have to be )*unique\b|\brequest\b|\bidempoten/i;
  return uniqueWords.test(clause) && !isOther.test(clause);
}

/** Whether an update replaces the previous value completely: `tags are replaced as a whole`. */
export function documentsFullReplacement(clause: string): boolean {
  return (
    /\breplace[sd]?\b/i.test(clause) &&
    /\b(?:as a whole|as one|entirely|completely|whole|wholly)\b/i.test(clause) &&
    !/\bnot\b/i.test(clause)
  );
}
