import type { Choice } from '../contract/choices.ts';
import type { CsvFile } from '../contract/csv.ts';
import { Rejection } from '../contract/rejection.ts';
import type { Context } from '../entity/context.ts';
import type { Entity } from '../entity/entity.ts';
import type { EntityType, StoredRow } from '../entity/row.ts';
import { aggregateReader } from './aggregate.ts';
import type { AggregateRequest } from './aggregate-request.ts';
import { groupsFile, rowsFile } from './csv-files.ts';
import { entityTag } from './entity-tag.ts';
import type { Page, PageRequest, PageScope, Reader } from './page.ts';
import { findById, pageReader } from './read.ts';

/**
 * Creates the handler of a list or a search of an entity's rows.
 *
 * @param list the operation whose cursors it accepts and returns, if it is the same list by another method.
 */
export function pageOf<Type extends EntityType>(entity: Entity<Type>, list?: string) {
  return async (
    context: Context,
    input: { readonly body?: unknown; readonly query?: unknown },
  ): Promise<{ readonly status: 200; readonly body: Page<StoredRow<Type>> }> => {
    const own = pageScope(context);
    const scope = list === undefined ? own : { ...own, name: list };
    // The contract gives every such operation one of the two page requests.
    const request = input[scope.location] as PageRequest;
    const { run, isCostly } = pageReader(scope, entity, request);
    return { status: 200, body: await context.read(run, isCostly) };
  };
}

/** Creates the handler of a search, which returns a page or a file. */
export function searchOf<Type extends EntityType>(entity: Entity<Type>) {
  const page = pageOf(entity);
  return async (
    context: Context,
    input: { readonly body: PageRequest & Choice; readonly query: { readonly format?: string } },
  ): Promise<{ readonly status: 200; readonly body: Page<StoredRow<Type>> | CsvFile }> =>
    input.query.format === 'csv'
      ? { status: 200, body: await rowsFile(context, pageScope(context), entity, input.body) }
      : page(context, input);
}

/** Creates the handler of an aggregate of an entity's rows. Each keeps a processor of the database busy. */
export function aggregateOf<Type extends EntityType>(entity: Entity<Type>) {
  return async (
    context: Context,
    { body, query }: { readonly body: AggregateRequest; readonly query: { readonly format?: string } },
  ) => {
    const scope = { ...readerOf(context), vault: context.service.vault, name: context.operation.id };
    if (query.format === 'csv')
      return { status: 200 as const, body: await context.read(groupsFile(scope, entity, body), true) };
    return { status: 200 as const, body: await context.read(aggregateReader(scope, entity, body), true) };
  };
}

/** Creates the handler of a read by ID, with the `ETag` of the row. */
export function byId<Type extends EntityType>(entity: Entity<Type>) {
  return async (context: Context, { path }: { readonly path: { readonly id: string } }) => {
    const row = await context.read((session) => findById(session, readerOf(context), entity, path.id));
    if (row === undefined) throw new Rejection('NOT_FOUND', `Your tenant has no ${entity.type} with this ID.`);
    return { status: 200 as const, body: row, headers: { ETag: entityTag(row) } };
  };
}

export function readerOf({ tenant, holds }: Context): Reader {
  return { tenantId: tenant.id, holds };
}

/**
 * The scope of the requested page.
 *
 * @param filter what filters the list in addition to its `where`.
 */
export function pageScope(context: Context, filter?: unknown): PageScope {
  const { operation, service } = context;
  return {
    ...readerOf(context),
    vault: service.vault,
    name: filter === undefined ? operation.id : `${operation.id}/${JSON.stringify(filter)}`,
    paging: operation.paging === 'number' ? 'number' : 'offset',
    location: operation.method === 'GET' ? 'query' : 'body',
  };
}
