import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Bench, Thing } from './bench.ts';
import { isScalar } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import { memberNames, memberOf, requestSchema, says } from './schema.ts';
import { changesOf, isRefusal, madeAndRead } from './update.ts';

/** An `ETag` stays while nothing changes, moves when something does, and guards what is changed by it. */
export function tagged(bench: Bench, update: Operation | undefined): Look {
  const { read } = bench.resource;
  return async (label) => {
    const made = await madeAndRead(bench, label);
    const etag = made?.exchange.answer.headers.etag;
    if (made === undefined || read === undefined || etag === undefined) return undefined;
    const again = await bench.read(made.thing);
    const found = [...steady(read, etag, made.exchange, again), ...(await known(bench, read, made.thing, etag))];
    if (update === undefined || found.length > 0) return found;
    const bodies = changesOf(bench, update, requestSchema(update) ?? {}, made, label);
    const [first] = bodies;
    const second = bodies.find((body) => JSON.stringify(body) !== JSON.stringify(first));
    if (first === undefined) return found;
    return [...found, ...(await guarded(bench, update, read, { ...made, etag }, first, second ?? first))];
  };
}

function steady(read: Operation, etag: string, before: Exchange, after: Exchange | undefined): Difference[] {
  const now = after?.answer.headers.etag;
  if (now === undefined || isSameTag(now, etag) || after?.answer.text !== before.answer.text) return [];
  return [
    {
      check: 'etag-moves',
      operation: read,
      about: '',
      title: 'The ETag changes, and nothing else does',
      expected: etag,
      actual: now,
      fix: 'Make the ETag of what is stored, not of the moment.',
      exchanges: [before, after],
    },
  ];
}

/** `If-None-Match` spares the body of what is known, and of nothing else. */
async function known(bench: Bench, read: Operation, thing: Thing, etag: string): Promise<Difference[]> {
  if (!read.answers.some(({ status }) => status === '304')) return [];
  const same = await bench.read(thing, { headers: { 'if-none-match': etag } });
  const other = await bench.read(thing, { headers: { 'if-none-match': '"of-no-version"' } });
  const differs = (title: string, expected: string, exchange: Exchange): Difference => ({
    check: 'if-none-match',
    operation: read,
    about: title,
    title,
    expected,
    actual: String(exchange.answer.status),
    node: read.parameters.find(({ name }) => /^if-none-match$/i.test(name))?.node,
    fix: 'Compare If-None-Match with the ETag of what is stored (RFC 9110, 13.1.2).',
    exchanges: [exchange],
  });
  return [
    ...(same !== undefined && isSuccess(same)
      ? [differs('What the caller already has is sent again', '304', same)]
      : []),
    ...(other?.answer.status === 304 ? [differs('304 for an ETag that it never had', '200', other)] : []),
  ];
}

interface Tagged {
  readonly thing: Thing;
  readonly row: JsonObject;
  readonly exchange: Exchange;
  readonly etag: string;
}

async function guarded(
  bench: Bench,
  update: Operation,
  read: Operation,
  made: Tagged,
  first: JsonObject,
  second: JsonObject,
): Promise<Difference[]> {
  const condition = update.parameters.find(({ in: place, name }) => place === 'header' && /^if-match$/i.test(name));
  const differs = (
    check: string,
    operation: Operation,
    title: string,
    expected: string,
    exchanges: Difference['exchanges'],
  ): Difference => ({
    check,
    operation,
    about: title,
    title,
    expected,
    actual: exchanges
      .map((one) => (one === undefined ? '' : `${one.answer.status} ${one.answer.headers.etag ?? ''}`.trim()))
      .join(', '),
    node: operation === update ? condition?.node : undefined,
    fix: 'Compare If-Match with the ETag of what is stored, and give each version its own (RFC 9110, 13.1.1).',
    exchanges,
  });
  const changed = await bench.change(
    update,
    made.thing,
    first,
    condition === undefined ? {} : { 'if-match': made.etag },
  );
  if (changed === undefined) return [];
  if (changed.answer.status === 412)
    return [
      differs('if-match-refused', update, 'The current ETag is refused as a stale one', 'a change', [
        made.exchange,
        changed,
      ]),
    ];
  const after = isSuccess(changed) ? await bench.shown(made.thing) : undefined;
  const now = after?.exchange.answer.headers.etag;
  if (after === undefined || now === undefined || JSON.stringify(after.row) === JSON.stringify(made.row)) return [];
  if (isSameTag(now, made.etag))
    return [
      differs('etag-stays', read, 'A change leaves the ETag as it was', `an ETag other than ${made.etag}`, [
        made.exchange,
        changed,
        after.exchange,
      ]),
    ];
  const told = changed.answer.headers.etag;
  const found: Difference[] =
    told !== undefined && !isSameTag(told, now)
      ? [
          differs('etag-answer', update, 'A change answers another ETag than is read after it', now, [
            changed,
            after.exchange,
          ]),
        ]
      : [];
  if (condition === undefined || !declares(update, 412)) return found;
  const stale = await bench.change(update, made.thing, second, { 'if-match': made.etag });
  const later = await bench.shown(made.thing);
  if (stale !== undefined && isSuccess(stale))
    found.push(
      differs('if-match-ignored', update, 'A change with a stale If-Match is accepted', '412', [after.exchange, stale]),
    );
  else if (stale?.answer.status === 409)
    found.push(
      differs('if-match-status', update, 'A stale If-Match is answered as a conflict', '412', [after.exchange, stale]),
    );
  else if (stale?.answer.status === 412 && later !== undefined && differ(after.row, later.row))
    found.push(
      differs('if-match-stored', update, 'A change with a stale If-Match is refused and stored', 'nothing changed', [
        after.exchange,
        stale,
        later.exchange,
      ]),
    );
  return [
    ...found,
    ...(await demanded(bench, update, made.thing, second, differs)),
    ...(await anyTaken(bench, update, made.thing, second, differs)),
  ];
}

