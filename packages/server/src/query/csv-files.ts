/** Rows and figures as files for spreadsheets: all that match, where a page has some. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Choice } from '../contract/choices.ts';
import { contract } from '../contract/contract.ts';
import { type CsvCell, CsvFile, maxFileBytes } from '../contract/csv.ts';
import { type Field, membersOf } from '../contract/fields.ts';
import { invalid } from '../contract/problem.ts';
import type { Context } from '../entity/context.ts';
import type { AnyEntity } from '../entity/entity.ts';
import type { Session } from '../platform/store/session.ts';
import { aggregateReader } from './aggregate.ts';
import type { AggregateRequest } from './aggregate-request.ts';
import type { PageRequest, PageScope } from './page.ts';
import { anyPageReader } from './read.ts';
import { withRelated } from './related-rows.ts';

const maxFileRows = contract['x-row-limits'].file;

/** Pages end before, where they have as many bytes as a page may have. Some rows are derived anew for each page, so there are few. */
const pageSize = 10_000;
/** Rows that are written in one go. */
const rowsPerStep = 1_000;

type Row = Readonly<Record<string, unknown>>;

interface Column {
  readonly name: string;
  readonly of: (row: Row) => unknown;
}

/** Reads all rows that match a search. Each page is a read of its own, with the time of one, and waits for its turn. */
export function rowsFile(
  context: Context,
  scope: PageScope,
  entity: AnyEntity,
  request: PageRequest & Choice,
): Promise<CsvFile> {
  const { fields, with: related = [], where, orderBy } = request;
  const chosen = fields === undefined ? entity.shown : shownAs(entity, ['id', ...fields]);
  const columns = [
    ...chosen.flatMap((field) => columnsOf(field)),
    ...related.map(
      (name): Column => ({ name: `${name}.name`, of: (row) => memberOf(memberOf(row.with, name), 'name') }),
    ),
  ];
  return fileOf(`${entity.type}.csv`, columns, (cursor) =>
    context.read(async (session) => {
      const asked = {
        pageSize,
        ...(where && { where }),
        ...(orderBy && { orderBy }),
        ...(cursor !== undefined && { cursor }),
      };
      const { data, nextCursor } = await anyPageReader(scope, entity, asked).run(session);
      if (related.length === 0) return { data, nextCursor };
      const named = await withRelated(session, scope, context.operation, related, { data });
      return { data: 'data' in named && Array.isArray(named.data) ? named.data : data, nextCursor };
    }, true),
  );
}

/** Creates the read of all groups of an aggregate. */
export function groupsFile(
  scope: Parameters<typeof aggregateReader>[0],
  entity: AnyEntity,
  { cursor: _, ...request }: AggregateRequest,
) {
  const { groupBy = [], measures, with: related = [] } = request;
  const columns = [
    ...groupBy.map(({ column }): Column => ({ name: column, of: (row) => memberOf(row.key, column) })),
    ...related.map((name): Column => ({ name, of: (row) => memberOf(row.with, name) })),
    ...Object.keys(measures).map((name): Column => ({ name, of: (row) => memberOf(row.values, name) })),
  ];
  return (session: Session) =>
    fileOf(`${entity.type} groups.csv`, columns, async (cursor) => {
      const asked = { ...request, pageSize: maxFileRows + 1, ...(cursor !== undefined && { cursor }) };
      const { data, nextCursor } = await aggregateReader(scope, entity, asked)(session);
      return { data: data.map((row) => ({ ...row })), nextCursor };
    });
}

/** Written step by step, so that other requests have their turn meanwhile. */
async function fileOf(
  name: string,
  columns: readonly Column[],
  read: (cursor: string | undefined) => Promise<{ readonly data: readonly Row[]; readonly nextCursor: string | null }>,
): Promise<CsvFile> {
  const file = new CsvFile(name, [columns.map((column) => column.name)]);
  let count = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { data, nextCursor } = await read(cursor);
    for (let first = 0; first < data.length; first += rowsPerStep) {
      if (first > 0) await nextTurn();
      file.add(data.slice(first, first + rowsPerStep).map((row) => columns.map(({ of }) => cellOf(of(row)))));
    }
    count += data.length;
    cursor = nextCursor;
    if (count > maxFileRows || file.length > maxFileBytes)
      throw invalid(
        '/where',
        'OUT_OF_RANGE',
        `A file has at most ${maxFileRows} rows and ${maxFileBytes / 1_000_000} MB. Choose fewer rows or fields, or read pages as JSON.`,
      );
  }
  return file;
}

function shownAs(entity: AnyEntity, names: readonly string[]): Field[] {
  return [...new Set(names)].flatMap((name) => entity.shown.filter((field) => field.name === name));
}

/** An object has a column for each member; lists, and what is deeper, are JSON in one cell. */
function columnsOf(field: Field): Column[] {
  const members = field.kind === 'object' ? membersOf(field) : [];
  if (members.length === 0) return [{ name: field.name, of: (row) => row[field.name] }];
  return members.map(({ name }) => ({
    name: `${field.name}.${name}`,
    of: (row) => memberOf(row[field.name], name),
  }));
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function cellOf(value: unknown): CsvCell {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
