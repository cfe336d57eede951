/** The states that a row of an entity can have and how it moves between them. */
export interface StateMachine {
  /** The states that a new row can start in; the first one is the default. */
  readonly initial: readonly string[];
  /** The operations that cause transitions, for those that do not name their own. */
  readonly operations: readonly string[];
  /** The states in which an import creates a row, and to which it brings one, without transitions. */
  readonly imported?: readonly string[];
  /** The states in which callers can change the state of a row, and nothing else. */
  readonly fixed?: readonly string[];
  readonly transitions: readonly StateTransition[];
  /** The conditions that transitions name: of the values of the row, or others in words. */
  readonly conditions?: Readonly<Record<string, string | RowCondition>>;
}

/** By field, the values of which a row has one. */
export type RowValues = Readonly<Record<string, readonly (string | null)[]>>;

/** A condition that the values of a row meet. It has one of the four forms. */
interface ValueCondition {
  /** Amounts that are all zero. */
  readonly zero?: readonly string[];
  /** Amounts of which one at least is more than zero. */
  readonly positive?: readonly string[];
  readonly is?: RowValues;
  /** By field, the values of which it has none. */
  readonly isNot?: RowValues;
}

/** A condition, and what to do about a row that does not meet it. */
export interface RowCondition extends ValueCondition {
  readonly remedy: string;
}

export interface StateTransition {
  readonly from: readonly string[];
  readonly to: string;
  readonly operations?: readonly string[];
  /** Names of internal events that move a row without a request. */
  readonly events?: readonly string[];
  /** Roles of which a caller requires one, in addition to those of the operation. */
  readonly roles?: readonly string[];
  /** Fields that must have a value after the request, which usually sets them together with the status. */
  readonly requires?: readonly string[];
  /** Names of the conditions that must be met. */
  readonly conditions?: readonly string[];
  /** Whether what it requires can be written again in the state that it leads to. */
  readonly repeatable?: true;
}

/** Whether a row meets a condition, as far as its values are known. */
export function isMet(
  { zero = [], positive = [], is = {}, isNot = {} }: ValueCondition,
  row: Readonly<Record<string, unknown>>,
): boolean {
  // By their digits: amounts are decimal text, and never numbers.
  const isZero = (name: string) => /^-?[0.]+$/.test(String(row[name]));
  const isPositive = (name: string) => !isZero(name) && /^\d/.test(String(row[name]));
  const known = (names: readonly string[]) => names.filter((name) => row[name] !== undefined);
  const isOneOf = (values: RowValues) => (name: string) => values[name]?.some((one) => one === row[name]) === true;
  const amounts = known(positive);
  return (
    known(zero).every(isZero) &&
    (amounts.length === 0 || amounts.some(isPositive)) &&
    known(Object.keys(is)).every(isOneOf(is)) &&
    !known(Object.keys(isNot)).some(isOneOf(isNot))
  );
}

/** A condition as a clause in Markdown, such as "the `amountPaid` and `amountCredited` are zero". */
export function conditionInWords({ zero = [], positive = [], is = {}, isNot = {} }: ValueCondition): string {
  const fields = (values: RowValues, verb: (values: readonly (string | null)[]) => string) =>
    Object.entries(values).map(([name, all]) => `the \`${name}\` ${verb(all)}`);
  return [
    ...(zero.length === 0 ? [] : [`the ${listed(zero, 'conjunction')} ${zero.length === 1 ? 'is' : 'are'} zero`]),
    ...(positive.length === 0 ? [] : [`the ${listed(positive, 'disjunction')} is more than zero`]),
    ...fields(is, (values) => `is ${listed(values, 'disjunction')}`),
    ...fields(isNot, (values) => `is not ${listed(values, 'disjunction')}`),
  ].join(', and ');
}

function listed(names: readonly (string | null)[], type: 'conjunction' | 'disjunction'): string {
  return new Intl.ListFormat('en', { type }).format(names.map((name) => `\`${name}\``));
}
