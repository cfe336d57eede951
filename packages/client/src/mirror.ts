import { mirrored } from '@financial-automation/spec';
import type { Client } from './client.ts';
import { isProblem, orThrow, ProblemError } from './problem.ts';
import type { Input, Row, Schema } from './types.ts';

type Mirrored = typeof mirrored;
/** The entity types that can be mirrored: those that have events, and an operation that returns all rows. */
export type MirrorType = keyof Mirrored;

/** A row as its read returns it. */
export type MirroredRow<Type extends MirrorType> = Type extends MirrorType
  ? { type: Type; id: string; version: number; data: Row<Mirrored[Type][0]> }
  : never;

/** What a store applies in one transaction. */
export interface MirrorBatch<Type extends MirrorType> {
  /** Whether to remove all rows first: the first batch of a full read. */
  reset: boolean;
  /** Rows to insert or replace, unless the stored `version` is higher. */
  rows: MirroredRow<Type>[];
  /** Rows to remove: those that are not active any more. */
  deleted: { type: Type; id: string }[];
  /** Where the mirror continues after this batch. Store it as it is. */
  position: string;
}

/** Where the rows are kept: a database, a file, a search index. */
export interface MirrorStore<Type extends MirrorType> {
  /** Returns the `position` of the last batch that was applied; undefined before the first one. */
  position(): string | undefined | Promise<string | undefined>;
  /** Applies a batch, all of it or nothing. If it throws, the mirror stops, and continues here when it runs again. */
  apply(batch: MirrorBatch<Type>): void | Promise<void>;
}

export interface MirrorOptions<Type extends MirrorType> {
  types: readonly Type[];
  store: MirrorStore<Type>;
  /**
   * Which payments to mirror, if `types` has them; all of them require the role `PYMT_EVNT_ALL`. Default: `allPayments`.
   * `ownPaymentLinksOnly` also requires `PAYLNK_C`, which reads the links.
   */
  filterExpression?: NonNullable<Input<'listEvents'>['query']>['filterExpression'];
}

/** What a run of {@link mirror} did. */
export interface MirrorRun {
  /** Whether it read all rows: the first time, after other `types`, or because events are no longer kept. */
  readAll: boolean;
  /** Number of rows that it passed to the store. */
  rows: number;
  deleted: number;
}

/** Where a mirror continues: after an event, and during a full read at a page of a type. */
interface Position {
  types: string[];
  /** Of the caller, and what else decides on the events that the list leaves out. */
  roles: string;
  after: string;
  reading?: { type: string; cursor?: string };
}

const pageSize = 1000;

/**
 * Brings a copy of the active rows up to date: all the first time and after the roles of the API user changed, then what changed. Run it
 * again as often as you like, one run at a time. A run that was interrupted continues at the last batch that the store applied.
 *
 * @throws ProblemError if a request fails
 */
