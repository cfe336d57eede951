import { createHash } from 'node:crypto';
import type { Schema } from '../../../client/src/index.ts';
import { RowError } from '../errors.ts';
import type { Form } from './form.ts';
import type { Row } from './row.ts';

export type AnyRecord = Schema<'StandardRecordUpsert'> | Schema<'TimeEntryUpsert'>;
export type ReferenceKind = 'client' | 'job' | 'staff' | 'staffType' | 'invoice';

/** What becomes of one row, or of the rows of one document. */
export interface Planned {
  readonly record: AnyRecord;
  /** A record that this one refers to, and that the file has no row for. It is written once. */
  readonly before?: AnyRecord | undefined;
  /** Records that need its ID. */
  readonly after?: ((id: string) => AnyRecord) | undefined;
}

export interface ImportOptions {
  /** The org that the file is of; undefined if the firm has only one. */
  readonly orgId?: string | undefined;
  /** Day of the payments that invoices say they have received: a day, that of the invoice, or none. */
  readonly paidOn?: string | undefined;
  /** Status of time that has none in the file. */
  readonly timeStatus?: 'DRAFT' | 'SUBMITTED' | 'APPROVED' | undefined;
}

export interface PlanContext {
  readonly form: Form;
  readonly options: ImportOptions;
  /** @throws RowError if there is no such row */
  idOf(kind: ReferenceKind, key: string): string;
  exists(kind: ReferenceKind, key: string): boolean;
  /** Number of the record among those with the same content, starting at 1. */
  ordinalOf(content: string): number;
}

/** How rows become records of one kind. */
export interface RecordPlan<Field extends string> {
  readonly fields: readonly Field[];
  /** Fields that the file must have a column for. */
  readonly required: readonly Field[];
  readonly references: Readonly<Partial<Record<Field, ReferenceKind>>>;
  /** The key of another row in a field, if the field does not have it as it is. */
  keyOf?(row: Row<Field>, field: Field, form: Form): string | undefined;
  /** Consecutive rows with the same key are one document. */
  documentOf?(row: Row<Field>): string | undefined;
  /** @throws RowError */
  plan(rows: readonly [Row<Field>, ...Row<Field>[]], context: PlanContext): Planned;
}

/** Lets the compiler find the fields in the list. */
export function recordPlan<const Field extends string>(plan: RecordPlan<Field>): RecordPlan<Field> {
  return plan;
}

/** The key of a record: the same whenever the row is imported. */
export function systemRefOf({ system: ofOrg }: Pick<Form, 'system'>, kind: string, key: string): string {
  // Staff can work for several orgs.
  const [system] = kind === 'staff' ? ofOrg.split('@') : [ofOrg];
  const ref = `${system}:${kind}:${key}`;
  return ref.length <= 255 ? ref : `${system}:${kind}:${hashOf(key)}`;
}

/** The key of a record that has none in its system: of its content, and of its place among those with the same content. */
export function contentRef(context: PlanContext, kind: string, day: string, content: readonly string[]): string {
  const hash = hashOf(JSON.stringify(content));
  const ordinal = context.ordinalOf(`${kind}:${hash}`);
  return systemRefOf(context.form, kind, `${day}:${hash}${ordinal === 1 ? '' : `:${ordinal}`}`);
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}

type Given<Fields> = { [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name] } & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** Leaves out what the file does not have. */
export function given<Fields extends object>(fields: Fields): Given<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Given<Fields>;
}

/** Rejects a name that no field can have, such as one of only spaces. */
export function keyFrom<Field extends string>(row: Row<Field>, ...fields: readonly Field[]): string {
  const field = fields.find((one) => row.has(one));
  const key = field === undefined ? undefined : row.key(field);
  if (key === undefined) throw new RowError(`${row.nameOf(fields[0] as Field)} is missing.`);
  return key;
}
