import type { Operation, Parameter } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { lastParameter } from '../../../run/names.ts';
import { idOfNobody } from '../../../run/nobody.ts';
import type { Bench, Thing } from './bench.ts';
import { readCollection } from './collection.ts';
import { isGone } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import { thingIn } from './thing-in.ts';
import { madeAndRead, untouched } from './update.ts';
import { saidFlag } from './vocabulary.ts';

/** What is deleted is gone, or shown as deleted, and nothing else is. */
export function removed(bench: Bench): Look {
  const { remove, read, lists } = bench.resource;
  return async (label) => {
    const made = await madeAndRead(bench, label);
    const other = await madeAndRead(bench, `${label} other`);
    if (remove === undefined || read === undefined || made === undefined) return undefined;
    const list = lists.find((one) => one.path === bench.resource.collection);
    const before = list === undefined ? undefined : await bench.list(list);
    const answer = await bench.remove(made.thing);
    if (answer === undefined || !isSuccess(answer) || answer.answer.status === 202) return undefined;
    const after = await bench.read(made.thing);
    if (after === undefined) return undefined;
    const differences: Difference[] = [];
    const isSoft = saidFlag(remove, 'softDelete');
    if (isSuccess(after) && (isSoft === false || isUnchanged(made.exchange, after)))
      differences.push({
        check: 'delete-lost',
        operation: remove,
        about: '',
        title: `What ${remove.id} deletes is still there, as it was`,
        expected: '404 or 410, or a row that says that it is deleted',
        actual: `${after.answer.status} ${after.answer.text.slice(0, 160)}`,
        fix: 'Delete it, or mark it as deleted.',
        exchanges: [answer, after],
      });
    const gone = isGone(after);
    const asked = read.parameters.find(isOfDeleted);
    if (isSuccess(after) && asked !== undefined && asked.schema.default !== true && differences.length === 0)
      differences.push({
        check: 'deleted-shown',
        operation: read,
        about: remove.id,
        title: `What ${remove.id} deleted is shown without ${asked.name}`,
        expected: `404, unless ${asked.name} asks for it`,
        actual: `${after.answer.status} ${after.answer.text.slice(0, 160)}`,
        node: asked.node,
        fix: `Show what is deleted only where ${asked.name} asks for it.`,
        exchanges: [answer, after],
      });
    if (gone && isSoft === true)
      differences.push({
        check: 'deleted-hidden',
        operation: read,
        about: remove.id,
        title: `What ${remove.id} deleted cannot be read any more`,
        expected: `${text(made.thing.id)}, as deleted: the contract says softDelete`,
        actual: `${after.answer.status} ${after.answer.text.slice(0, 120)}`,
        fix: 'Show what is deleted as deleted.',
        exchanges: [answer, after],
      });
    if (gone && list !== undefined && before !== undefined) {
      const now = await bench.list(list);
      const was = before.rows.find((row) => bench.isOf(made.thing, row));
      const is = now?.rows.find((row) => bench.isOf(made.thing, row));
      // A row that says that it is deleted may stay, but not where there is a parameter to ask for such rows.
      const isAskedFor = list.parameters.some((one) => isOfDeleted(one) && one.schema.default !== true);
      if (was !== undefined && is !== undefined && (isAskedFor || isSameRow(was, is)))
        differences.push({
          check: 'delete-listed',
          operation: list,
          about: remove.id,
          title: `${list.id} still has what ${remove.id} deleted`,
          expected: `no row with ${text(made.thing.id)}`,
          actual: text(is),
          fix: 'Leave out of the list what is deleted.',
          exchanges: [answer, now?.exchanges.at(-1)],
        });
    }
    if (gone)
      differences.push(...(await hidden(bench, remove, made.thing)), ...(await beneath(bench, remove, made.thing)));
    const again = await bench.remove(made.thing);
    differences.push(...(await untouched(bench, remove, other, again ?? answer)));
    if (isGone(after) && typeof made.thing.id === 'string' && made.thing.id.length > 7)
      bench.session.pool.forget(made.thing.id);
    return differences;
  };
}

/** Whether a parameter says that deleted things are wanted, too. */
function isOfDeleted({ in: place, name, schema }: Parameter): boolean {
  const isNamed = /^(?:include|with|show|and)[-_]?(?:deleted|removed|trashed|archived)$/i.test(name);
  return place === 'query' && isNamed && [schema.type].flat().includes('boolean');
}