type Differs = (
  check: string,
  operation: Operation,
  title: string,
  expected: string,
  exchanges: Difference['exchanges'],
) => Difference;

/** `If-Match: *` holds for whatever is there, where the contract lets it be said (RFC 9110, 13.1.1). */
async function anyTaken(
  bench: Bench,
  update: Operation,
  thing: Thing,
  body: JsonObject,
  differs: Differs,
): Promise<Difference[]> {
  const condition = update.parameters.find(({ in: place, name }) => place === 'header' && /^if-match$/i.test(name));
  const isAllowed = condition !== undefined && bench.session.validators.accepts(condition.schema, '*', 'request');
  const any = isAllowed ? await bench.change(update, thing, body, { 'if-match': '*' }) : undefined;
  if (any === undefined || isSuccess(any)) return [];
  const etag = (await bench.shown(thing))?.exchange.answer.headers.etag;
  const current = etag === undefined ? undefined : await bench.change(update, thing, body, { 'if-match': etag });
  if (current === undefined || !isSuccess(current)) return [];
  return [differs('if-match-refused', update, 'If-Match: * is refused for what is there', 'a change', [any])];
}

async function demanded(
  bench: Bench,
  update: Operation,
  thing: Thing,
  body: JsonObject,
  differs: Differs,
): Promise<Difference[]> {
  if (!declares(update, 428)) return [];
  const bare = await bench.changeBare(update, thing, body);
  return bare !== undefined && isSuccess(bare)
    ? [
        differs(
          'if-match-missing',
          update,
          'A change without If-Match is accepted, and 428 is declared for it',
          '428',
          [bare],
        ),
      ]
    : [];
}

/** A version in the body guards a change as If-Match does, where a conflict is declared. */
export function versioned(bench: Bench, update: Operation): Look {
  return async (label) => {
    const schema = requestSchema(update);
    const name = memberNames(bench.document, schema).find(
      (one) =>
        !says(bench.document, memberOf(bench.document, [schema ?? {}], one), 'readOnly') &&
        /^_?(?:version|revision|rev|lockVersion|lock_version)$/i.test(one),
    );
    if (schema === undefined || name === undefined || !(declares(update, 409) || declares(update, 412)))
      return undefined;
    const made = await madeAndRead(bench, label);
    const version = made?.row[name];
    if (made === undefined || typeof version !== 'number') return undefined;
    const [first, second = first] = changesOf(bench, update, schema, made, label);
    if (first === undefined) return undefined;
    const changed = await bench.change(update, made.thing, { ...first, [name]: version });
    const after = changed !== undefined && isSuccess(changed) ? await bench.shown(made.thing) : undefined;
    // A version that the server does not move is a member like any other.
    if (after === undefined || typeof after.row[name] !== 'number' || after.row[name] === version) return undefined;
    const stale = await bench.change(update, made.thing, { ...second, [name]: version });
    if (stale === undefined || isRefusal(stale)) return [];
    const later = await bench.shown(made.thing);
    if (!isSuccess(stale) || later === undefined || later.row[name] === version) return [];
    return [
      {
        check: 'version-ignored',
        operation: update,
        about: name,
        title: `A change with a stale ${name} is accepted`,
        expected: '409 or 412',
        actual: `${stale.answer.status}, ${name}: ${text(later.row[name])}`,
        fix: `Refuse a change whose ${name} is not that of what is stored.`,
        exchanges: [after.exchange, stale],
      },
    ];
  };
}

function declares({ answers }: Operation, status: number): boolean {
  return answers.some((answer) => answer.status === String(status));
}

function differ(one: JsonObject, other: JsonObject): boolean {
  return Object.keys(one).some((name) => isScalar(one[name]) && one[name] !== other[name]);
}

/** Weakly compared, and without what a compressing proxy adds. */
function isSameTag(one: string, other: string): boolean {
  const bare = (tag: string) => tag.replace(/^W\//, '').replace(/-{1,2}(?:gzip|br|deflate)(?="?$)/, '');
  return bare(one) === bare(other);
}
