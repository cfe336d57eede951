/** Imports a file: reads all of it first, so that nothing is stored of a file that is read wrong, and then writes it part by part. */
import type { Client } from '../../../client/src/index.ts';
import { BridgeError, RowError } from '../errors.ts';
import { CsvWriter } from '../files/csv.ts';
import { openTable, type Table } from '../files/table.ts';
import type { Notation } from '../files/values.ts';
import { orgOf } from '../org.ts';
import { Directory } from './directory.ts';
import type { Form } from './form.ts';
import { type AnyRecord, hashOf, type ImportOptions, type PlanContext, type Planned, type RecordPlan } from './plan.ts';
import { recordPlans } from './records/index.ts';
import { Row } from './row.ts';
import { type Counts, Writer, type Written } from './writer.ts';

export interface ImportFile {
  readonly path: string;
  readonly form: Form;
  /** `systemRef` of the org that the user names. */
  readonly org: string | undefined;
  readonly notation: Notation;
  readonly options: ImportOptions;
  readonly encoding?: string | undefined;
  /** Where rows that failed are written, in the form of the file. */
  readonly failedPath: string;
}

export interface ImportResult {
  readonly rows: number;
  readonly documents: number;
  readonly counts: Counts;
  readonly failedRows: number;
  /** Rows of totals, headings and notes. */
  readonly leftOut: number;
  /** The first failures, for people. */
  readonly failures: readonly { readonly line: number; readonly reason: string }[];
}

type Rows = [Row, ...Row[]];
const reasonColumn = 'Reason';
/** What one call has at most: documents, rows, and characters of the file, because a body has at most 1 MiB. */
const maxDocuments = 100;
const maxRows = 1_000;
const maxCharacters = 200_000;
const maxShown = 10;

export async function importFile(
  api: Client,
  { path, form, org: named, notation, options, encoding, failedPath }: ImportFile,
  { apply, signal, onRows }: { apply: boolean; signal: AbortSignal; onRows: (rows: number, of: number) => void },
): Promise<ImportResult> {
  const plan: RecordPlan<string> = recordPlans[form.records];
  const required = [
    ...plan.required.filter((field) => form.constants?.[field] === undefined),
    ...(form.required ?? []),
  ];
  const table = await openTable(path, form.columns, required, encoding);
  const rowsInAll = await checkAll(table, form, plan, notation, options);

  const org = await orgOf(api, named, signal);
  // Files of several orgs can have the same numbers and names. The first org keeps the keys from when it was the only one.
  const ofOrg = org === undefined || org.isFirst ? form : { ...form, system: `${form.system}@${org.systemRef}` };
  const directory = new Directory(api, ofOrg, org?.id);
  const writer = new Writer(api, apply, signal);
  const failed = new CsvWriter(failedPath, table.delimiter);
  const kept = table.header.at(-1) === reasonColumn ? table.header.length - 1 : table.header.length;
  const failures: { line: number; reason: string }[] = [];
  const keys = new Set<number>();
  const context = contextOf(ofOrg, { ...options, orgId: org?.id }, directory, countIn(new Map()));
  let rows = 0;
  let documents = 0;
  let leftOut = 0;
  const fail = async (parts: Rows, reason: string) => {
    if (failures.length < maxShown) failures.push({ line: parts[0].line, reason });
    for (const { cells } of parts) {
      const own = Array.from({ length: kept }, (_, index) => cells[index] ?? '');
      await failed.write([...table.header.slice(0, kept), reasonColumn], [...own, reason]);
    }
  };

  try {
    for await (const part of partsOf(table, ofOrg, plan, notation, () => (leftOut += 1))) {
      await loadReferences(directory, ofOrg, plan, part);
      const planned: { rows: Rows; planned: Planned }[] = [];
      for (const own of part) {
        documents += 1;
        rows += own.length;
        try {
          const one = plan.plan(own, context);
          rejectTwice(one.record, keys);
          checkWidth(own, table);
          planned.push({ rows: own, planned: one });
        } catch (error) {
          if (!(error instanceof RowError)) throw error;
          await fail(own, error.message);
        }
      }
      const written: Written[] = await writer.write(planned.map((one) => one.planned));
      for (const [index, { reason }] of written.entries()) {
        const own = planned[index]?.rows;
        if (reason !== undefined && own !== undefined) await fail(own, reason);
      }
      onRows(rows, rowsInAll);
    }
    await failed.close();
  } catch (error) {
    await failed.discard();
    throw error;
  }
  return { rows, documents, counts: writer.counts, failedRows: failed.rows, leftOut, failures };
}