/** What is deleted and can be asked for is there where it is asked for. */
async function hidden(bench: Bench, remove: Operation, thing: Thing): Promise<Difference[]> {
  const { read, lists } = bench.resource;
  const differs = (by: Operation, { name, node }: Parameter, exchange: Exchange | undefined): Difference => ({
    check: 'deleted-hidden',
    operation: by,
    about: name,
    title: `What ${remove.id} deleted is not in ${by.id} with ${name}`,
    expected: `${text(thing.id)}, as deleted`,
    actual: `${exchange?.answer.status} ${exchange?.answer.text.slice(0, 120) ?? ''}`,
    node,
    fix: `Keep what is deleted for ${name}, or leave the parameter out of the contract.`,
    exchanges: [exchange],
  });
  const found: Difference[] = [];
  const ofRead = read?.parameters.find(isOfDeleted);
  const call = read === undefined ? undefined : bench.callOn(read, thing);
  if (read !== undefined && ofRead !== undefined && call !== undefined) {
    const exchange = await bench.session.send({ ...call, query: { ...call.query, [ofRead.name]: true } });
    if (isGone(exchange)) found.push(differs(read, ofRead, exchange));
    else if (isSuccess(exchange)) {
      const row = thingIn(exchange);
      const mark = Object.keys(row).find((name) => /^(?:deleted|removed|archived)[-_]?(?:at|on|date)?$/i.test(name));
      if (mark !== undefined && (row[mark] === null || row[mark] === false))
        found.push({
          ...differs(read, ofRead, exchange),
          about: mark,
          title: `What ${remove.id} deleted is shown without its ${mark}`,
          expected: `${mark}: a value`,
          actual: `${mark}: ${text(row[mark])}`,
        });
    }
  }
  for (const list of lists.filter(({ path }) => path === bench.resource.collection)) {
    const ofList = list.parameters.find(isOfDeleted);
    if (ofList === undefined) continue;
    const all = await readCollection(bench.context, list, thing.call.path, { [ofList.name]: true });
    if (all?.isComplete === true && !all.rows.some((row) => bench.isOf(thing, row)))
      found.push(differs(list, ofList, all.exchanges.at(-1)));
  }
  return found;
}

/** What is read beneath a thing that is gone is gone with it, where it would be of a thing that never was. */
async function beneath(bench: Bench, remove: Operation, thing: Thing): Promise<Difference[]> {
  const { read } = bench.resource;
  const { operations } = bench.session;
  const found: Difference[] = [];
  const readers = operations.filter(
    (one) =>
      one.method === 'GET' &&
      read !== undefined &&
      one.path.startsWith(`${read.path}/`) &&
      !one.path.slice(read.path.length).includes('{') &&
      one.answers.some(({ status }) => status === '404'),
  );
  for (const reader of readers.slice(0, 4)) {
    const call = bench.callOn(reader, thing);
    if (call === undefined) continue;
    const after = await bench.session.send(call);
    if (!isSuccess(after)) continue;
    if (!(await isGoneOfNobody(bench, call))) continue;
    found.push({
      check: 'deleted-beneath',
      operation: reader,
      about: remove.id,
      title: `${reader.id} answers for what ${remove.id} deleted`,
      expected: '404, as for what never was',
      actual: `${after.answer.status} ${after.answer.text.slice(0, 120)}`,
      fix: 'Answer 404 beneath what is deleted.',
      exchanges: [after],
    });
  }
  return found;
}

/** Whether an operation answers that there is no such thing where there never was one. */
async function isGoneOfNobody({ session }: Bench, call: Call): Promise<boolean> {
  const name = lastParameter(call.operation.path) ?? '';
  const parameter = call.operation.parameters.find((one) => one.in === 'path' && one.name === name);
  const seed = session.seedFor('nobody, never');
  const id = parameter === undefined ? undefined : idOfNobody(session, parameter.schema, call.path[name], seed);
  return id !== undefined && isGone(await session.send({ ...call, path: { ...call.path, [name]: id } }));
}

function isUnchanged(before: Exchange, after: Exchange): boolean {
  return JSON.stringify(before.answer.json?.value) === JSON.stringify(after.answer.json?.value);
}

function isSameRow(one: JsonObject, other: JsonObject): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
