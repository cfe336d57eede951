import { type Command, Option } from 'commander';
import { connect } from '../connect.ts';
import { BridgeError } from '../errors.ts';
import { DocumentFolder } from '../export/folder.ts';
import { exportInvoices, type InvoiceFormat, invoiceFormats } from '../export/invoices.ts';
import { exportJournal } from '../export/journal.ts';
import { exportStatements } from '../export/statements.ts';
import { isDay } from '../files/values.ts';
import { orgOf } from '../org.ts';
import { counted, progress } from './options.ts';

interface Period {
  readonly from: string;
  readonly to: string;
}

export function addExport(program: Command, signal: AbortSignal): void {
  const command = program.command('export').summary('write the journal, statements of account, or electronic invoices');
  withPeriod(command.command('journal'))
    .description(
      'Writes the double entries of a period as a CSV file for the accountant, and says whether they balance.',
    )
    .requiredOption('--file <file>', 'CSV file to write')
    .option('--org <systemRef>', 'org whose journal it is; required if the firm has several')
    .action(async ({ file, org, ...period }: Period & { file: string; org?: string }) => {
      const days = checked(period);
      const api = connect(process.env);
      const orgId = (await orgOf(api, org, signal))?.id;
      const { show, clear } = progress('Written', 'entries');
      const { rows, sums } = await exportJournal(api, { ...days, orgId, path: file, signal, onRows: show }).finally(
        clear,
      );
      if (rows === 0)
        return console.log(`There are no entries from ${period.from} to ${period.to}. No file is written.`);
      console.log(`${counted(rows, 'entry', 'entries')} from ${period.from} to ${period.to} in ${file}.`);
      for (const [currency, { debit, credit }] of sums) {
        const balance = debit.eq(credit) ? 'they balance' : `they differ by ${debit.minus(credit).toFixed(2)}`;
        console.log(`  ${currency}: debit ${debit.toFixed(2)}, credit ${credit.toFixed(2)}; ${balance}`);
        if (!debit.eq(credit)) process.exitCode = 1;
      }
    });
  withFolder(command.command('statements'), ['pdf', 'csv'], 'pdf')
    .description(
      'Writes a statement of account for each client that owes something or has credit. Files that are there already are kept.',
    )
    .action(async (options: FolderOptions & { format: 'pdf' | 'csv' }) => {
      const { client, format } = options;
      const folder = await DocumentFolder.open(options.folder, onFile);
      const api = connect(process.env, { statementFormat: format });
      await exportStatements(api, folder, { ...checked(options), client, format, signal });
      report(folder, 'statement');
    });
  withFolder(command.command('invoices'), invoiceFormats)
    .description(
      'Writes the invoices and credit notes of a period as electronic invoices or PDF. Files that are there already are kept; what an invoice lacks is in a CSV file.',
    )
    .action(async (options: FolderOptions & { format: InvoiceFormat }) => {
      const { client, format } = options;
      const folder = await DocumentFolder.open(options.folder, onFile);
      const period = checked(options);
      const result = await exportInvoices(connect(process.env), folder, { ...period, client, format, signal });
      report(folder, 'document');
      if (result.incomplete === 0) return;
      console.log(`${counted(result.incomplete, 'invoice')} without what the format requires: see ${result.failed}.`);
      process.exitCode = 1;
    });
}

interface FolderOptions extends Period {
  readonly folder: string;
  readonly client?: string;
}

function onFile(name: string): void {
  console.log(`  ${name}`);
}

function report({ written, present, path }: DocumentFolder, noun: string): void {
  console.log(`${counted(written, noun)} written to ${path}.`);
  if (present > 0) console.log(`${counted(present, noun)} there already. Delete them to write them anew.`);
}

function withFolder(command: Command, formats: readonly string[], standard?: string): Command {
  const format = new Option('--format <format>', 'format of the files').choices(formats);
  return withPeriod(command)
    .requiredOption('--folder <folder>', 'folder for the files')
    .addOption(standard === undefined ? format.makeOptionMandatory() : format.default(standard))
    .option('--client <number>', 'only this client');
}

function withPeriod(command: Command): Command {
  return command
    .requiredOption('--from <day>', 'first day, such as 2026-01-01')
    .requiredOption('--to <day>', 'last day');
}

function checked({ from, to }: Period): Period {
  for (const day of [from, to]) if (!isDay(day)) throw new BridgeError(`“${day}” is not a day such as 2026-01-31.`);
  if (from > to) throw new BridgeError('--from is after --to.');
  return { from, to };
}
