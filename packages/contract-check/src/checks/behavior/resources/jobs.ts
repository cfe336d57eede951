import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isKey, isObject, isScalar, type JsonObject, jsonText } from '../../../json.ts';
import { isOwnId, itemOf, kindsOfSchema } from '../../../run/names.ts';
import { namedIn } from '../../../run/pool.ts';
import { atEveryDepth, renewed } from '../../../run/renewal.ts';
import { requestSchema, View } from '../../../schema/view.ts';
import { type Differences, differ, need, needs, text } from '../../observe.ts';
import { isFleeting, isOpen, phaseOf } from './compare.ts';
import { withUnknownReferences } from './create.ts';
import type { ResourceHarness, Shown } from './resource.ts';
import { declares, isJob } from './resource-types.ts';

/** How long a job is waited for, in milliseconds. */
const maxJobMs = 10_000;
/** How often a job that is done is read again. */
const laterReads = 4;

/** Whether a schema allows null, so that null says something. */
const isNullable = (view: View) => view.parts.some(({ type }) => [type].flat().includes('null'));

const ends = /^(?:finished|completed|ended|done|closed)[-_]?(?:at|on|time)$/i;
const starts = /^(?:started|begun|began)[-_]?(?:at|on|time)$/i;
const links =
  /^(?:result|download|output|file|rows|report|export|data)[-_]?(?:url|uri|href|link)$|^(?:result|output)$/i;
const handled = /^(?:processed|completed|handled|finished)(?:[-_]?(?:count|rows|items|records))?$/i;
const totals = /^total(?:[-_]?(?:count|rows|items|records))?$/i;
const shares = /^(?:progress|percent(?:age)?|percent[-_]?complete)$/i;

/** A job ends, stays as it ended, and says the same of itself by its state, times, counts and result. */
export async function* jobStates(harness: ResourceHarness, label: string): Differences {
  const { create, read } = harness.resourceType;
  if (read === undefined || !isJob(harness.document, create)) return;
  const resource = need(await harness.create(label));
  const differs = (check: CheckName, by: Operation, about: string, texts: [string, string?], ...of: Exchange[]) => {
    const [expected, actual] = texts;
    return differ(check, by, about, { expected, ...(actual && { actual }), exchanges: [resource.created, ...of] });
  };
  const seen: Shown[] = [];
  const look = async () => {
    const shown = await harness.shown(resource);
    if (shown !== undefined) seen.push(shown);
    return shown;
  };
  const first = need(await look());
  needs(phaseOf(first.row) !== undefined);
  needs(resource.created.response.status === 202 || typeof resource.body.done === 'boolean' || isOpen(first));
  // Its result is read below it, or elsewhere by its ID, and is impossible before it is done.
  const name = itemOf(read.path)?.name;
  const results = harness.session.operations.filter(
    (one) =>
      one.method === 'GET' &&
      (one.path.startsWith(`${read.path}/`) || (itemOf(one.path)?.name === name && !isOwnId(name ?? 'id'))) &&
      [409, 425].some((status) => declares(one, status)),
  );
  const early = isOpen(first) ? await harness.readEach(results, resource) : [];
  const between = early.length > 0 ? need(await look()) : first;
  for (const { operation, exchange } of early)
    if (isSuccess(exchange) && isOpen(between))
      yield differs('job-result', operation, 'before', ['409 before the job is done'], between.exchange, exchange);
  const end = performance.now() + maxJobMs;
  while (isOpen(need(seen.at(-1))) && performance.now() < end && !harness.session.isOver) {
    seen.push(need(await harness.settled(resource, 20)));
  }
  const last = need(seen.at(-1));
  if (isOpen(last)) {
    const texts: [string, string] = ['a job that ends, or advances', `nothing changes in ${maxJobMs / 1000} s`];
    const isStill = jsonText(last.row) === jsonText(seen[Math.floor(seen.length / 3)]?.row);
    if (isStill) yield differs('job-status', read, 'end', texts, last.exchange);
    return;
  }
  for (let count = 0; count < laterReads; count += 1) await look();
  for (const [index, shown] of seen.entries()) {
    for (const [about, ...texts] of contradictionsIn(shown, last))
      yield differs('job-status', read, about, texts, shown.exchange);
    const before = seen[index - 1];
    const moved = Object.keys(last.row).find(
      (one) => !isFleeting.test(one) && isScalar(last.row[one]) && last.row[one] !== shown.row[one],
    );
    if (moved !== undefined && phaseOf(shown.row) === 'done')
      yield differs(
        'job-status',
        read,
        moved,
        [`what is done stays as it is`, text(shown.row[moved])],
        shown.exchange,
        last.exchange,
      );
    if (before === undefined || rank(shown) >= rank(before)) continue;
    const texts: [string, string] = [`after ${phaseOf(before.row)}, no ${phaseOf(shown.row)}`, text(shown.row)];
    yield differs('job-status', read, 'order', texts, before.exchange, shown.exchange);
  }
  if (phaseOf(last.row) !== 'done') return;
  const total = Object.entries(last.row).find(([name]) => totals.test(name))?.[1];
  for (const { operation, exchange } of await harness.readEach(results, resource)) {
    const rows = exchange.response.json?.value;
    const job = namedIn(Object(rows), name ?? '');
    if ([404, 409, 425].includes(exchange.response.status))
      yield differs('job-result', operation, 'after', ['the result of the job'], last.exchange, exchange);
    else if (!isOwnId(name ?? 'id') && isKey(job) && String(job) !== String(resource.id))
      yield differs('job-result', operation, 'another', [text(resource.id), text(job)], last.exchange, exchange);
    else if (isSuccess(exchange) && typeof total === 'number' && Array.isArray(rows) && rows.length !== total)
      yield differs('job-result', operation, 'rows', [`${total} rows`, `${rows.length} rows`], last.exchange, exchange);
  }
}

