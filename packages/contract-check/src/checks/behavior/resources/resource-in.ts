import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isOwnId } from '../../../run/names.ts';

/** The resource in a response: the response itself, or the only object in it with an ID. */
export function resourceIn({ response }: Exchange): JsonObject {
  const body = response.json?.value;
  if (!isObject(body)) return {};
  if (Object.keys(body).some((key) => isOwnId(key))) return body;
  const inner = Object.values(body)
    .filter(isObject)
    .filter((one) => Object.keys(one).some(isOwnId));
  const others = Object.entries(body).filter(([, value]) => !isObject(value));
  return inner.length === 1 && others.length === 0 && inner[0] !== undefined ? inner[0] : body;
}
