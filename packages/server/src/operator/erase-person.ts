import { type RawBuilder, sql } from 'kysely';
import { contact, contactInfo } from '../modules/contacts/index.ts';
import { staff } from '../modules/staff/index.ts';
import { actAsMover } from '../platform/store/databases/index.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import { plannedForValues, type Transaction } from '../platform/store/session.ts';
import { type TenantTable, tenantTables } from './copies/index.ts';
import { storeOfTenant } from './databases/index.ts';
import type { Operator } from './operator.ts';
import { asOperator, tenantNamed } from './tenants.ts';

export interface ErasureRequest {
  readonly tenant: string;
  readonly type: 'Contact' | 'Staff';
  /** The ID of the person, or a reference of the firm. */
  readonly ref: string;
}

export interface Erasure {
  readonly id: string;
  /** Rows by table in which something was replaced, beside those of the person. */
  readonly rows: Readonly<Record<string, number>>;
  /** Records of types that the tenant defines, which mention the person. The firm decides about them. */
  readonly customRecords: number;
  /** Files that the person uploaded. They are the client's, and are kept. */
  readonly files: number;
}

const erasedName = 'Erased';
const noAddress = { line1: null, line2: null, city: null, state: null, postalCode: null, country: null };

/** What takes the place of what is known of a person, by field. All other texts of these types identify nobody. */
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

/** Rows about others, who can have the same address or telephone number. */
const parties = ['client', 'contact', 'contact_info', 'staff', 'office', 'org'];
const partyTypes = ['Client', 'Contact', 'ContactInfo', 'Staff', 'Office', 'Org'];
/** Names of rows in other systems, and rows whose indexed values the service derives. */
const leftAlone = [...parties, 'entity_ref', 'custom_record', 'custom_record_value', 'custom_record_type'];

/**
 * Replaces names, addresses, telephone numbers and email addresses of a contact or a staff member: in their rows, and wherever else the
 * database repeats them, such as in events, the audit log, stored responses and texts. Amounts, IDs and references stay as they are. It can be
 * repeated.
 *
 * @throws Error with a sentence if the tenant or the person does not exist.
 */
export async function erasePerson(operator: Operator, { tenant: name, type, ref }: ErasureRequest): Promise<Erasure> {
  const { service } = operator;
  const tenant = await tenantNamed(operator, name);
  const person = await service.store.read(tenant.id, (session) =>
    session.first<{ id: string; infos: string[] }>(sql`
      select id, array(select id from contact_info where tenant_id = ${tenant.id} and owner_id = person.id) as infos
      from ${sql.table(type === 'Contact' ? 'contact' : 'staff')} person where tenant_id = ${tenant.id}
        and ${ref} in (id::text, system_ref, pms_ref ${type === 'Staff' ? sql`, staff_ref` : sql``})`),
  );
  if (person === undefined) throw new Error(`The tenant ${name} has no ${type} with the ID or reference ${ref}.`);
  const { id, infos } = person;
  await asOperator(service, tenant, 'person erase', (unit) =>
    unit.plan((plan) => {
      if (type === 'Contact') plan.update(contact, id, replacements.Contact);
      else plan.update(staff, id, { ...replacements.Staff, email: emailOf(id) });
      for (const info of infos) plan.update(contactInfo, info, replacements.ContactInfo);
    }),
  );
  const store = await storeOfTenant(operator, tenant.name);
  return store.system(async (transaction) => {
    await actAsMover(transaction, tenant.id);
    await transaction.all(sql`set local idle_in_transaction_session_timeout = 0`);
    const found = await new Eraser(transaction, tenant.id, id, infos).run();
    const details = { type, id, ...found };
    await recordOperatorAct(transaction, { operation: 'person erase', subject: name, details });
    return { id, ...found };
  });
}

/** An address that no domain can have (RFC 2606). */
function emailOf(id: string): string {
  return `${id}@erased.invalid`;
}

/** The fields of all three types, as they are in documents. */
const fields: Readonly<Record<string, unknown>> = {
  ...replacements.ContactInfo,
  ...noAddress,
  ...replacements.Contact,
};

interface FoundDocument {
  readonly rowId: string;
  readonly document: string;
  readonly entityType: string | null;
  readonly entityId: string | null;
}

/** Replaces what other rows of a tenant repeat of a person, in one transaction. */
class Eraser {
  readonly #transaction: Transaction;
  readonly #tenantId: number;
  readonly #id: string;
  readonly #ids: ReadonlySet<string>;
  /** Texts that identify the person, now or in the past. */
  #texts: readonly string[] = [];

  constructor(transaction: Transaction, tenantId: number, id: string, infos: readonly string[]) {
    this.#transaction = transaction;
    this.#tenantId = tenantId;
    this.#id = id;
    this.#ids = new Set([id, ...infos]);
  }

