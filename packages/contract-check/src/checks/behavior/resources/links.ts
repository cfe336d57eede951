import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { at, isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { CheckContext } from '../../check.ts';
import { isGone } from './create.ts';
import type { Difference, Observation } from './probe.ts';

/** Checks that declared links to read operations work. */
export function linked(context: CheckContext, operation: Operation): Observation {
  const { session, baselines } = context;
  return async (label) => {
    const declared = operation.responses.flatMap(({ links }) => Object.entries(links));
    if (declared.length === 0) return undefined;
    const from = await baselines.again(operation, label);
    const response = operation.responses.find(({ status }) => status === String(from?.exchange.response.status));
    if (from === undefined || response === undefined) return undefined;
    const found: Difference[] = [];
    for (const [name, link] of Object.entries(response.links)) {
      const target = session.operations.find(({ id }) => id === link.operationId);
      const known = target === undefined ? undefined : baselines.of(target)?.call;
      const values = isObject(link.parameters) ? valuesOf(link.parameters, from.exchange, from.call.path) : undefined;
      if (target === undefined || known === undefined || values === undefined) continue;
      if (target.method !== 'GET' && target.method !== 'HEAD') continue;
      const placed = (place: string) =>
        Object.fromEntries(
          Object.entries(values).filter(([key]) =>
            target.parameters.some((one) => one.in === place && one.name === key),
          ),
        );
      const there = await session.send({
        ...known,
        path: { ...known.path, ...placed('path') },
        query: { ...known.query, ...placed('query') },
      });
      if (isSuccess(there) || !(isGone(there) || there.response.status === 400)) continue;
      found.push({
        check: 'link',
        operation,
        about: name,
        title: `The link ${name} does not work`,
        expected: `${target.id} succeeds with the values of the response`,
        actual: `${there.response.status} ${there.response.text.slice(0, 120)}`,
        node: link,
        fix: 'Return the values that the link uses, or correct its expressions.',
        exchanges: [from.exchange, there],
      });
    }
    return found;
  };
}

/** The values of a link; undefined if the response lacks one of them. */
function valuesOf(
  parameters: JsonObject,
  exchange: Exchange,
  path: Readonly<Record<string, unknown>>,
): JsonObject | undefined {
  const values: JsonObject = {};
  for (const [name, expression] of Object.entries(parameters)) {
    const value = evaluated(expression, exchange, path);
    if (value === undefined || value === null) return undefined;
    values[name.replace(/^(?:path|query|header)\./, '')] = value;
  }
  return values;
}

function evaluated(expression: unknown, { response }: Exchange, path: Readonly<Record<string, unknown>>): unknown {
  if (typeof expression !== 'string' || !expression.startsWith('$')) return expression;
  if (expression.startsWith('$response.body#')) return at(response.json?.value, expression.slice(15));
  if (expression.startsWith('$response.header.')) return response.headers[expression.slice(17).toLowerCase()];
  if (expression.startsWith('$request.path.')) return path[expression.slice(14)];
  return undefined;
}
