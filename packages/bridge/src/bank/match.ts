/** Which invoices a movement pays, with a score for how sure that is. A proposal, which a person bounds. */
import Big from 'big.js';
import type { BankLine } from './statement.ts';

export interface OpenInvoice {
  readonly id: string;
  readonly number: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly clientRef: string;
  readonly dueDate: string;
  readonly due: Big;
}

export interface Proposal {
  readonly score: number;
  /** Why, or why not. */
  readonly reason: string;
  readonly invoices: readonly { readonly invoice: OpenInvoice; readonly amount: Big }[];
}

/** Scores by what agrees. The text of a payment is written by people, and amounts repeat: only both together are nearly sure. */
const scores = { all: 100, numberAmount: 90, amountPayer: 70, numberPayer: 65, number: 50, amount: 30, several: 20 };
const legalForms = /^(llc|llp|lp|inc|ltd|limited|co|company|corp|plc|gmbh|ag|kg|sarl|sas|sa|bv|the|and|und|et)$/;

export class Matcher {
  readonly #byNumber = new Map<string, OpenInvoice[]>();
  readonly #byClient = new Map<
    string,
    { readonly words: ReadonlySet<string>; readonly ref: string; readonly invoices: OpenInvoice[] }
  >();
  readonly #byDue = new Map<string, Set<OpenInvoice>>();
  readonly #rest = new Map<string, Big>();

  constructor(invoices: readonly OpenInvoice[]) {
    for (const invoice of invoices) {
      this.#setDue(invoice, invoice.due);
      const number = wordsOf(invoice.number).join('');
      this.#byNumber.set(number, [...(this.#byNumber.get(number) ?? []), invoice]);
      const client = this.#byClient.get(invoice.clientId) ?? {
        words: nameWords(invoice.clientName),
        ref: wordsOf(invoice.clientRef).join(''),
        invoices: [],
      };
      client.invoices.push(invoice);
      this.#byClient.set(invoice.clientId, client);
    }
  }

  /** Proposes what a movement pays. What a proposal uses is no longer due for the next one. */
  propose(line: BankLine, minScore: number): Proposal {
    const proposal = this.#best(line);
    if (proposal.score >= minScore)
      for (const { invoice, amount } of proposal.invoices) this.#setDue(invoice, this.#due(invoice).minus(amount));
    return proposal;
  }

  #best({ amount, text, payer }: BankLine): Proposal {
    const written = joinedWords(`${text} ${payer ?? ''}`);
    const named = [...written].flatMap((word) => this.#byNumber.get(word) ?? []);
    const open = named.filter((invoice) => this.#due(invoice).gt(0));
    const payers = this.#payers(payer ?? text, written);
    if (named.length > 0 && open.length === 0) return none(`${named[0]?.number} is already paid`);
    const [first] = open;
    if (first !== undefined) {
      if (open.some(({ clientId }) => clientId !== first.clientId))
        return {
          ...this.#spread(open, amount),
          score: scores.several,
          reason: 'invoices of several clients are named',
        };
      const isPayer = payers.has(first.clientId);
      const isAmount = this.#sum(open).eq(amount);
      const score = isAmount
        ? isPayer
          ? scores.all
          : scores.numberAmount
        : isPayer
          ? scores.numberPayer
          : scores.number;
      const found = ['number', ...(isAmount ? ['amount'] : []), ...(isPayer ? ['payer'] : [])].join(', ');
      return {
        ...this.#spread(open, amount),
        score,
        reason: `${found}${isAmount ? '' : this.#difference(open, amount)}`,
      };
    }
    const fitting = [...(this.#byDue.get(amount.toFixed()) ?? [])];
    const own = fitting.filter(({ clientId }) => payers.has(clientId));
    if (own.length === 1) return { ...this.#spread(own, amount), score: scores.amountPayer, reason: 'amount, payer' };
    for (const clientId of payers) {
      const all = (this.#byClient.get(clientId)?.invoices ?? []).filter((invoice) => this.#due(invoice).gt(0));
      if (all.length > 1 && this.#sum(all).eq(amount))
        return {
          ...this.#spread(all, amount),
          score: scores.amountPayer,
          reason: 'amount of all open invoices, payer',
        };
    }
    const candidates = own.length > 0 ? own : fitting;
    if (candidates.length === 1) return { ...this.#spread(candidates, amount), score: scores.amount, reason: 'amount' };
    if (candidates.length === 0) return none('no open invoice has this number or amount');
    return {
      ...this.#spread(candidates.slice(0, 1), amount),
      score: scores.several,
      reason: `${candidates.length} invoices have this amount`,
    };
  }

  #payers(name: string, written: ReadonlySet<string>): Set<string> {
    const words = nameWords(name);
    const found = new Set<string>();
    for (const [clientId, client] of this.#byClient) {
      const [few, many] = client.words.size < words.size ? [client.words, words] : [words, client.words];
      const isSame =
        few.size > 0 && [...few].every((word) => many.has(word)) && [...few].some((word) => word.length > 2);
      if (isSame || written.has(client.ref)) found.add(clientId);
    }
    return found;
  }

  /** Sets what is due of an invoice. */
  #setDue(invoice: OpenInvoice, due: Big): void {
    this.#byDue.get(this.#due(invoice).toFixed())?.delete(invoice);
    this.#rest.set(invoice.id, due);
    const same = this.#byDue.get(due.toFixed()) ?? new Set();
    this.#byDue.set(due.toFixed(), same.add(invoice));
  }

  #due({ id, due }: OpenInvoice): Big {
    return this.#rest.get(id) ?? due;
  }

  #sum(invoices: readonly OpenInvoice[]): Big {
    return invoices.reduce((sum, invoice) => sum.plus(this.#due(invoice)), new Big(0));
  }

  #difference(invoices: readonly OpenInvoice[], amount: Big): string {
    const rest = this.#sum(invoices).minus(amount);
    return rest.gt(0) ? `; ${rest.toFixed(2)} stays due` : `; ${rest.abs().toFixed(2)} more than is due`;
  }

  /** The oldest first. */
  #spread(invoices: readonly OpenInvoice[], amount: Big): Pick<Proposal, 'invoices'> {
    let rest = amount;
    const used = [...new Set(invoices)]
      .sort((one, other) => (one.dueDate < other.dueDate ? -1 : 1))
      .flatMap((invoice) => {
        const due = this.#due(invoice);
        const part = due.lt(rest) ? due : rest;
        rest = rest.minus(part);
        return part.gt(0) ? [{ invoice, amount: part }] : [];
      });
    return { invoices: used };
  }
}

function none(reason: string): Proposal {
  return { score: 0, reason, invoices: [] };
}

function wordsOf(text: string): string[] {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

function nameWords(name: string): Set<string> {
  return new Set(wordsOf(name).filter((word) => !legalForms.test(word)));
}

const maxWords = 300;
const maxJoined = 6;

/** Words and what is written apart, so that `INV 2026 0041` is `INV-2026-0041`. Shorter ones are no numbers of invoices. */
function joinedWords(text: string): Set<string> {
  const words = wordsOf(text).slice(0, maxWords);
  const joined = new Set<string>();
  for (let from = 0; from < words.length; from += 1)
    for (let to = from + 1; to <= Math.min(from + maxJoined, words.length); to += 1) {
      const word = words.slice(from, to).join('');
      if (word.length > 2) joined.add(word);
    }
  return joined;
}
