import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isReadingPost, rowsSchema } from '../../../run/names.ts';
import type { CheckContext } from '../../check.ts';
import { type Collection, readCollection } from './collection.ts';
import { type Difference, type Observation, probe } from './probe.ts';
import { responseSchema } from './schema.ts';
import { declaredFlag } from './vocabulary.ts';

/** Snapshots of lists for comparison. */
type Prints = ReadonlyMap<Operation, { readonly print: string; readonly list: Collection }>;

/** Checks that reading does not change any list. */
export async function checkSafety(context: CheckContext): Promise<void> {
  const { session, baselines } = context;
  const readers = session.judged.filter((one) => isReader(one) && baselines.of(one) !== undefined);
  const witnesses = session.operations.filter((one) => isWitness(context, one));
  if (readers.length === 0 || witnesses.length === 0) return;
  const steady = await steadyOf(context, witnesses);
  for (const operation of readers) session.observed(operation, 'behavior');
  const before = await printsOf(context, steady);
  for (const operation of readers) await call(context, operation);
  const after = await printsOf(context, steady);
  const moved = steady.filter((one) => before.get(one)?.print !== after.get(one)?.print);
  if (moved.length > 0)
    for (const operation of readers)
      await probe(session, operation, 'safe', unmoved(context, operation, moved.slice(0, 4)));
  // A list that changes with every read cannot be compared with itself. It is reported only if it grows.
  for (const list of witnesses.filter((one) => !steady.includes(one) && readers.includes(one)))
    await probe(session, list, 'grows', growing(context, list));
}

function isReader(operation: Operation): boolean {
  return (
    (['GET', 'HEAD'].includes(operation.method) || isReadingPost(operation)) &&
    declaredFlag(operation, 'safe') !== false
  );
}

/** Whether an operation lists resources, not activity such as logs. */
function isWitness({ session, baselines }: CheckContext, operation: Operation): boolean {
  if (operation.method !== 'GET' && !isReadingPost(operation)) return false;
  if (
    /audit|\blogs?\b|histor|deliver|session|token|usage|stat|metric|activit|trace|event|notification|access/i.test(
      operation.path,
    )
  )
    return false;
  return baselines.of(operation) !== undefined && rowsSchema(session.document, responseSchema(operation)) !== undefined;
}

async function call({ session, baselines }: CheckContext, operation: Operation): Promise<Exchange | undefined> {
  const known = baselines.of(operation)?.call;
  return known === undefined || session.isOver ? undefined : session.send(known);
}

/** The lists that do not change between two reads. */
async function steadyOf(context: CheckContext, lists: readonly Operation[]): Promise<Operation[]> {
  const first = await printsOf(context, lists);
  const second = await printsOf(context, lists);
  return lists.filter((list) => first.has(list) && first.get(list)?.print === second.get(list)?.print);
}

async function printsOf(context: CheckContext, lists: readonly Operation[]): Promise<Prints> {
  const prints = new Map<Operation, { print: string; list: Collection }>();
  for (const operation of lists) {
    if (context.session.isOver) break;
    const list = await readCollection(context, operation);
    if (list !== undefined) prints.set(operation, { print: printOf(list), list });
  }
  return prints;
}

/** Properties that record reads. */
const changesOnRead =
  /last_?(?:seen|read|used|access|viewed|login|active)|views?|hits?|accessed|read_?at|expires|url$|token/i;

/** Rows without properties that record reads. */
function printOf({ rows, total }: Collection): string {
  return JSON.stringify([total, rows], (name, value: unknown) => (changesOnRead.test(name) ? undefined : value));
}

function unmoved(context: CheckContext, operation: Operation, moved: readonly Operation[]): Observation {
  return async () => {
    const quiet = await printsOf(context, moved);
    const before = await printsOf(context, moved);
    const exchange = await call(context, operation);
    if (exchange === undefined || !isSuccess(exchange)) return undefined;
    const after = await printsOf(context, moved);
    const list = moved.find(
      (one) => quiet.get(one)?.print === before.get(one)?.print && before.get(one)?.print !== after.get(one)?.print,
    );
    const shown = list === undefined ? undefined : after.get(list)?.list;
    if (list === undefined || shown === undefined) return [];
    return [changes(operation, list, [before.get(list)?.list.exchanges.at(-1), exchange, shown.exchanges.at(-1)])];
  };
}

/** Checks whether a number in a list rises by the same amount with each read, regardless of the time between reads. */
function growing(context: CheckContext, list: Operation): Observation {
  return async () => {
    const readings: Map<string, number>[] = [];
    const exchanges: Exchange[] = [];
    for (const pause of [0, 0, 120, 0, 350]) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      const read = await readCollection(context, list);
      if (read === undefined) return undefined;
      readings.push(numbersOf(read));
      exchanges.push(...read.exchanges.slice(-1));
    }
    const [first] = readings;
    const isRising = (name: string): boolean => {
      const counts = readings.map((reading) => reading.get(name) ?? Number.NaN);
      const steps = counts.slice(1).map((count, index) => count - (counts[index] ?? Number.NaN));
      return steps.every((step) => step > 0 && step === steps[0]);
    };
    return [...(first?.keys() ?? [])].some(isRising) ? [changes(list, list, exchanges.slice(-2))] : [];
  };
}

/** The number of rows, and the integers in the first rows. */
function numbersOf({ rows, total }: Collection): Map<string, number> {
  const inRows = rows.slice(0, 20).flatMap((row, index) =>
    Object.entries(row)
      .filter(([name, value]) => Number.isInteger(value) && !changesOnRead.test(name))
      .map(([name, value]) => [`${String(row.id ?? index)} ${name}`, Number(value)] as const),
  );
  return new Map([['rows', total ?? rows.length], ...inRows]);
}

function changes(operation: Operation, list: Operation, exchanges: Difference['exchanges']): Difference {
  return {
    check: 'read-changes',
    operation,
    about: '',
    title: `${operation.id} only reads, but changes the rows of ${list.id}`,
    expected: 'the same rows before and after',
    actual: 'different rows',
    fix: 'Do not change data in operations that only read.',
    exchanges,
  };
}

/** Checks that HEAD returns the status and headers of GET. */
export function headed(context: CheckContext, head: Operation): Observation {
  const get = context.session.operations.find(({ method, path }) => method === 'GET' && path === head.path);
  return async () => {
    const known = get === undefined ? undefined : context.baselines.of(get)?.call;
    const knownCall = context.baselines.of(head)?.call;
    if (known === undefined || knownCall === undefined) return undefined;
    const full = await context.session.send({ ...known, path: { ...known.path, ...knownCall.path } });
    const bare = await context.session.send(knownCall);
    const differs = (about: string, expected: unknown, actual: unknown): Difference => ({
      check: 'head-differs',
      operation: head,
      about,
      title: `HEAD returns another ${about} than GET`,
      expected: `${about}: ${expected}`,
      actual: `${about}: ${actual}`,
      fix: 'Respond to HEAD as to GET, without the body (RFC 9110, 9.3.2).',
      exchanges: [full, bare],
    });
    if (full.response.status !== bare.response.status)
      return [differs('status', full.response.status, bare.response.status)];
    return ['content-type', 'etag', 'last-modified']
      .filter((name) => bare.response.headers[name] !== undefined && full.response.headers[name] !== undefined)
      .filter((name) => plain(bare.response.headers[name]) !== plain(full.response.headers[name]))
      .map((name) => differs(name, full.response.headers[name], bare.response.headers[name]));
  };
}

function plain(value: unknown): string {
  return String(value).toLowerCase().replaceAll(/\s/g, '').replace(/^w\//, '');
}
