import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { clausesOf, saysUnique, speaksOf } from '../../../run/wording.ts';
import type { Bench, Thing } from './bench.ts';
import { type Difference, type Look, text } from './probe.ts';
import { memberNames, memberOf, partsOf, requestSchema } from './schema.ts';
import { isWritable, madeAndRead } from './update.ts';
import { saidFlag } from './vocabulary.ts';

/** What the contract says to be unique is not taken a second time, neither by what is made nor by what is changed. */
export function unique(bench: Bench): Look {
  const { create, updates } = bench.resource;
  return async (label) => {
    const names = uniqueNames(bench);
    const made = names.length === 0 ? undefined : await madeAndRead(bench, label);
    if (made === undefined) return undefined;
    const found: Difference[] = [];
    for (const name of names.filter((one) => typeof made.thing.sent[one] === 'string')) {
      const second = await bench.callTo(create, `${label} second`);
      if (!isObject(second?.body)) continue;
      const taken = made.thing.sent[name];
      const exchange = await bench.session.send({ ...second, body: { ...second.body, [name]: taken } });
      const thing = isSuccess(exchange) ? bench.thingOf(second, exchange) : undefined;
      if (thing !== undefined && thing.id !== undefined && thing.id !== made.thing.id)
        found.push(twice(bench, create, name, made.thing, exchange));
      const update = updates.find(({ method }) => method === 'PATCH');
      const body = { [name]: taken };
      const schema = update === undefined ? undefined : requestSchema(update);
      if (update === undefined || schema === undefined || !bench.session.validators.accepts(schema, body, 'request'))
        continue;
      const other = await madeAndRead(bench, `${label} other ${name}`);
      const changed = other === undefined ? undefined : await bench.change(update, other.thing, body);
      if (other === undefined || changed === undefined) continue;
      const after = isSuccess(changed) ? await bench.shown(other.thing) : undefined;
      if (after?.row[name] === taken) found.push(twice(bench, update, name, made.thing, changed));
    }
    return found;
  };
}

/** Members of the creation that the contract says to be unique: they themselves, or what the operation says of a conflict. */
function uniqueNames(bench: Bench): string[] {
  const { document, resource } = bench;
  const { create } = resource;
  const schema = requestSchema(create);
  if (schema === undefined) return [];
  const conflict = create.answers.find(({ status }) => status === '409');
  const clauses = [create.node.description, conflict === undefined ? '' : document.object(conflict.node).description]
    .flatMap(clausesOf)
    .filter(saysUnique);
  return memberNames(document, schema).filter((name) => {
    const parts = memberOf(document, [schema], name).flatMap((one) => partsOf(document, one));
    const said = parts.map((part) => saidFlag({ node: part }, 'unique')).find((one) => one !== undefined);
    if (said !== undefined || !isWritable(bench, schema, name)) return said === true;
    if (parts.some((part) => Array.isArray(part.enum))) return false;
    return (
      (conflict !== undefined && parts.some((part) => clausesOf(part.description).some(saysUnique))) ||
      clauses.some((clause) => speaksOf(clause, name))
    );
  });
}

function twice(bench: Bench, operation: Operation, name: string, first: Thing, exchange: Exchange): Difference {
  const schema: JsonObject = requestSchema(operation) ?? {};
  return {
    check: 'unique-taken',
    operation,
    about: name,
    title: `${name} is to be unique, and ${operation.id} takes it a second time`,
    expected: `a refusal of ${text(first.sent[name])}, which another has`,
    actual: `${exchange.answer.status} ${exchange.answer.text.slice(0, 150)}`,
    node: memberOf(bench.document, [schema], name)[0],
    fix: `Refuse a ${name} that is taken, or say in the contract that it need not be unique (x-contract-check: unique).`,
    exchanges: [first.made, exchange],
  };
}
