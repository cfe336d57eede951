import { createHash } from 'node:crypto';

/**
 * A strong entity tag (RFC 9110) of a row as a response shows it: a digest of what the caller sees, then the version. What the
 * caller sees can change without a new version: names of other rows, values that depend on the day, fields that require a role.
 * `If-Match` compares the version alone.
 */
export function entityTag(row: { readonly version: number }): string {
  const digest = createHash('sha256').update(JSON.stringify(row)).digest('hex').slice(0, 16);
  return `"${digest}-${row.version}"`;
}
