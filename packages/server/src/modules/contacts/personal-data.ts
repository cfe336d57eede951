import { isDeepStrictEqual } from 'node:util';
import { type RawBuilder, sql } from 'kysely';
import { plannedForValues, type Session } from '../../platform/store/session.ts';
import { type TenantTable, tenantTables } from '../../platform/store/tenant-tables.ts';
import { findById } from '../../query/read.ts';
import { staff } from '../staff/index.ts';
import { contact } from './contact.ts';
import { contactInfo } from './contact-info.ts';

const erasedName = 'Erased';
const noAddress = { line1: null, line2: null, city: null, state: null, postalCode: null, country: null };

/**
 * What is known of a person, by field, and what takes its place when they are erased. All other texts of these types identify nobody. An
 * export has what an erasure replaces.
 */
export const replacements = {
  Contact: {
    firstName: null,
    middleName: null,
    lastName: erasedName,
    displayName: erasedName,
    salutation: null,
    title: null,
    email: null,
    phone: null,
    mobile: null,
    metadata: {},
  },
  ContactInfo: { email: null, phone: null, mobile: null, fax: null, website: null, address: noAddress, metadata: {} },
  Staff: { firstName: erasedName, lastName: erasedName, phone: null, title: null, metadata: {} },
} as const;

/** An address that no domain can have (RFC 2606). */
export function erasedEmail(id: string): string {
  return `${id}@erased.invalid`;
}

/** The fields of all three types, as they are in documents. */
const fields: Readonly<Record<string, unknown>> = {
  ...replacements.ContactInfo,
  ...noAddress,
  ...replacements.Contact,
};

/** Rows about others, who can have the same address or telephone number. */
const partyTypes = ['Client', 'Contact', 'ContactInfo', 'Staff', 'Office', 'Org'];
const partyTables = ['client', 'contact', 'contact_info', 'staff', 'office', 'org'];
/** Names of rows in other systems, and rows whose indexed values the service derives. */
const notSearched = [...partyTables, 'entity_ref', 'custom_record_value', 'custom_record_type'];
/** Records of types that a firm defines: it decides about them. */
export const customRecords = 'custom_record';

/** A table in which persons are searched, and the columns that can have texts about them. */
export interface SearchedTable extends TenantTable {
  readonly texts: readonly string[];
  readonly documents: readonly string[];
}

/** All tables in which a person can be mentioned, beside those of persons and other parties. */
export async function searchedTables(session: Pick<Session, 'all'>): Promise<readonly SearchedTable[]> {
  const tables = await tenantTables(session);
  return tables.flatMap((table) => {
    const columns = table.columns.filter(({ name }) => !table.key.includes(name) && name !== 'sys_refs');
    const texts = columns.flatMap(({ name, type }) => (/^text(\[\])?$/.test(type) ? [name] : []));
    const documents = columns.flatMap(({ name, type }) => (/^jsonb?$/.test(type) ? [name] : []));
    return notSearched.includes(table.name) || texts.length + documents.length === 0
      ? []
      : [{ ...table, texts, documents }];
  });
}

/** A row that can mention a person: the texts and documents of its columns. */
export interface FoundRow {
  /** The values of the key, as a list in JSON. */
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly entityType: string | null;
  readonly entityId: string | null;
  readonly uploadedById: string | null;
}

/** Called with each value that identifies the person, and its place in the row. */
type Note = (field: string, value: unknown) => void;

/** A contact or a staff member, and what identifies them, now or in the past. */
export class Person {
  readonly id: string;
  /** Their rows, as the API returns them, by type. */
  readonly rows: readonly { readonly type: string; readonly row: { readonly id: string } }[];
  readonly #tenantId: number;
  readonly #ids: ReadonlySet<string>;
  readonly #texts: readonly string[];
  /** What takes the place of each of the texts. */
  readonly #replaced: readonly (readonly [whole: RegExp, after: string])[];

  private constructor(tenantId: number, id: string, rows: Person['rows'], documents: readonly object[]) {
    this.#tenantId = tenantId;
    this.id = id;
    this.rows = rows;
    this.#ids = new Set(rows.map(({ row }) => row.id));
    this.#texts = textsOf([...rows.map(({ row }) => row), ...documents]);
    this.#replaced = this.#texts.map((one) => [wholeText(one), one.includes('@') ? erasedEmail(id) : erasedName]);
  }

