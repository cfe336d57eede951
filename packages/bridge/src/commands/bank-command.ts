import { basename } from 'node:path';
import type { Command } from 'commander';
import { bankFields, bankForm } from '../bank/csv.ts';
import { openStatement } from '../bank/read.ts';
import { type BankCounts, isUnknown, proposedText, type Receipt, recordPayments } from '../bank/run.ts';
import { connect } from '../connect.ts';
import { BridgeError } from '../errors.ts';
import { readMapping } from '../import/form.ts';
import { orgOf } from '../org.ts';
import { addFileOptions, type FileOptions, failedPathOf, figures, progress } from './options.ts';

interface Options extends FileOptions {
  readonly mapping?: string;
  readonly account?: string;
  readonly currency?: string;
  readonly org?: string;
  readonly minScore?: string;
  readonly ignoreBalance?: boolean;
  readonly suspense?: boolean;
}

export function addBank(program: Command, signal: AbortSignal): void {
  const command = program
    .command('bank')
    .summary('record payments from a bank statement')
    .description(
      'Matches the money that came in to open invoices, and proposes payments with a score from 0 to 100. With --apply it records those of at least --min-score.\nReads OFX, CAMT.053, MT940, BAI2 and CSV files.',
    )
    .argument('<file>', 'bank statement');
  addFileOptions(command)
    .option('--min-score <score>', 'least score of a proposal that is recorded, such as 90')
    .option('--suspense', 'also record what matches no open invoice: as payments of unknown payers, in suspense')
    .option('--account <number>', 'account, if the file has several, or does not name it')
    .option('--currency <code>', 'currency of the account, if the file does not say it, or the account has several')
    .option('--org <systemRef>', 'org that the account belongs to; required if the firm has several')
    .option('--ignore-balance', 'read a file whose balances do not add up')
    .option('--mapping <file>', 'description of the columns of a CSV file: records “bank”')
    .action((path: string, options: Options) => run(path, options, signal));
}

async function run(path: string, options: Options, signal: AbortSignal): Promise<void> {
  const { apply = false, account, currency, encoding, ignoreBalance = false, suspense = false, org } = options;
  const minScore = scoreOf(options);
  const form = options.mapping === undefined ? bankForm : await readMapping(options.mapping, { bank: bankFields });
  const { dates, decimal, twoDigitYears } = options;
  const notation = { dates, decimal, twoDigitYears };
  const file = { path, form, notation, account, currency: currency?.toUpperCase(), ignoreBalance, encoding };
  const reading = progress('Read', 'movements');
  const statement = await openStatement(file, reading.show).finally(reading.clear);
  const failedPath = failedPathOf(path, options);
  const of = `${basename(path)}, account ${statement.account}, ${statement.currency}.`;
  console.log(apply ? `${of}\n` : `Dry run of ${of} Nothing is stored.\n`);
  const matching = progress(apply ? 'Recorded' : 'Matched', 'movements');
  const api = connect(process.env);
  const orgId = (await orgOf(api, org, signal))?.id;
  const settings = { minScore, apply, suspense, orgId, signal, failedPath };
  const counts = await recordPayments(api, statement, settings, (receipts, movements) => {
    matching.clear();
    for (const receipt of receipts) console.log(lineOf(receipt, suspense));
    matching.show(movements, statement.movements);
  }).finally(matching.clear);
  for (const line of summary(counts, failedPath, options, minScore)) console.log(line);
  if (leftOf(counts) > 0) process.exitCode = 1;
}

function scoreOf({ apply, minScore }: Options): number {
  if (minScore === undefined) {
    if (apply === true)
      throw new BridgeError(
        'Add --min-score with the least score that you trust, such as --min-score 90. The dry run shows the scores.',
      );
    return 90;
  }
  const score = Number(minScore);
  if (!Number.isInteger(score) || score < 1 || score > 100)
    throw new BridgeError('--min-score must be a whole number from 1 to 100.');
  return score;
}

/** Payments that are neither recorded nor would be: they are in the file of what failed. */
function leftOf({ failed, unsure, unmatched }: BankCounts): number {
  return failed + unsure + unmatched;
}

function summary(
  counts: BankCounts,
  failedPath: string,
  { apply = false, suspense = false }: Options,
  minScore: number,
): string[] {
  const { recorded, unknown, before, failed, unsure, unmatched, outgoing } = counts;
  const lines = [
    '',
    ...figures([
      [apply ? 'payments recorded' : `payments to record, score ${minScore} or more`, recorded],
      ['of them of unknown payers', unknown],
      ['recorded already', before],
      ['failed', failed],
      ['below the least score', unsure],
      ['match no open invoice', unmatched],
      ['outgoing, not read', outgoing],
    ]),
  ];
  if (leftOf(counts) > 0)
    lines.push(
      '',
      `What is not recorded is in ${failedPath}. Write the number of the invoice into its Text, and run the command with that file.`,
    );
  if (unmatched > 0)
    lines.push('', 'Add --suspense to record what matches no open invoice, too: as payments of unknown payers.');
  const again = `--apply --min-score ${minScore}${suspense ? ' --suspense' : ''}`;
  if (!apply && recorded > 0) lines.push('', `Add ${again} to record them.`);
  return lines;
}

function lineOf(receipt: Receipt, suspense: boolean): string {
  const { line, proposal, failure } = receipt;
  const what = (line.payer ?? line.text).slice(0, 28).padEnd(28);
  const amount = line.amount.toFixed(2).padStart(12);
  const found = isUnknown(receipt)
    ? `  -  ${proposal.reason}${suspense ? ': unknown payer' : ''}`
    : `${String(proposal.score).padStart(3)}  ${proposedText(proposal)} (${proposal.reason})`;
  return `  ${line.date} ${amount}  ${what}  ${failure === undefined ? found : `FAILED: ${failure}`}`;
}
