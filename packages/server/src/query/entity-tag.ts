import { hash } from 'node:crypto';
import { serialize } from '../http/serialized.ts';

/**
 * Returns the strong entity tag (RFC 9110) of a row: a digest of the returned values, then the version. The values can
 * change without a new version: names of other rows, values that depend on the day, fields that require a role.
 * `If-Match` only compares the version.
 */
export function entityTag(row: { readonly version: number }): string {
  const digest = hash('sha256', serialize(row), 'hex').slice(0, 16);
  return `"${digest}-${row.version}"`;
}
