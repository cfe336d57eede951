import { basename } from 'node:path';
import Big from 'big.js';
import { BridgeError } from '../errors.ts';
import { readText, startOf } from '../files/text.ts';
import type { Notation } from '../files/values.ts';
import { parseBai2 } from './bai2.ts';
import { parseCamt053 } from './camt053.ts';
import { type BankForm, readBankCsv } from './csv.ts';
import { parseMt940 } from './mt940.ts';
import { parseOfx } from './ofx.ts';
import type { BankAccount, BankLine, BankPart } from './statement.ts';

export interface BankFile {
  readonly path: string;
  readonly form: BankForm;
  readonly notation: Notation;
  readonly account?: string | undefined;
  readonly currency?: string | undefined;
  readonly ignoreBalance: boolean;
  readonly encoding?: string | undefined;
}

/** The movements of one account of a file. */
export interface Statement {
  readonly account: string;
  readonly currency: string;
  readonly movements: number;
  lines(): AsyncGenerator<BankLine>;
}

/**
 * Reads a whole file of any of the formats, which are recognized by how they begin, and returns the account in it. Its lines are read
 * again, so that a file takes no memory, and nothing is recorded of one that is damaged.
 *
 * @throws BridgeError if the file is damaged, does not add up, or has several accounts of which none is chosen
 */
export async function openStatement(file: BankFile, onMovements: (movements: number) => void): Promise<Statement> {
  const { path, ignoreBalance } = file;
  const parse = parserOf(file, (await startOf(path, file.encoding)).trimStart());
  const accounts = new Map<string, BankAccount & { movements: number }>();
  let [moved, movements] = [new Big(0), 0];
  for await (const part of parse()) {
    const { account, currency, line } = part;
    const found = accounts.get(`${account} ${currency}`) ?? { account, currency, movements: 0 };
    accounts.set(`${account} ${currency}`, found);
    if (line === undefined) {
      if (!ignoreBalance) checkBalance(part, moved);
      moved = new Big(0);
      continue;
    }
    moved = moved.plus(line.amount);
    found.movements += 1;
    movements += 1;
    onMovements(movements);
  }
  const { account, currency, movements: own } = chosenOf([...accounts.values()], file);
  const stated = currency ?? file.currency;
  if (stated === undefined)
    throw new BridgeError('The file does not say its currency. Add it with --currency, such as --currency USD.');
  return {
    account,
    currency: stated,
    movements: own,
    async *lines() {
      for await (const part of parse())
        if (part.line !== undefined && part.account === account && part.currency === currency) yield part.line;
    },
  };
}

function parserOf(
  { path, form, notation, account, encoding }: BankFile,
  start: string,
): () => AsyncGenerator<BankPart> {
  const parsed = (parse: (text: AsyncIterable<string>) => AsyncGenerator<BankPart>) => () =>
    parse(readText(path, encoding));
  if (/<OFX>/i.test(start.slice(0, 5_000))) return parsed(parseOfx);
  if (start.startsWith('<')) return parsed(parseCamt053);
  // Some banks send headers of their own before the first field.
  if (start.startsWith('{1:') || (/^:20:/m.test(start) && /^:25P?:/m.test(start))) return parsed(parseMt940);
  if (start.startsWith('01,') && /^02,/m.test(start)) return parsed(parseBai2);
  return () => readBankCsv(path, form, notation, account, encoding);
}

/** @throws BridgeError if the movements do not lead from the opening to the closing balance */
function checkBalance({ account, opening, closing }: BankPart, moved: Big): void {
  if (opening === undefined || closing === undefined) return;
  const computed = opening.plus(moved);
  if (computed.eq(closing)) return;
  throw new BridgeError(
    `The statement of account ${account} does not add up: ${opening.toFixed(2)} and its movements are ${computed.toFixed(2)}, but its closing balance is ${closing.toFixed(2)}. Part of the file may be missing: download it again. To use it as it is, add --ignore-balance.`,
  );
}

function chosenOf<Account extends BankAccount>(
  accounts: readonly Account[],
  { path, account, currency }: BankFile,
): Account {
  const chosen = accounts.filter(
    (one) =>
      (account === undefined || one.account === account) &&
      (currency === undefined || one.currency === undefined || one.currency === currency),
  );
  const [only, ...others] = chosen;
  if (only !== undefined && others.length === 0) return only;
  if (accounts.length === 0) throw new BridgeError(`${basename(path)} has no movements.`);
  const names = accounts
    .map((one) => `${one.account}${one.currency === undefined ? '' : ` (${one.currency})`}`)
    .join(', ');
  throw new BridgeError(
    only === undefined
      ? `${basename(path)} has no ${['account', account, currency].filter((one) => one !== undefined).join(' ')}, but ${names}.`
      : `${basename(path)} has several accounts: ${names}. Add --account with one of them, and --currency if it has several, and run the command for each.`,
  );
}
