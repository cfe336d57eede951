import type { Finding } from '../src/contract/validator.ts';

/** A request or response that only one of the validators accepts. */
export interface Difference {
  readonly operation: string;
  /** `request`, or the status of a response. */
  readonly message: string;
  /** What the server's own validator found; nothing if it accepts the message. */
  readonly own: readonly Finding[];
  /** The error of `express-openapi-validator`; undefined if it accepts the message. */
  readonly other: string | undefined;
  readonly value: unknown;
}

interface KnownDifference {
  readonly reason: string;
  applies(difference: Difference): boolean;
}

/** Where the validators may differ, and why the server's own verdict is the right one. */
const knownDifferences: readonly KnownDifference[] = [
  {
    reason:
      'express-openapi-validator converts parameters by JavaScript: 1e999, and an integer of 400 digits, become Infinity, ' +
      'which it accepts as an integer and compares with no bound.',
    applies: ({ own, other }) =>
      other === undefined &&
      own.every(({ path, keyword }) => path.startsWith('/query/') && (keyword === 'type' || keyword === 'maximum')),
  },
];

export function isKnown(difference: Difference): boolean {
  return knownDifferences.some(({ applies }) => applies(difference));
}