/** Of items that can be created by themselves, a job fails for none, and of items that refer to nothing, for all. */
export async function* itemsOfJobs(harness: ResourceHarness, label: string): Differences {
  const { context, document, session, resourceType } = harness;
  const { create, read } = resourceType;
  if (read === undefined || !isJob(document, create)) return;
  const request = View.ofRequest(document, create);
  for (const member of request.names.filter((name) => request.member(name).isList)) {
    const kinds = kindsOfSchema(document, request.member(member).items.node);
    const one = session.operations.find((other) =>
      kindsOfSchema(document, requestSchema(other)).some((kind) => kinds.includes(kind)),
    );
    const known = one && context.requests.of(one)?.call;
    if (one === undefined || known === undefined) continue;
    const item = (turn: number): JsonObject =>
      Object(renewed(session, known, `${label} ${turn}`, { ...atEveryDepth, isFar: true }).body);
    const [lost] = withUnknownReferences(session, one, item(0), Object.keys(item(0)), label);
    // One can conflict with what exists.
    const items = [item(0), item(1), item(2)];
    let isDone = false;
    for (const each of [...items, lost?.body].filter((body) => body !== undefined)) {
      if (isDone && items.includes(each)) continue;
      const call = need(await harness.callTo(label));
      const created = await session.send({ ...call, body: { ...Object(call.body), [member]: [each] } });
      needs(isSuccess(created));
      const last = need(await harness.settled(harness.resourceOf(call, created), maxJobMs));
      isDone ||= phaseOf(last.row) === 'done';
      for (const [about, ...texts] of contradictionsIn(last, last)) {
        const [expected, actual] = texts;
        yield differ('job-status', read, about, { expected, actual, exchanges: [created, last.exchange] });
      }
    }
  }
}

const sum = (all: readonly number[]) => all.reduce((whole, one) => whole + one, 0);

const rank = ({ row }: Pick<Shown, 'row'>) =>
  Math.min(['waiting', 'running', 'done', 'failed'].indexOf(phaseOf(row) ?? 'done'), 2);

/** What a job says of itself that cannot be true together. @param last the job at its end. */
function* contradictionsIn(
  { row, view }: Shown,
  last: Shown,
): Generator<[about: string, expected: string, actual: string]> {
  const phase = phaseOf(row);
  const isDone = phase === 'done';
  const named = (pattern: RegExp) => Object.keys(row).find((name) => pattern.test(name)) ?? '';
  const says = (name: string, expected: string): [string, string, string] => [
    name,
    `${expected}, because it is ${phase}`,
    text(row[name]),
  ];
  const [end, start, link] = [named(ends), named(starts), named(links)];
  if (typeof row.done === 'boolean' && view.names.includes('response')) {
    const isEnded = isObject(row.response) || isObject(row.error);
    if (row.done !== isEnded)
      yield says('response', row.done ? 'a response or an error' : 'neither response nor error');
  }
  const isSaid = (name: string) => name !== '' && isNullable(view.member(name));
  if (isSaid(end) && isDone && row[end] === null) yield says(end, 'a time');
  if (isSaid(end) && isOpen({ row }) && row[end] !== null) yield says(end, 'null');
  if (isSaid(start) && (isDone || phase === 'running') && row[start] === null) yield says(start, 'a time');
  if (row[start] && row[end] && Date.parse(String(row[end])) < Date.parse(String(row[start])))
    yield [end, `not before ${text(row[start])}`, text(row[end])];
  if (isSaid(link) && isDone && row[link] === null) yield says(link, 'the result');
  if (isSaid(link) && !isDone && phase !== 'failed' && row[link] !== null && last.row[link] !== undefined)
    yield says(link, 'null');
  const [share, count, total] = [named(shares), named(handled), named(totals)];
  const most = view.member(share).parts.find(({ maximum }) => typeof maximum === 'number')?.maximum;
  if (isDone && typeof row[share] === 'number' && most !== undefined && row[share] !== most)
    yield says(share, text(most));
  if (typeof row[count] !== 'number' || typeof row[total] !== 'number') return;
  if (row[count] > row[total]) yield [count, `at most ${row[total]}`, text(row[count])];
  const apart = Object.entries(row).filter(([name]) => /fail|error|skip|reject/i.test(name));
  const failures = apart.flatMap(([, value]) =>
    Array.isArray(value) ? value.length : typeof value === 'number' ? value : [],
  );
  // What failed can be counted as processed, or apart, and more than once.
  const isShort = apart.length === 0 ? row[count] !== row[total] : row[count] + sum(failures) < row[total];
  if (isDone && isShort) yield [total, `${row[count]}, as processed`, text(row[total])];
  const isSuccessful = Object.values(row).some((value) => /^succe\w+$/i.test(String(value)));
  if (isSuccessful && row[total] > 0 && failures.some((one) => one === row[total]))
    yield ['failures', 'no success, because everything failed', text(row)];
}
