/**
 * An undeclared status is a defect: the contract check rejects it, and the types of handlers do not have it. So every status
 * that an operation can return is declared, and no other. The rest of the operation determines which ones.
 */
import { eachOperation, isPublic, type Operation, parameterNamed } from './contract.ts';

const everywhere = ['400', '401', '406', '429', '500', '503'];
const successes = ['200', '201', '202'];

interface Case {
  statuses: string[];
  when: string;
  applies: (operation: Operation) => boolean;
}

/** Exactly where the case applies, and nowhere else. */
const exactly: Case[] = [
  {
    statuses: ['304'],
    when: 'the operation accepts `If-None-Match`',
    applies: (operation) => parameterNamed(operation, 'If-None-Match') !== undefined,
  },
  { statuses: ['413', '415'], when: 'there is a body', applies: ({ body }) => body !== undefined },
  {
    statuses: ['412'],
    when: 'the operation accepts `If-Match`',
    applies: (operation) => parameterNamed(operation, 'If-Match') !== undefined,
  },
];

/** Where the case applies, and possibly elsewhere: a body can name what does not exist, or conflict with what does. */
const atLeast: Case[] = [
  // The token call needs no role; it has a 403 where it names another tenant than the key's.
  { statuses: ['403'], when: 'a role is needed', applies: (operation) => !isPublic(operation) },
  { statuses: ['404'], when: 'the path has a parameter', applies: ({ path }) => path.includes('{') },
  {
    statuses: ['410'],
    when: 'it continues after an event',
    applies: (operation) => parameterNamed(operation, 'after') !== undefined,
  },
  {
    statuses: ['409'],
    when: 'the operation accepts `Idempotency-Key`',
    applies: (operation) => parameterNamed(operation, 'Idempotency-Key') !== undefined,
  },
];

const known = new Set([...successes, ...everywhere, ...[...exactly, ...atLeast].flatMap(({ statuses }) => statuses)]);

export const statuses = eachOperation((operation, report) => {
  const where = operation.place.get('responses') ?? operation.place;
  const declared = operation.responses.map(([status]) => status);

  for (const status of everywhere) {
    if (!declared.includes(status)) report(where, `Declare ${status}: any operation can return it.`);
  }
  for (const { statuses, when, applies } of [...exactly, ...atLeast]) {
    for (const status of statuses) {
      if (applies(operation) && !declared.includes(status)) report(where, `Declare ${status}, because ${when}.`);
    }
  }
  for (const { statuses, when, applies } of exactly) {
    for (const status of statuses) {
      if (!applies(operation) && declared.includes(status)) {
        report(where, `Remove ${status}: it can only come where ${when}.`);
      }
    }
  }
  for (const status of declared) {
    if (!known.has(status))
      report(where, `Remove ${status}, which the service does not return, or add it to the rule.`);
  }
  if (declared.filter((status) => successes.includes(status)).length !== 1) {
    report(where, 'Declare exactly one status of success: 200, 201 or 202.');
  }
});
