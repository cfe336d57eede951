import type { components } from '@financial-automation/spec';
import { contract } from '../../contract/contract.ts';
import { standardPageSizeOf } from '../../contract/parameters.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { type CursorPosition, readCursor, writeCursor } from '../../query/cursor.ts';
import { Person, type SearchedTable, searchedTables } from './personal-data.ts';

type Item = components['schemas']['PersonalDataItem'];

const standardPageSize = standardPageSizeOf('getPersonalData');
/** How many rows of a table one statement searches, and a page in all: the next one continues there. */
const rowsAtOnce = 5_000;
const maxRows = 20_000;

/** Returns the values that identify a person, wherever they are stored. */
export const getPersonalData: Handler<'getPersonalData'> = ({ read, tenant, service, operation }, { path, query }) =>
  read(async (session) => {
    const person = await Person.find(session, tenant.id, path.id);
    if (person === undefined)
      throw new Rejection('NOT_FOUND', 'Your tenant has no contact or staff member with this ID.');
    const scope = { operation: operation.id, tenantId: tenant.id, where: path.id, orderBy: null };
    const { cursor, pageSize = standardPageSize } = query;
    const start = cursor === undefined ? undefined : readCursor(service.vault, scope, cursor, 'query');
    const page = new PersonalDataPage(pageSize);
    const next = await page.fill(person, await searchedTables(session), start, session);
    const nextCursor = next === undefined ? null : writeCursor(service.vault, scope, next);
    return { status: 200, body: { data: page.data, hasMore: next !== undefined, nextCursor } };
  }, true);

/** The items of a page. A position is a source, the key of the last row that was searched there, and the items taken of the next row. */
class PersonalDataPage {
  readonly data: Item[] = [];
  readonly #pageSize: number;
  #searched = 0;
  #bytes = 0;

  constructor(pageSize: number) {
    this.#pageSize = pageSize;
  }

  /** @returns where the next page starts; undefined after the last item */
  async fill(
    person: Person,
    tables: readonly SearchedTable[],
    start: CursorPosition | undefined,
    session: Parameters<Person['searchRows']>[0],
  ): Promise<CursorPosition | undefined> {
    const [source, key] = (start?.values ?? []).map(String);
    let skipped = start?.offset ?? 0;
    if (source === undefined) {
      const own = person.rows.flatMap(({ type, row }) => itemsOf(type, row.id, (note) => person.noteOwn(row, note)));
      const taken = this.#add(own, skipped);
      if (taken !== undefined) return { values: [], offset: taken };
      skipped = 0;
    }
    const first = Math.max(
      0,
      tables.findIndex(({ name }) => name === source),
    );
    for (const [index, table] of tables.slice(first).entries()) {
      let after = index === 0 ? key : undefined;
      do {
        const { rows, last, searched } = await person.searchRows(session, table, after, { limit: rowsAtOnce });
        for (const row of rows) {
          const items = itemsOf(table.name, JSON.parse(row.key).join('/'), (note) => {
            person.erasedColumns(table, row, note);
            if (person.uploaded(row)) note('file_name', row.values.file_name);
          });
          const taken = this.#add(items, skipped);
          if (taken !== undefined)
            return { values: [table.name, ...(after === undefined ? [] : [after])], offset: taken };
          skipped = 0;
          after = row.key;
        }
        after = last;
        this.#searched += searched;
        if (after !== undefined && this.#searched >= maxRows) return { values: [table.name, after], offset: 0 };
      } while (after !== undefined);
      const following = tables[first + index + 1];
      if (following !== undefined && this.#searched >= maxRows) return { values: [following.name], offset: 0 };
    }
    return undefined;
  }

  /** Adds items while there is space. @returns how many of them are before the one that did not fit; undefined if all did */
  #add(items: readonly Item[], skipped: number): number | undefined {
    for (const [index, item] of items.entries()) {
      if (index < skipped) continue;
      if (this.data.length === this.#pageSize || this.#bytes >= contract['x-page-bytes']) return index;
      this.data.push(item);
      this.#bytes += Buffer.byteLength(item.value);
    }
    return undefined;
  }
}

function itemsOf(source: string, row: string, find: (note: (field: string, value: unknown) => void) => void): Item[] {
  const found = new Map<string, Item>();
  find((field, value) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    found.set(field, { source, row, field, value: text });
  });
  return [...found.values()];
}
