import { extensionOf, type Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isReadingPost, rowsSchema } from '../../../run/names.ts';
import { responseSchema } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { type FullList, readCollection } from '../lists/listing.ts';
import { type Difference, differ, type Observation, observe } from '../observe.ts';

/** Snapshots of lists for comparison. */
type Prints = ReadonlyMap<Operation, { readonly print: string; readonly list: FullList }>;

/** Reading must not change any list. */
export async function checkSafety(context: CheckContext): Promise<void> {
  const { session, baselines } = context;
  const isReader = (one: Operation) => ['GET', 'HEAD'].includes(one.method) || isReadingPost(one);
  const isKnown = (one: Operation) => baselines.of(one) !== undefined;
  const readers = session.judged.filter((one) => isReader(one) && isKnown(one) && extensionOf(one.node).safe !== false);
  // Lists of activity, such as logs, grow by themselves.
  const isActivity =
    /audit|\blogs?\b|histor|deliver|session|token|usage|stat|metric|activit|trace|event|notification|access/i;
  const witnesses = session.operations.filter(
    (one) =>
      (one.method === 'GET' || isReadingPost(one)) &&
      !isActivity.test(one.path) &&
      isKnown(one) &&
      rowsSchema(session.document, responseSchema(one)) !== undefined,
  );
  if (readers.length === 0 || witnesses.length === 0) return;
  const [first, second] = [await printsOf(context, witnesses), await printsOf(context, witnesses)];
  const isSame = (one: Prints, other: Prints) => (list: Operation) => one.get(list)?.print === other.get(list)?.print;
  const steady = witnesses.filter((list) => first.has(list) && isSame(first, second)(list));
  for (const operation of readers) session.observed(operation, 'behavior');
  const before = await printsOf(context, steady);
  for (const operation of readers) await call(context, operation);
  const after = await printsOf(context, steady);
  const moved = steady.filter((list) => !isSame(before, after)(list)).slice(0, 4);
  for (const operation of moved.length > 0 ? readers : [])
    await observe(session, operation, unmoved(context, operation, moved));
  // A list that changes with every read cannot be compared with itself. It is reported only if it grows.
  for (const list of witnesses.filter((one) => !steady.includes(one) && readers.includes(one)))
    await observe(session, list, growing(context, list));
}

async function call({ session, baselines }: CheckContext, operation: Operation): Promise<Exchange | undefined> {
  const known = baselines.of(operation)?.call;
  return known === undefined || session.isOver ? undefined : session.send(known);
}

/** Properties that record reads. */
const changesOnRead =
  /last_?(?:seen|read|used|access|viewed|login|active)|views?|hits?|accessed|read_?at|expires|url$|token/i;

/** Rows without properties that record reads. */
async function printsOf(context: CheckContext, lists: readonly Operation[]): Promise<Prints> {
  const prints = new Map<Operation, { print: string; list: FullList }>();
  const without = (name: string, value: unknown) => (changesOnRead.test(name) ? undefined : value);
  for (const operation of lists) {
    const list = context.session.isOver ? undefined : await readCollection(context, operation);
    if (list !== undefined) prints.set(operation, { print: JSON.stringify([list.total, list.rows], without), list });
  }
  return prints;
}

function unmoved(context: CheckContext, operation: Operation, moved: readonly Operation[]): Observation {
  return async () => {
    const [quiet, before] = [await printsOf(context, moved), await printsOf(context, moved)];
    const exchange = await call(context, operation);
    if (exchange === undefined || !isSuccess(exchange)) return undefined;
    const after = await printsOf(context, moved);
    const list = moved.find((one) => {
      const [first, second, third] = [quiet, before, after].map((prints) => prints.get(one)?.print);
      return first === second && second !== third && third !== undefined;
    });
    return list === undefined
      ? []
      : [changes(operation, list, [before.get(list)?.list.exchange, exchange, after.get(list)?.list.exchange])];
  };
}

/** Whether a number in a list rises by the same amount with each read, regardless of the time between reads. */
function growing(context: CheckContext, list: Operation): Observation {
  return async () => {
    const readings: Map<string, number>[] = [];
    const exchanges: (Exchange | undefined)[] = [];
    for (const pause of [0, 0, 120, 0, 350]) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      const read = await readCollection(context, list);
      if (read === undefined) return undefined;
      readings.push(numbersOf(read));
      exchanges.push(read.exchange);
    }
    const isRising = (name: string): boolean => {
      const counts = readings.map((reading) => reading.get(name) ?? Number.NaN);
      const steps = counts.slice(1).map((count, index) => count - (counts[index] ?? Number.NaN));
      return steps.every((step) => step > 0 && step === steps[0]);
    };
    return [...(readings[0]?.keys() ?? [])].some(isRising) ? [changes(list, list, exchanges.slice(-2))] : [];
  };
}

/** The number of rows, and the integers in the first rows. */
function numbersOf({ rows, total }: FullList): Map<string, number> {
  const inRows = rows.slice(0, 20).flatMap((row, index) =>
    Object.entries(row)
      .filter(([name, value]) => Number.isInteger(value) && !changesOnRead.test(name))
      .map(([name, value]) => [`${String(row.id ?? index)} ${name}`, Number(value)] as const),
  );
  return new Map([['rows', total ?? rows.length], ...inRows]);
}

function changes(operation: Operation, list: Operation, exchanges: Difference['exchanges']): Difference {
  return differ('read-changes', operation, '', { actual: `other rows of ${list.id} after a read`, exchanges });
}