  /** Returns the contact or staff member with the ID, or undefined. */
  static async find(session: Pick<Session, 'all' | 'first' | 'clockOffset'>, tenantId: number, id: string) {
    const reader = { tenantId, holds: () => true };
    const contactRow = await findById(session, reader, contact, id);
    const row = contactRow ?? (await findById(session, reader, staff, id));
    if (row === undefined) return undefined;
    const infos = await session.all<{ id: string }>(sql`
      select id from contact_info where tenant_id = ${tenantId} and owner_contact_id = ${id} order by id`);
    const rows: { type: string; row: { id: string } }[] = [{ type: contactRow ? 'Contact' : 'Staff', row }];
    for (const info of infos) {
      const found = await findById(session, reader, contactInfo, info.id);
      if (found !== undefined) rows.push({ type: 'ContactInfo', row: found });
    }
    // The audit log and the events have every earlier value.
    const ofPerson = sql`tenant_id = ${tenantId} and entity_type in ('Contact', 'ContactInfo', 'Staff')
      and entity_id = any(${rows.map((one) => one.row.id)})`;
    const documents = await session.all<{ document: object }>(sql`
      select document from audit_log, unnest(array[before, after]) document where ${ofPerson} and document is not null
      union all select data from recorded_event where ${ofPerson}`);
    const all = documents.map(({ document }) => document);
    return new Person(tenantId, id, rows, all);
  }

  /**
   * Returns the next rows of a table that can mention the person, of at most `limit` rows of the tenant.
   *
   * @param after the key of the last row before them; undefined to start
   * @returns the number of rows that were searched, and the key of the last one; undefined after the last row of all
   */
  async searchRows(
    session: Pick<Session, 'all' | 'first'>,
    table: SearchedTable,
    after: string | undefined,
    { limit, isForUpdate = false }: { limit: number; isForUpdate?: boolean },
  ): Promise<{ readonly rows: readonly FoundRow[]; readonly searched: number; readonly last: string | undefined }> {
    const { name, key, columns } = table;
    const keys = sql.join(key.map((column) => sql.ref(column)));
    const keyText = sql`json_build_array(${keys})::text`;
    const beyond = (position: string | undefined, comparison: string) =>
      position === undefined || key.length === 0
        ? sql``
        : sql`and (${keys}) ${sql.raw(comparison)} (${sql.join(keyValues(table, sql`${position}::text`))})`;
    const searched = sql`${sql.table(name)} where tenant_id = ${this.#tenantId} ${beyond(after, '>')}`;
    const chunk = await session.first<{ key: string; searched: number }>(
      plannedForValues(sql`
        select ${keyText} as key, place::integer as searched
        from (select ${key.length === 0 ? sql`1` : keys}, row_number() over (order by ${keys}) as place from ${searched} order by ${keys} limit ${sql.lit(limit)}) rows
        order by place desc limit 1`),
    );
    if (chunk === undefined) return { rows: [], searched: 0, last: undefined };
    const has = (column: string) => columns.some((one) => one.name === column);
    const shown = (column: string) => (has(column) ? sql.ref(column) : sql`null::text`);
    const mentions = [
      ...table.documents.map((column) => this.#isIn(sql`${sql.ref(column)}::text`, JSON.stringify)),
      ...table.texts.map((column) => this.#isIn(sql`${sql.ref(column)}::text`, String)),
      ...['entity_id', 'uploaded_by_id'].filter(has).map((column) => sql`${sql.ref(column)} = any(${[...this.#ids]})`),
    ];
    const rows = await session.all<Omit<FoundRow, 'values'> & { values: string }>(
      plannedForValues(sql`
        select ${keyText} as key, ${shown('entity_type')} as "entityType", ${shown('entity_id')} as "entityId", ${shown('uploaded_by_id')} as "uploadedById",
          (select row_to_json(r)::text from (select ${sql.join([...table.texts, ...table.documents].map((column) => sql.ref(column)))}) r) as "values"
        from ${searched} ${beyond(chunk.key, '<=')} and (${sql.join(mentions, sql` or `)})
        order by ${keys} ${isForUpdate ? sql`for update` : sql``}`),
    );
    return {
      rows: rows.map((row) => ({ ...row, values: JSON.parse(row.values) })),
      searched: chunk.searched,
      last: chunk.searched < limit ? undefined : chunk.key,
    };
  }

  /** Returns the columns of a row in which something identifies the person, without it. */
  erasedColumns({ texts }: SearchedTable, row: FoundRow, note: Note = () => {}): Record<string, unknown> {
    const isOfPerson = row.entityId !== null && this.#ids.has(row.entityId);
    // A row about another party keeps its own address, and loses copies of the person.
    const isParty = partyTypes.includes(row.entityType ?? '') && !isOfPerson;
    const changed = Object.entries(row.values).flatMap(([column, value]) => {
      const inTexts = texts.includes(column) || !isParty;
      const after = this.#erased(value, { isOfPerson, inTexts, field: column, note });
      return isDeepStrictEqual(after, value) ? [] : [[column, after]];
    });
    return Object.fromEntries(changed);
  }

  /** Notes what identifies the person in their own row. */
  noteOwn(row: object, note: Note): void {
    this.#erased(row, { isOfPerson: true, inTexts: true, field: '', note });
  }

  /** Whether a file was uploaded by the person. */
  uploaded({ uploadedById }: FoundRow): boolean {
    return uploadedById === this.id;
  }

  #erased(
    value: unknown,
    about: { readonly isOfPerson: boolean; readonly inTexts: boolean; readonly field: string; readonly note: Note },
  ): unknown {
    const { inTexts, field, note } = about;
    const replaced = (after: unknown) => {
      if (after !== value) note(field, value);
      return after;
    };
    if (typeof value === 'string') return inTexts ? replaced(this.#erasedText(value)) : value;
    const inside = (key: string | number, one: unknown) =>
      this.#erased(one, { ...about, isOfPerson: false, field: field === '' ? `${key}` : `${field}/${key}` });
    if (Array.isArray(value)) return value.map((one, index) => inside(index, one));
    if (typeof value !== 'object' || value === null) return value;
    const isPerson =
      about.isOfPerson || ['id', 'contactId', 'staffId'].some((key) => this.#ids.has(Reflect.get(value, key)));
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => {
        if (!isPerson || one === null || !Object.hasOwn(fields, key)) return [key, inside(key, one)];
        const after = key === 'email' ? erasedEmail(this.id) : fields[key];
        if (!isDeepStrictEqual(after, one)) note(field === '' ? key : `${field}/${key}`, one);
        return [key, after];
      }),
    );
  }

  #erasedText(text: string): string {
    return this.#replaced.reduce((rest, [whole, after]) => rest.replaceAll(whole, after), text);
  }

