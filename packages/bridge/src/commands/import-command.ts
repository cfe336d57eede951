import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { bankFields } from '../bank/csv.ts';
import { connect } from '../connect.ts';
import { BridgeError } from '../errors.ts';
import { isDay } from '../files/values.ts';
import { type Form, type RecordKind, readMapping, recordKinds } from '../import/form.ts';
import { forms } from '../import/forms.ts';
import type { ImportOptions } from '../import/plan.ts';
import { recordPlans } from '../import/records/index.ts';
import { type ImportResult, importFile } from '../import/run.ts';
import { addFileOptions, counted, type FileOptions, failedPathOf, figures, progress } from './options.ts';

interface Options extends FileOptions {
  readonly mapping?: string;
  readonly org?: string;
  readonly paidOn?: string;
  readonly timeAs?: string;
}

const known: Readonly<Record<string, Form>> = forms;
const fieldsOf = {
  clients: recordPlans.clients.fields,
  jobs: recordPlans.jobs.fields,
  staff: recordPlans.staff.fields,
  time: recordPlans.time.fields,
  invoices: recordPlans.invoices.fields,
  payments: recordPlans.payments.fields,
} satisfies Record<RecordKind, readonly string[]>;
const mappable = [...recordKinds, 'bank'] as const;
const mapped = 'mapped';
const days = ['due-date', 'invoice-date', 'none'];

export function addImport(program: Command, signal: AbortSignal): void {
  const command = program
    .command('import')
    .summary('import an export of another system')
    .description(
      `Imports a CSV file. Without --apply it only says what would be stored. Forms:\n\n${formsText()}\n\n  ${mapped.padEnd(22)} any other CSV file, whose columns --mapping describes`,
    )
    .argument('<form>', 'form of the file, such as xero-invoices')
    .argument('<file>', 'CSV file');
  addFileOptions(command)
    .option('--mapping <file>', 'description of the columns; “fa-bridge mapping clients” prints one to edit')
    .option('--org <systemRef>', 'org that the file is of; required if the firm has several')
    .option('--calling-code <digits>', 'country of phone numbers that have none, such as 1; “none” leaves them out')
    .option('--paid-on <day>', `day of payments that invoices mention: a day such as 2026-06-30, ${days.join(', ')}`)
    .addOption(
      new Option('--time-as <status>', 'status of time without one').choices(['draft', 'submitted', 'approved']),
    )
    .action((form: string, file: string, options: Options) => run(form, file, options, signal));

  program
    .command('mapping')
    .summary('print a mapping to edit, for files of other systems')
    .description(
      'Prints a mapping with all fields of a kind of record. Name your columns in it, and remove the fields that you do not have.',
    )
    .argument('<records>', mappable.join(', '))
    .action((records: string) => console.log(JSON.stringify(mappingOf(records), undefined, 2)));
}

async function run(name: string, path: string, options: Options, signal: AbortSignal): Promise<void> {
  const form = await formOf(name, options);
  const { show, clear } = progress(options.apply === true ? 'Stored' : 'Checked', 'rows');
  const failedPath = failedPathOf(path, options);
  const { encoding, mapping: _, org, ...notation } = options;
  const file = { path, form, org, notation, options: importOptions(options), encoding, failedPath };
  const result = await importFile(connect(process.env), file, {
    apply: options.apply === true,
    signal,
    onRows: show,
  }).finally(clear);
  for (const line of summary(basename(path), failedPath, options.apply === true, result)) console.log(line);
  if (result.failedRows > 0) process.exitCode = 1;
}

async function formOf(name: string, { mapping }: Options): Promise<Form> {
  if (name === mapped) {
    if (mapping === undefined)
      throw new BridgeError(
        'Add --mapping with a file that describes the columns. “fa-bridge mapping clients” prints one to edit.',
      );
    return readMapping(mapping, fieldsOf);
  }
  const form = known[name];
  if (form === undefined)
    throw new BridgeError(`There is no form “${name}”. Forms are ${[...Object.keys(known), mapped].join(', ')}.`);
  if (mapping !== undefined) throw new BridgeError(`--mapping is for the form “${mapped}”.`);
  return form;
}

function importOptions({ paidOn, timeAs }: Options): ImportOptions {
  if (paidOn !== undefined && !days.includes(paidOn) && !isDay(paidOn))
    throw new BridgeError(`--paid-on must be a day such as 2026-06-30, or ${days.join(', ')}.`);
  const timeStatus = (['DRAFT', 'SUBMITTED', 'APPROVED'] as const).find((status) => status.toLowerCase() === timeAs);
  return { paidOn, timeStatus };
}

function summary(
  file: string,
  failedPath: string,
  apply: boolean,
  { rows, documents, counts, failedRows, leftOut, failures }: ImportResult,
): string[] {
  const read = `${counted(rows, 'row')}${documents === rows ? '' : `, ${counted(documents, 'document')}`}`;
  if (rows === 0) return [`${file} has no rows. Nothing is stored.`];
  const lines = [
    apply ? `${file}: ${read}.` : `Dry run of ${file}: ${read}. Nothing is stored.`,
    '',
    ...figures([
      [apply ? 'created' : 'would be created', counts.created],
      [apply ? 'updated' : 'would be updated', counts.updated],
      ['unchanged', counts.unchanged],
      ['checked with --apply', counts.unchecked],
      ['rows that failed', failedRows],
      ['totals and notes left out', leftOut],
    ]),
  ];
  if (failedRows > 0) {
    lines.push('', ...failures.map(({ line, reason }) => `  line ${line}: ${reason}`));
    lines.push(
      '',
      `All of them are in ${failedPath}, with the reason in the last column. Correct them there, and import that file.`,
    );
  }
  if (!apply) lines.push('', failedRows === rows ? 'No row can be stored.' : 'Add --apply to store it.');
  return lines;
}

function formsText(): string {
  return Object.entries(known)
    .map(([name, { records }]) => `  ${name.padEnd(22)} ${records}`)
    .join('\n');
}

function mappingOf(records: string) {
  const kind = mappable.find((one) => one === records);
  if (kind === undefined)
    throw new BridgeError(`There are no mappings of “${records}”, only of ${mappable.join(', ')}.`);
  const { fields, required }: { fields: readonly string[]; required: readonly string[] } =
    kind === 'bank' ? { fields: bankFields, required: ['date'] } : recordPlans[kind];
  const columns = Object.fromEntries(
    fields.map((field) => [field, `${required.includes(field) ? '' : 'optional: '}name of the column`]),
  );
  return { records: kind, system: 'practice', columns, values: {}, constants: {} };
}
