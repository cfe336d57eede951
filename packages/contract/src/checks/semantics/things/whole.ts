import type { Operation } from '../../../document/operation.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { clausesOf, saysWhole, speaksOf } from '../../../run/wording.ts';
import type { Bench } from './bench.ts';
import { isNothing, isSame } from './compare.ts';
import { type Difference, type Look, text } from './probe.ts';
import { keepsTheRest } from './resources.ts';
import { memberNames, memberOf, partsOf, requestSchema } from './schema.ts';
import { madeAndRead } from './update.ts';

/** What a change is said to replace as a whole keeps nothing of what it was. */
export function replacedAsAWhole(bench: Bench, update: Operation): Look {
  return async (label) => {
    const schema = requestSchema(update);
    if (schema === undefined || !keepsTheRest(bench.document, update)) return undefined;
    const names = memberNames(bench.document, schema).filter((name) => isSaid(bench, update, schema, name));
    const made = names.length === 0 ? undefined : await madeAndRead(bench, label);
    if (made === undefined) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    for (const name of names) {
      const now = made.row[name];
      const [least, left] = isObject(now) ? smaller(bench, schema, name, now) : [];
      if (least === undefined || left === undefined || !isObject(now)) continue;
      const answer = await bench.change(update, made.thing, { [name]: least });
      const after = answer !== undefined && isSuccess(answer) ? await bench.shown(made.thing) : undefined;
      if (answer === undefined || after === undefined) continue;
      isSeen = true;
      const shown = after.row[name];
      if (!isObject(shown) || !isSame(shown[left], now[left], { name: left })) continue;
      found.push({
        check: 'update-merged',
        operation: update,
        about: name,
        title: `${update.id} is to replace ${name} as a whole, and keeps part of it`,
        expected: `no ${left} in ${name}`,
        actual: `${left}: ${text(shown[left])}, as it was before`,
        node: memberOf(bench.document, [schema], name)[0],
        fix: 'Store what is sent, and nothing of what was.',
        exchanges: [made.exchange, answer, after.exchange],
      });
    }
    return isSeen ? found : undefined;
  };
}

function isSaid({ document }: Bench, update: Operation, schema: JsonObject, name: string): boolean {
  const own = memberOf(document, [schema], name).flatMap((one) => partsOf(document, one));
  return (
    own.flatMap(({ description }) => clausesOf(description)).some(saysWhole) ||
    clausesOf(update.node.description).some((clause) => saysWhole(clause) && speaksOf(clause, name))
  );
}

/** The value without one of its members, and which one: for a map, with another in its place. */
function smaller(
  { session }: Bench,
  schema: JsonObject,
  name: string,
  now: JsonObject,
): [JsonObject, string] | [undefined, undefined] {
  for (const [left, value] of Object.entries(now)) {
    if (isNothing(value)) continue;
    const { [left]: _gone, ...rest } = now;
    const ways = [rest, { [`${left}-b`]: value }, { [`${left}b`]: value }].filter((one) => Object.keys(one).length > 0);
    const least = ways.find((one) => session.validators.accepts(schema, { [name]: one }, 'request'));
    if (least !== undefined) return [least, left];
  }
  return [undefined, undefined];
}
