import { basename } from 'node:path';
import { BridgeError } from '../errors.ts';
import { readWholeText } from '../files/text.ts';
import type { Notation } from '../files/values.ts';
import { parseBai2 } from './bai2.ts';
import { parseCamt053 } from './camt053.ts';
import { type BankForm, readBankCsv } from './csv.ts';
import { parseMt940 } from './mt940.ts';
import { parseOfx } from './ofx.ts';
import { checkBalance, type Statement } from './statement.ts';

export interface BankFile {
  readonly path: string;
  readonly form: BankForm;
  readonly notation: Notation;
  readonly account?: string | undefined;
  readonly ignoreBalance: boolean;
  readonly encoding?: string | undefined;
}

const maxBytes = 50_000_000;

/**
 * Reads the statement of one account from a file of any of the formats, which are recognized by how they begin.
 *
 * @throws BridgeError if the file is damaged, does not add up, or has several accounts of which none is chosen
 */
export async function readStatement({
  path,
  form,
  notation,
  account,
  ignoreBalance,
  encoding,
}: BankFile): Promise<Statement> {
  const text = await readWholeText(path, maxBytes, encoding);
  const parsed = await parse(text.trimStart());
  const statements = merged(parsed);
  if (!ignoreBalance) parsed.forEach(checkBalance);
  const chosen = statements.filter((one) => account === undefined || one.account === account);
  const [statement, ...others] = chosen;
  if (statement !== undefined && others.length === 0) return statement;
  if (statements.length === 0) throw new BridgeError(`${basename(path)} has no movements.`);
  const names = statements
    .map((one) => `${one.account}${one.currency === undefined ? '' : ` (${one.currency})`}`)
    .join(', ');
  throw new BridgeError(
    chosen.length === 0
      ? `${basename(path)} has no account ${account}, but ${names}.`
      : `${basename(path)} has several accounts: ${names}. Add --account with one of them, and run the command for each.`,
  );

  async function parse(start: string): Promise<Statement[]> {
    if (/<OFX>/i.test(start.slice(0, 5_000))) return parseOfx(start);
    if (start.startsWith('<')) return parseCamt053(start);
    if (/^(\{1:|:20:)/.test(start)) return parseMt940(start, ignoreBalance);
    if (start.startsWith('01,') && /^02,/m.test(start)) return parseBai2(start);
    return readBankCsv(path, form, notation, account, encoding);
  }
}

/** Several statements of one account, such as those of several days, are one. */
function merged(statements: readonly Statement[]): Statement[] {
  const byAccount = new Map<string, Statement>();
  for (const one of statements) {
    const key = `${one.account} ${one.currency}`;
    const { account, currency } = one;
    byAccount.set(key, { account, currency, lines: [...(byAccount.get(key)?.lines ?? []), ...one.lines] });
  }
  return [...byAccount.values()];
}
