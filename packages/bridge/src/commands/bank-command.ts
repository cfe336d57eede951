import { basename } from 'node:path';
import type { Command } from 'commander';
import { bankFields, bankForm } from '../bank/csv.ts';
import { readStatement } from '../bank/read.ts';
import { type BankResult, isUnknown, proposedText, type Receipt, recordPayments } from '../bank/run.ts';
import { connect } from '../connect.ts';
import { BridgeError } from '../errors.ts';
import { readMapping } from '../import/form.ts';
import { addFileOptions, type FileOptions, failedPathOf, figures } from './options.ts';

interface Options extends FileOptions {
  readonly mapping?: string;
  readonly account?: string;
  readonly currency?: string;
  readonly org?: string;
  readonly minScore?: string;
  readonly ignoreBalance?: boolean;
}

export function addBank(program: Command, signal: AbortSignal): void {
  const command = program
    .command('bank')
    .summary('record payments from a bank statement')
    .description(
      'Matches the money that came in to open invoices, and proposes payments with a score from 0 to 100. With --apply it records those of at least --min-score, and what matches no invoice as payments of unknown payers.\nReads OFX, CAMT.053, MT940, BAI2 and CSV files.',
    )
    .argument('<file>', 'bank statement');
  addFileOptions(command)
    .option('--min-score <score>', 'least score of a proposal that is recorded, such as 90')
    .option('--account <number>', 'account, if the file has several, or does not name it')
    .option('--currency <code>', 'currency of the account, if the file does not say it')
    .option('--org <systemRef>', 'org that the account belongs to, if the firm has several')
    .option('--ignore-balance', 'read a file whose balances do not add up')
    .option('--mapping <file>', 'description of the columns of a CSV file: records “bank”')
    .action((path: string, options: Options) => run(path, options, signal));
}

async function run(path: string, options: Options, signal: AbortSignal): Promise<void> {
  const { apply = false, account, encoding, ignoreBalance = false } = options;
  const minScore = scoreOf(options);
  const form = options.mapping === undefined ? bankForm : await readMapping(options.mapping, { bank: bankFields });
  const notation = { dates: options.dates, decimal: options.decimal };
  const statement = await readStatement({ path, form, notation, account, ignoreBalance, encoding });
  const failedPath = failedPathOf(path, options);
  const { currency, org } = options;
  const result = await recordPayments(connect(process.env), statement, {
    minScore,
    apply,
    currency,
    org,
    signal,
    failedPath,
  });
  for (const line of summary(basename(path), statement.account, failedPath, apply, minScore, result)) console.log(line);
  if (result.receipts.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
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

function summary(
  file: string,
  account: string,
  failedPath: string,
  apply: boolean,
  minScore: number,
  { currency, receipts, outgoing, recorded, unknown }: BankResult,
): string[] {
  const before = receipts.filter(({ isRecorded }) => isRecorded).length;
  const left = receipts.length - before - recorded;
  const lines = [
    `${apply ? '' : 'Dry run of '}${file}, account ${account}, ${currency}.${apply ? '' : ' Nothing is stored.'}`,
    '',
    ...receipts.filter(({ isRecorded }) => !isRecorded).map(lineOf),
    '',
    ...figures([
      [apply ? 'payments recorded' : `payments to record, score ${minScore} or more`, recorded],
      ['of them of unknown payers', unknown],
      ['recorded already', before],
      ['not matched surely', left],
      ['outgoing, not read', outgoing],
    ]),
  ];
  if (left > 0)
    lines.push(
      '',
      `What is not recorded is in ${failedPath}. Write the number of the invoice into its Text, and run the command with that file.`,
    );
  if (!apply && recorded > 0) lines.push('', `Add --apply --min-score ${minScore} to record them.`);
  return lines;
}

function lineOf(receipt: Receipt): string {
  const { line, proposal, failure } = receipt;
  const what = (line.payer ?? line.text).slice(0, 28).padEnd(28);
  const amount = line.amount.toFixed(2).padStart(12);
  const found = isUnknown(receipt)
    ? `     ${proposal.reason}: unknown payer`
    : `${String(proposal.score).padStart(3)}  ${proposedText(proposal)} (${proposal.reason})`;
  return `  ${line.date} ${amount}  ${what}  ${failure === undefined ? found : `FAILED: ${failure}`}`;
}
