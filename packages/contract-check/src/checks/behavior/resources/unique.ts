import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { clausesOf, documentsUniqueness, mentionsProperty } from '../../../run/wording.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Resource, ResourceHarness } from './resource-harness.ts';
import { memberNames, memberOf, partsOf, requestSchema } from './schema.ts';
import { createdAndRead, isWritable } from './update.ts';
import { declaredFlag } from './vocabulary.ts';

/** Checks that unique values are rejected a second time, in create and update requests. */
export function unique(harness: ResourceHarness): Observation {
  const { create, updates } = harness.resourceType;
  return async (label) => {
    const names = uniqueNames(harness);
    const created = names.length === 0 ? undefined : await createdAndRead(harness, label);
    if (created === undefined) return undefined;
    const found: Difference[] = [];
    for (const name of names.filter((one) => typeof created.resource.sent[one] === 'string')) {
      const second = await harness.callTo(create, `${label} second`);
      if (!isObject(second?.body)) continue;
      const usedValue = created.resource.sent[name];
      const exchange = await harness.session.send({ ...second, body: { ...second.body, [name]: usedValue } });
      const resource = isSuccess(exchange) ? harness.resourceOf(second, exchange) : undefined;
      if (resource !== undefined && resource.id !== undefined && resource.id !== created.resource.id)
        found.push(twice(harness, create, name, created.resource, exchange));
      const update = updates.find(({ method }) => method === 'PATCH');
      const body = { [name]: usedValue };
      const schema = update === undefined ? undefined : requestSchema(update);
      if (update === undefined || schema === undefined || !harness.session.validators.accepts(schema, body, 'request'))
        continue;
      const other = await createdAndRead(harness, `${label} other ${name}`);
      const changed = other === undefined ? undefined : await harness.change(update, other.resource, body);
      if (other === undefined || changed === undefined) continue;
      const after = isSuccess(changed) ? await harness.shown(other.resource) : undefined;
      if (after?.row[name] === usedValue) found.push(twice(harness, update, name, created.resource, changed));
    }
    return found;
  };
}

/**
 * The properties that are documented as unique, in their own description or in that of the operation or its conflict.
 */
function uniqueNames(harness: ResourceHarness): string[] {
  const { document, resourceType } = harness;
  const { create } = resourceType;
  const schema = requestSchema(create);
  if (schema === undefined) return [];
  const conflict = create.responses.find(({ status }) => status === '409');
  const clauses = [create.node.description, conflict === undefined ? '' : document.object(conflict.node).description]
    .flatMap(clausesOf)
    .filter(documentsUniqueness);
  return memberNames(document, schema).filter((name) => {
    const parts = memberOf(document, [schema], name).flatMap((one) => partsOf(document, one));
    const declared = parts.map((part) => declaredFlag({ node: part }, 'unique')).find((one) => one !== undefined);
    if (declared !== undefined || !isWritable(harness, schema, name)) return declared === true;
    if (parts.some((part) => Array.isArray(part.enum))) return false;
    return (
      (conflict !== undefined && parts.some((part) => clausesOf(part.description).some(documentsUniqueness))) ||
      clauses.some((clause) => mentionsProperty(clause, name))
    );
  });
}

function twice(
  harness: ResourceHarness,
  operation: Operation,
  name: string,
  first: Resource,
  exchange: Exchange,
): Difference {
  const schema: JsonObject = requestSchema(operation) ?? {};
  return {
    check: 'unique-ignored',
    operation,
    about: name,
    title: `${name} must be unique, but ${operation.id} accepts it a second time`,
    expected: `an error for ${text(first.sent[name])}, which already exists`,
    actual: `${exchange.response.status} ${exchange.response.text.slice(0, 150)}`,
    node: memberOf(harness.document, [schema], name)[0],
    fix: `Reject a ${name} that already exists, or declare that it is not unique (x-contract-check: unique).`,
    exchanges: [first.created, exchange],
  };
}
