import { createHash } from 'node:crypto';
import { Rejection } from '../contract/rejection.ts';
import type { Vault } from '../platform/auth/vault.ts';

/** The position after which a list continues: the values of the last row in the keys of the order. */
export interface CursorPosition {
  readonly values: readonly unknown[];
  /** Number of rows before, for the `page` of the response. */
  readonly offset: number;
}

/** The query that a cursor belongs to: it is rejected with any other query. */
export interface CursorScope {
  readonly operation: string;
  readonly tenantId: number;
  readonly where: unknown;
  readonly orderBy: unknown;
}

const purpose = 'cursor';

/** Creates a cursor: readable, but signed, because its content is used in a query. */
export function writeCursor(vault: Vault, query: CursorScope, position: CursorPosition): string {
  const content = Buffer.from(JSON.stringify([position.values, position.offset])).toString('base64url');
  return `${content}.${vault.sign(purpose, `${fingerprint(query)}.${content}`)}`;
}

/**
 * @param location where the cursor is in the request.
 * @param name the name of the property or parameter.
 * @throws Rejection `INVALID_CURSOR` if it was not created by this service, or for another query or tenant.
 */
export function readCursor(
  vault: Vault,
  query: CursorScope,
  cursor: string,
  location: 'body' | 'query',
  name = 'cursor',
): CursorPosition {
  const [content = '', signature = ''] = cursor.split('.');
  if (!vault.verify(purpose, `${fingerprint(query)}.${content}`, signature)) {
    throw new Rejection(
      'INVALID_CURSOR',
      'The cursor is invalid or belongs to another query. Start from the first page.',
      {
        errors: [
          {
            in: location,
            pointer: `/${name}`,
            code: 'INVALID_CURSOR',
            detail: 'Send it with the same filter and order.',
          },
        ],
      },
    );
  }
  const [values, offset]: [unknown[], number] = JSON.parse(Buffer.from(content, 'base64url').toString());
  return { values, offset };
}

function fingerprint({ operation, tenantId, where, orderBy }: CursorScope): string {
  const text = JSON.stringify([operation, tenantId, where ?? null, orderBy ?? null]);
  return createHash('sha256').update(text).digest('base64url');
}