  async run(): Promise<Omit<Erasure, 'id'>> {
    this.#texts = await this.#knownTexts();
    const rows: Record<string, number> = {};
    for (const table of await tenantTables(this.#transaction)) {
      const changed = (await this.#eraseDocuments(table)) + (await this.#eraseTexts(table));
      if (changed > 0) rows[table.name] = changed;
    }
    const count = async (query: RawBuilder<unknown>) =>
      (await this.#transaction.first<{ rows: number }>(sql`select count(*)::integer as rows from ${query}`))?.rows ?? 0;
    return {
      rows,
      customRecords: await count(
        sql`custom_record where tenant_id = ${this.#tenantId} and attributes::text like any(${this.#patterns(JSON.stringify)})`,
      ),
      files: await count(sql`file where tenant_id = ${this.#tenantId} and uploaded_by_id = ${this.#id}`),
    };
  }

  /** Reads them from the audit log and the events of the person, which have every earlier value. */
  async #knownTexts(): Promise<readonly string[]> {
    const documents = await this.#transaction.all<{ document: Record<string, unknown> }>(sql`
      select document from audit_log, unnest(array[before, after]) document
        where tenant_id = ${this.#tenantId} and entity_id = any(${[...this.#ids]}) and document is not null
      union all
      select data from recorded_event where tenant_id = ${this.#tenantId} and entity_id = any(${[...this.#ids]})`);
    const found = new Set<string>();
    for (const { document } of documents) {
      const one = { ...document, ...Object(document.address) };
      for (const field of ['displayName', 'email', 'phone', 'mobile', 'fax', 'website', 'line1'])
        found.add(String(one[field]));
      found.add(`${one.firstName} ${one.lastName}`);
    }
    // A word alone can be a word of any text.
    return [...found]
      .filter((text) => /\S[\s@.:+]\S|^\+\d+$/.test(text) && !/undefined|null|@erased\.invalid/.test(text))
      .sort((one, other) => other.length - one.length);
  }

  async #eraseDocuments({ name, columns }: TenantTable): Promise<number> {
    if (leftAlone.includes(name)) return 0;
    const has = (column: string) => columns.some((one) => one.name === column);
    let changed = 0;
    for (const { name: column, type } of columns) {
      if (!/^jsonb?$/.test(type) || column === 'sys_refs') continue;
      const found = await this.#transaction.all<FoundDocument>(
        plannedForValues(sql`
          select tableoid::text || ' ' || ctid::text as "rowId", ${sql.ref(column)}::text as document,
            ${has('entity_type') ? sql`entity_type` : sql`null`} as "entityType", ${has('entity_id') ? sql`entity_id` : sql`null`} as "entityId"
          from ${sql.table(name)} where tenant_id = ${this.#tenantId} and (${sql.ref(column)}::text like any(${this.#patterns(JSON.stringify)})
            ${has('entity_id') ? sql`or entity_id = any(${[...this.#ids]})` : sql``}) for update`),
      );
      const erased = found.flatMap(({ rowId, document, entityType, entityId }) => {
        const isOfPerson = entityId !== null && this.#ids.has(entityId);
        const isParty = partyTypes.includes(entityType ?? '');
        const after = JSON.stringify(this.#erased(JSON.parse(document), isOfPerson, !isParty || isOfPerson));
        return after === JSON.stringify(JSON.parse(document)) ? [] : [{ rowId, document: after }];
      });
      changed += erased.length;
      if (erased.length > 0)
        await this.#transaction.all(sql`
          update ${sql.table(name)} t set ${sql.ref(column)} = r.document::${sql.raw(type)}
          from json_to_recordset(${JSON.stringify(erased)}::json) as r ("rowId" text, document text)
          where t.tableoid::text || ' ' || t.ctid::text = r."rowId" and t.tenant_id = ${this.#tenantId}`);
    }
    return changed;
  }

  /** @param isOfPerson whether a document is a version of a row of the person. @param inTexts whether texts are replaced anywhere in it */
  #erased(document: unknown, isOfPerson: boolean, inTexts: boolean): unknown {
    if (typeof document === 'string') return inTexts ? this.#erasedText(document) : document;
    if (Array.isArray(document)) return document.map((one) => this.#erased(one, false, inTexts));
    if (typeof document !== 'object' || document === null) return document;
    const isPerson =
      isOfPerson || ['id', 'contactId', 'staffId'].some((key) => this.#ids.has(Reflect.get(document, key)));
    return Object.fromEntries(
      Object.entries(document).map(([key, value]) => {
        if (!isPerson || value === null || !Object.hasOwn(fields, key))
          return [key, this.#erased(value, false, inTexts)];
        return [key, key === 'email' ? emailOf(this.#id) : fields[key]];
      }),
    );
  }

  #erasedText(text: string): string {
    return this.#texts.reduce((rest, one) => rest.replaceAll(one, this.#replacementOf(one)), text);
  }

  async #eraseTexts({ name, columns, key }: TenantTable): Promise<number> {
    const texts = columns.filter(({ name: column, type }) => /^text(\[\])?$/.test(type) && !key.includes(column));
    if (leftAlone.includes(name) || texts.length === 0 || this.#texts.length === 0) return 0;
    const erased = ({ name: column, type }: TenantTable['columns'][number]) =>
      sql`(${this.#texts.reduce(
        (rest, one) => sql`replace(${rest}, ${one}, ${this.#replacementOf(one)})`,
        sql`${sql.ref(column)}::text`,
      )})::${sql.raw(type)}`;
    const [row] = await this.#transaction.all<{ rows: number }>(
      plannedForValues(sql`
        with changed as (
          update ${sql.table(name)} set ${sql.join(texts.map((column) => sql`${sql.ref(column.name)} = ${erased(column)}`))}
          where tenant_id = ${this.#tenantId} and (${sql.join(
            texts.map((column) => sql`${sql.ref(column.name)}::text like any(${this.#patterns(String)})`),
            sql` or `,
          )}) returning 1)
        select count(*)::integer as rows from changed`),
    );
    return row?.rows ?? 0;
  }

  #replacementOf(text: string): string {
    return text.includes('@') ? emailOf(this.#id) : erasedName;
  }

  #patterns(written: (text: string) => string): string[] {
    const quoted = [this.#id, ...this.#texts].map((text) => written(text).replace(/^"|"$/g, ''));
    return quoted.map((text) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`);
  }
}
