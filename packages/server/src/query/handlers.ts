import type { Context } from '../context.ts';
import type { OperationId, Result } from '../contract/handler.ts';
import type { Entity } from '../entity/entity.ts';
import { Problem } from '../http/problem.ts';
import { findById, type Page, type PageRequest, readPage } from './read.ts';

/**
 * The handler of a list or a search. It returns rows as the database gives them: that they are what the contract says is
 * checked where answers are validated, which the compiler cannot do for columns that are read from the contract.
 */
export function pageOf<Id extends OperationId>(entity: Entity) {
  return async (
    context: Context,
    input: { readonly body?: unknown; readonly query?: unknown },
  ): Promise<Result<Id>> => {
    const place = context.operation.method === 'GET' ? 'query' : 'body';
    const request = input[place] as PageRequest;
    const scope = {
      tenantId: context.tenant.id,
      vault: context.service.vault,
      name: context.operation.id,
      place,
    } as const;
    return pageResult<Id>(await context.read((session) => readPage(session, scope, entity, request)));
  };
}

/** A page as the result of a list. */
export function pageResult<Id extends OperationId>(page: Page): Result<Id> {
  return { status: 200, body: page } as unknown as Result<Id>;
}

/** The handler of a read by id, with the version of the row as `ETag`. */
export function byId<Id extends OperationId>(entity: Entity) {
  return async (context: Context, input: { readonly path: { readonly id: string } }): Promise<Result<Id>> => {
    const row = await context.read((session) => findById(session, context.tenant.id, entity, input.path.id));
    if (row === undefined) throw new Problem('NOT_FOUND', 'There is nothing with this id in your tenant.');
    return { status: 200, body: row, headers: { ETag: etag(row.version) } } as unknown as Result<Id>;
  };
}

/** A strong entity tag (RFC 9110) of a row's version. */
export function etag(version: number): string {
  return `"${version}"`;
}
