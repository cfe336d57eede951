/** What the contract's extensions say of an operation, in words, so that the reference shows what the server enforces. */
import type { operations } from '../../packages/spec/src/index.ts';

type Entry = (typeof operations)[keyof typeof operations];

/** A list in Markdown: roles, rate limit, whether a call may be repeated, and the largest body. */
export function facts(operation: Entry): string {
  const { roles, rateLimit, idempotent, bodyLimit, extension } = operation;
  const limit = `${rateLimit.limit.toLocaleString('en')} calls in ${rateLimit.window} s per API user (policy \`${rateLimit.policy}\`)`;
  return [
    `- **Roles**: ${rolesInWords(roles)}`,
    `- **Rate limit**: ${limit}`,
    `- **Repeating the call**: ${repeatingInWords(idempotent)}`,
    ...(bodyLimit === null ? [] : [`- **Largest body**: ${(bodyLimit / 1024).toLocaleString('en')} KiB`]),
    ...(extension ? ['- **Extension**: goes beyond the product interface'] : []),
  ].join('\n');
}

function rolesInWords(roles: readonly string[]): string {
  if (roles.includes('PUBLIC')) return 'none; the call needs no token';
  const names = roles.map((role) => `\`${role}\``);
  return names.length === 1 ? names.join() : `any of ${names.join(', ')}`;
}

function repeatingInWords(idempotent: boolean | 'key'): string {
  if (idempotent === 'key') return 'safe with the same `Idempotency-Key`';
  return idempotent ? 'safe' : 'not safe, as it may be done twice';
}