  /** SQL of whether a text has something that identifies the person: an email address in any case, as people write it. */
  #isIn(text: RawBuilder<unknown>, written: (text: string) => string): RawBuilder<unknown> {
    const patterns = [this.id, ...this.#texts].map(
      (one) =>
        `%${written(one)
          .replace(/^"|"$/g, '')
          .replaceAll(/[\\%_]/g, '\\$&')}%`,
    );
    const emails = patterns.filter((one) => one.includes('@')).map((one) => one.toLowerCase());
    return sql`(${text} like any(${patterns}) or lower(${text} collate "C") like any(${emails}))`;
  }
}

/** A pattern of a text that is no part of a longer name, number or address; an email address in any case. */
function wholeText(text: string): RegExp {
  const literal = text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return text.includes('@')
    ? new RegExp(`(?<![\\p{L}\\p{N}._%+-])${literal}(?!\\.?[\\p{L}\\p{N}-])`, 'giu')
    : new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu');
}

/** The values of a key in the order of its columns, from their list in JSON. */
export function keyValues({ columns, key }: TenantTable, list: ReturnType<typeof sql>) {
  const typeOf = (column: string) => columns.find(({ name }) => name === column)?.type ?? 'bigint';
  return key.map((column, index) => sql`(${list}::json ->> ${sql.lit(index)})::${sql.raw(typeOf(column))}`);
}

/** Texts of rows of a person that identify them: a word alone can be a word of any text. */
function textsOf(rows: readonly object[]): readonly string[] {
  const found = new Set<string>();
  for (const row of rows) {
    const one: Record<string, unknown> = { ...row, ...Object(Reflect.get(row, 'address')) };
    for (const field of ['displayName', 'email', 'phone', 'mobile', 'fax', 'website', 'line1'])
      found.add(String(one[field]));
    found.add(`${one.firstName} ${one.lastName}`);
  }
  return [...found]
    .filter((text) => /\S[\s@.:+]\S|^\+\d+$/.test(text) && !/undefined|null|@erased\.invalid/.test(text))
    .sort((one, other) => other.length - one.length);
}
