import { hasItemErrors } from '../checks/outcome.ts';
import { bodySchemaOf, type Call } from '../http/call.ts';
import { at, put } from '../json.ts';
import { branchesOf } from '../schema/spots.ts';
import { withKnownIds } from './known-ids.ts';
import type { Session } from './session.ts';

/** A call with a body for each branch of the schema's choices, where such calls succeed. */
export async function branchCallsOf(session: Session, call: Call | undefined): Promise<Call[]> {
  const schema = call === undefined ? undefined : bodySchemaOf(call);
  if (call?.body === undefined || schema === undefined || call.operation.method === 'DELETE') return [];
  const { operation } = call;
  const { values, validators } = session;
  const found: Call[] = [];
  const isNear = ({ pointer }: { readonly pointer: string }) => pointer.split('/').length <= 3;
  const seed = session.seedFor(`${operation.id} branches`);
  const branches = branchesOf(values, schema, seed).filter(isNear);
  for (const { pointer, value } of branches.slice(0, 10)) {
    // Known good siblings are more likely to be accepted in another branch than generated ones.
    const grafted = put(call.body, pointer, at(value, pointer));
    for (const whole of pointer === '' ? [value] : [grafted, value]) {
      const body = withKnownIds(session, operation, whole);
      if (session.isOver || !validators.accepts(schema, body, 'request')) continue;
      const exchange = await session.send({ ...call, body });
      const { status } = exchange.response;
      if (status < 200 || status >= 300 || hasItemErrors(exchange)) continue;
      found.push({ ...call, body });
      break;
    }
  }
  return found;
}