/** Reads all values without the service. @returns the number of rows */
async function checkAll(
  table: Table,
  form: Form,
  plan: RecordPlan<string>,
  notation: Notation,
  options: ImportOptions,
): Promise<number> {
  const anything = { idOf: () => '00000000-0000-7000-8000-000000000000', exists: () => true };
  const context = contextOf(form, options, anything, () => 1);
  let rows = 0;
  for await (const part of partsOf(table, form, plan, notation))
    for (const own of part) {
      rows += own.length;
      try {
        const { after } = plan.plan(own, context);
        if (form.records === 'invoices' && after === undefined && options.paidOn === undefined && own[0].has('paid'))
          checkPaid(own[0]);
      } catch (error) {
        if (!(error instanceof RowError)) throw error;
      }
    }
  return rows;
}

function checkPaid(row: Row): void {
  if (row.decimal('paid')?.gt(0) !== true) return;
  throw new BridgeError(
    `The file says how much of each invoice is paid (${row.nameOf('paid')}), but not when. Add --paid-on with a day, such as --paid-on 2026-06-30, or with due-date, invoice-date or none.`,
  );
}

function contextOf(
  form: Form,
  options: ImportOptions,
  rows: Pick<PlanContext, 'idOf' | 'exists'>,
  ordinalOf: PlanContext['ordinalOf'],
): PlanContext {
  return { form, options, idOf: (...key) => rows.idOf(...key), exists: (...key) => rows.exists(...key), ordinalOf };
}

function countIn(seen: Map<string, number>): (content: string) => number {
  return (content) => {
    const count = (seen.get(content) ?? 0) + 1;
    seen.set(content, count);
    return count;
  };
}

/** A second document with the key of an earlier one would replace it. */
function rejectTwice({ type, systemRef }: AnyRecord, keys: Set<number>): void {
  // As numbers of 48 bits, the keys of a large file take little memory.
  const key = Number.parseInt(hashOf(`${type}:${systemRef}`).slice(0, 12), 16);
  if (!keys.has(key)) {
    keys.add(key);
    return;
  }
  throw new RowError(
    'An earlier row has the same key. Rows of one document must be together: sort the file, or remove the row.',
  );
}

function checkWidth(rows: Rows, { header }: Table): void {
  const wrong = rows.find(({ cells }) => cells.length > header.length);
  if (wrong === undefined) return;
  throw new RowError(
    `The row has ${wrong.cells.length} cells instead of ${header.length}. A quotation mark may be missing.`,
  );
}

async function loadReferences(
  directory: Directory,
  form: Form,
  plan: RecordPlan<string>,
  part: readonly Rows[],
): Promise<void> {
  for (const [field, kind] of Object.entries(plan.references)) {
    if (kind === undefined) continue;
    const keys = part.flatMap((rows) =>
      rows.flatMap((row) => (plan.keyOf === undefined ? row.key(field) : plan.keyOf(row, field, form)) ?? []),
    );
    await directory.load(kind, keys);
  }
}

/** Documents in parts of the size of a call. */
async function* partsOf(
  table: Table,
  form: Form,
  plan: RecordPlan<string>,
  notation: Notation,
  onLeftOut?: () => void,
): AsyncGenerator<Rows[]> {
  let part: Rows[] = [];
  let rows = 0;
  let characters = 0;
  let document: string | undefined;
  for await (const read of table.rows()) {
    const row = new Row(form, table, notation, read);
    if (plan.required.every((field) => !row.has(field)) && isTotalOrNote(read.cells)) {
      onLeftOut?.();
      continue;
    }
    const key = plan.documentOf?.(row);
    const last = part.at(-1);
    rows += 1;
    characters += read.cells.reduce((sum, cell) => sum + cell.length, 0);
    if (last !== undefined && key !== undefined && key === document) {
      last.push(row);
      continue;
    }
    document = key;
    if (part.length >= maxDocuments || rows > maxRows || characters > maxCharacters) {
      yield part;
      part = [];
      rows = 1;
      characters = 0;
    }
    part.push([row]);
  }
  if (part.length > 0) yield part;
}

/** Totals have numbers beside their name, headings and notes nothing. Any other row is one that lacks something. */
function isTotalOrNote(cells: readonly string[]): boolean {
  const [, ...others] = cells.filter((cell) => cell !== '');
  return others.every((cell) => /\d/.test(cell) && /^[\p{Sc}\d\s.,:'’%()+-]+$/u.test(cell));
}