export async function mirror<Type extends MirrorType>(api: Client, options: MirrorOptions<Type>): Promise<MirrorRun> {
  const { types, store } = options;
  const names: readonly string[] = types;
  const run = { readAll: false, rows: 0, deleted: 0 };
  const filter = names.includes('Payment')
    ? { filterExpression: options.filterExpression ?? ('allPayments' as const) }
    : {};
  const apply = async ({
    reset = false,
    rows = [],
    deleted = [],
    ...to
  }: Partial<MirrorBatch<Type>> & { to: Position }) => {
    await store.apply({ reset, rows, deleted, position: JSON.stringify(to.to) });
    run.rows += rows.length;
    run.deleted += deleted.length;
  };

  const readRoles = async () => {
    const { roles, tenant } = await orThrow(api.getMe());
    const isSilent = names.includes('WipEntry') && !tenant.wipEvents;
    const { filterExpression: chosen = 'allPayments' } = filter;
    return [...roles, ...(isSilent ? ['no wipEvents'] : []), ...(chosen === 'allPayments' ? [] : [chosen])].join();
  };

  /** Returns whether a row has events: later changes of other payments would not be in the copy. */
  const followed = async (type: Type): Promise<(row: unknown) => boolean> => {
    const { filterExpression: chosen = 'allPayments' } = type === 'Payment' ? filter : {};
    if (chosen === 'allPayments') return () => true;
    if (chosen === 'paymentLinkOnly') return (row) => (row as Schema<'Payment'>).source === 'QUICK_PAYMENT_LINK';
    const where = { createdByApiUserId: { _eq: (await orThrow(api.getMe())).id } };
    const links = new Set<string | null>();
    for await (const { id } of api.searchQuickPaymentLinks.rows({ body: { where } })) links.add(id);
    return (row) => links.has((row as Schema<'Payment'>).quickPaymentLinkId);
  };

  /** What changes during the full read is in the events after its beginning. */
  const begin = async (roles: string): Promise<Position> => {
    run.readAll = true;
    let after: string | undefined;
    // A type whose events are off, or that the roles do not include, is rejected here, before rows are removed.
    for (const entityType of types) {
      const isFiltered = entityType === 'Payment' ? filter : {};
      const query = { entityType, after: 'latest', pageSize: 1, ...isFiltered };
      const { nextCursor } = await orThrow(api.listEvents({ query }));
      after ??= nextCursor;
      await pagesOf(api, entityType, { pageSize: 1 })[Symbol.asyncIterator]().next();
    }
    const [type] = types;
    if (after === undefined || type === undefined) throw new TypeError('`types` is empty.');
    const position = { types: [...types], roles, after, reading: { type } };
    await apply({ reset: true, to: position });
    return position;
  };

  const readAll = async ({ reading, ...start }: Position): Promise<Position> => {
    let cursor = reading?.cursor;
    for (const type of types.slice(names.indexOf(reading?.type ?? ''))) {
      const isFollowed = await followed(type);
      for await (const page of pagesOf(api, type, cursor === undefined ? {} : { cursor })) {
        const next = page.nextCursor === null ? undefined : { type, cursor: page.nextCursor };
        const { rows } = changesOf(type, page.data.filter(isFollowed));
        await apply({ rows, to: { ...start, reading: next ?? { type } } });
      }
      cursor = undefined;
    }
    await apply({ to: start });
    return start;
  };

  /** Returns whether the roles are the same at the end of each page: otherwise events may be missing in it. */
  const follow = async ({ after, ...start }: Position): Promise<boolean> => {
    const [only] = types.length === 1 ? types : [];
    const query = { after, pageSize, ...filter, ...(only !== undefined && { entityType: only }) };
    for await (const page of api.listEvents.pages({ query })) {
      // Of several events of a row in the page, the last one counts.
      const latest = new Map(page.data.map((event) => [event.entityId, event]));
      const changed = [...latest.values()].filter(({ entityType }) => names.includes(entityType));
      const rows: MirroredRow<Type>[] = [];
      const deleted: { type: Type; id: string }[] = [];
      for (const type of types) {
        const [, isWhole] = mirrored[type];
        const add = (data: readonly unknown[]) => {
          const changes = changesOf(type, data);
          rows.push(...changes.rows);
          deleted.push(...changes.deleted);
        };
        const ofType = changed.filter((event) => event.entityType === type);
        const present = ofType.filter((event) => event.operation !== 'DELETE');
        for (const { entityId, operation } of ofType) if (operation === 'DELETE') deleted.push({ type, id: entityId });
        if (isWhole) add(present.map((event) => event.data));
        else if (present.length > 0) {
          const where = { id: { _in: present.map((event) => event.entityId) } };
          for await (const found of pagesOf(api, type, { where })) add(found.data);
        }
      }
      if ((await readRoles()) !== start.roles) return false;
      await apply({ rows, deleted, to: { ...start, after: page.nextCursor } });
    }
    return true;
  };

  const stored = await store.position();
  let position: Position | undefined = stored === undefined ? undefined : JSON.parse(stored);
  // Rows of a type that is new were never read.
  if (position?.types.join() !== types.join()) position = undefined;
  for (;;) {
    try {
      const roles = await readRoles();
      if (position?.roles !== roles) position = await begin(roles);
      if (position.reading !== undefined) position = await readAll(position);
      if (await follow(position)) return run;
    } catch (error) {
      const problem = error instanceof ProblemError ? error.problem : undefined;
      // Meanwhile nothing is recorded: the copy lacks it, also when the type has events again.
      const isSilent = problem?.errors?.some(({ code }) => code === 'EVENT_NOT_ENABLED') === true;
      if (isSilent && position !== undefined) await apply({ to: { ...position, roles: '' } });
      const isLost = isProblem(problem, 'EVENTS_EXPIRED') || isProblem(problem, 'INVALID_CURSOR');
      if (!isLost || run.readAll) throw error;
      position = undefined;
    }
  }
}

interface AnyPage {
  data: unknown[];
  nextCursor: string | null;
}

/** The operations of all types have the same paging; TypeScript cannot call one of a union. */
function pagesOf(api: Client, type: MirrorType, body: object): AsyncIterable<AnyPage> {
  const pages = api[mirrored[type][0]].pages as (input: { body: object }) => AsyncIterable<AnyPage>;
  return pages({ body: { pageSize, ...body } });
}

/** Deletion is soft: reads return the row, and it can have further events. */
function changesOf<Type extends MirrorType>(type: Type, data: readonly unknown[]) {
  const rows = data as readonly Schema<'Client'>[];
  const present = rows.filter(({ active }) => active);
  return {
    rows: present.map((row) => ({ type, id: row.id, version: row.version, data: row }) as unknown as MirroredRow<Type>),
    deleted: rows.filter(({ active }) => !active).map(({ id }) => ({ type, id })),
  };
}
