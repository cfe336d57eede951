import type { Operation } from '../../../document/operation.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { clausesOf, documentsFullReplacement, mentionsProperty } from '../../../run/wording.ts';
import { isNothing, isSame } from './compare.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { ResourceHarness } from './resource-harness.ts';
import { keepsTheRest } from './resource-types.ts';
import { memberNames, memberOf, partsOf, requestSchema } from './schema.ts';
import { createdAndRead } from './update.ts';

/** Checks that a property that is documented to be replaced completely keeps nothing of its previous value. */
export function replacedAsAWhole(harness: ResourceHarness, update: Operation): Observation {
  return async (label) => {
    const schema = requestSchema(update);
    if (schema === undefined || !keepsTheRest(harness.document, update)) return undefined;
    const names = memberNames(harness.document, schema).filter((name) => isDocumented(harness, update, schema, name));
    const created = names.length === 0 ? undefined : await createdAndRead(harness, label);
    if (created === undefined) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    for (const name of names) {
      const now = created.row[name];
      const [least, left] = isObject(now) ? smaller(harness, schema, name, now) : [];
      if (least === undefined || left === undefined || !isObject(now)) continue;
      const response = await harness.change(update, created.resource, { [name]: least });
      const after = response !== undefined && isSuccess(response) ? await harness.shown(created.resource) : undefined;
      if (response === undefined || after === undefined) continue;
      isSeen = true;
      const shown = after.row[name];
      if (!isObject(shown) || !isSame(shown[left], now[left], { name: left })) continue;
      found.push({
        check: 'update-merged',
        operation: update,
        about: name,
        title: `${update.id} must replace ${name}, but keeps a part of it`,
        expected: `no ${left} in ${name}`,
        actual: `${left}: ${text(shown[left])}, as it was before`,
        node: memberOf(harness.document, [schema], name)[0],
        fix: 'Replace the stored value.',
        exchanges: [created.exchange, response, after.exchange],
      });
    }
    return isSeen ? found : undefined;
  };
}

function isDocumented({ document }: ResourceHarness, update: Operation, schema: JsonObject, name: string): boolean {
  const own = memberOf(document, [schema], name).flatMap((one) => partsOf(document, one));
  return (
    own.flatMap(({ description }) => clausesOf(description)).some(documentsFullReplacement) ||
    clausesOf(update.node.description).some(
      (clause) => documentsFullReplacement(clause) && mentionsProperty(clause, name),
    )
  );
}

/** The value without one of its properties, and the name of that property. For a map, another key is added instead. */
function smaller(
  { session }: ResourceHarness,
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
