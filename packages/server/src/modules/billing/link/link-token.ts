import { createHash, randomBytes } from 'node:crypto';

/** Returns the URL of a new link. Its 24 random bytes cannot be guessed. */
export function newLinkUrl(publicUrl: string): string {
  return `${publicUrl}/pay/${randomBytes(24).toString('base64url')}`;
}

/** The hash by which the database finds a link: a search for the token itself would leak by its timing. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
