import { type Command, Option } from 'commander';
import { connect } from '../connect.ts';
import { BridgeError } from '../errors.ts';
import { exportJournal } from '../export/journal.ts';
import { exportStatements } from '../export/statements.ts';

interface Period {
  readonly from: string;
  readonly to: string;
}

export function addExport(program: Command, signal: AbortSignal): void {
  const command = program.command('export').summary('write the journal, or statements of account');
  withPeriod(command.command('journal'))
    .description(
      'Writes the double entries of a period as a CSV file for the accountant, and says whether they balance.',
    )
    .requiredOption('--file <file>', 'CSV file to write')
    .action(async ({ file, ...period }: Period & { file: string }) => {
      const { rows, sums } = await exportJournal(connect(process.env), { ...checked(period), path: file, signal });
      if (rows === 0)
        return console.log(`There are no entries from ${period.from} to ${period.to}. No file is written.`);
      console.log(`${rows.toLocaleString('en')} entries from ${period.from} to ${period.to} are in ${file}.`);
      for (const [currency, { debit, credit }] of sums) {
        const balance = debit.eq(credit) ? 'they balance' : `they differ by ${debit.minus(credit).toFixed(2)}`;
        console.log(`  ${currency}: debit ${debit.toFixed(2)}, credit ${credit.toFixed(2)}; ${balance}`);
        if (!debit.eq(credit)) process.exitCode = 1;
      }
    });
  withPeriod(command.command('statements'))
    .description(
      'Writes a statement of account for each client that owes something or has credit. Files that are there already are kept.',
    )
    .requiredOption('--folder <folder>', 'folder for the files')
    .addOption(new Option('--format <format>', 'format of the files').choices(['pdf', 'csv']).default('pdf'))
    .option('--client <number>', 'only this client')
    .action(async (options: Period & { folder: string; format: 'pdf' | 'csv'; client?: string }) => {
      const { folder, format, client } = options;
      const api = connect(process.env, { statementFormat: format });
      const onFile = (name: string) => console.log(`  ${name}`);
      const { written, present } = await exportStatements(
        api,
        { ...checked(options), folder, format, client, signal },
        onFile,
      );
      console.log(`${written} statements are written to ${folder}.`);
      if (present > 0) console.log(`${present} were there already. Delete them to write them anew.`);
    });
}

function withPeriod(command: Command): Command {
  return command
    .requiredOption('--from <day>', 'first day, such as 2026-01-01')
    .requiredOption('--to <day>', 'last day');
}

function checked({ from, to }: Period): Period {
  for (const day of [from, to])
    if (!/^\d{4}-\d\d-\d\d$/.test(day)) throw new BridgeError(`“${day}” is not a day such as 2026-01-31.`);
  if (from > to) throw new BridgeError('--from is after --to.');
  return { from, to };
}
