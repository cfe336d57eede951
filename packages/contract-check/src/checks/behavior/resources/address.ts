import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { at, isObject } from '../../../json.ts';
import { isOwnId, kindOfReference, lastParameter } from '../../../run/names.ts';
import { resourceIn } from './resource-in.ts';
import type { ResourceType } from './resource-types.ts';

interface Found {
  /** How it was found. The same method also works for later resources. */
  readonly way: string;
  readonly address: Readonly<Record<string, unknown>>;
}

/** Possible addresses of a new resource, most likely first. */
export function addressesOf(resourceType: ResourceType, call: Call, created: Exchange): Found[] {
  const item = resourceType.read ?? resourceType.updates[0] ?? resourceType.remove;
  const name = item === undefined ? undefined : lastParameter(item.path);
  if (item === undefined || name === undefined) return [];
  const body = resourceIn(created);
  const sent = isObject(call.body) ? call.body : {};
  const own = Object.keys(body).find(isOwnId);
  const ofKind = Object.keys(body).find(
    (key) => kindOfReference(key) === resourceType.kind && !Array.isArray(body[key]),
  );
  const located = locationIn(item, created);
  const found: [string, unknown][] = [
    ...linked(created, item, name).map((value): [string, unknown] => ['link', value]),
    [`response ${name}`, body[name]],
    ['response id', own === undefined ? undefined : body[own]],
    ['response kind', ofKind === undefined ? undefined : body[ofKind]],
    ['location', located?.[name]],
    [`request ${name}`, sent[name]],
    // A PUT creates the resource at its own path.
    ['path', resourceType.create.method === 'PUT' ? call.path[name] : undefined],
  ];
  return found
    .filter(([, value]) => ['string', 'number'].includes(typeof value))
    .map(([way, value]) => ({ way, address: { ...call.path, ...located, [name]: value } }));
}

/** The path parameters in the `Location` header. */
export function locationIn({ path }: Operation, { response, request }: Exchange): Record<string, string> | undefined {
  const { location } = response.headers;
  if (location === undefined || !URL.canParse(location, request.url)) return undefined;
  const segments = path.split('/');
  const segmentValues = new URL(location, request.url).pathname.split('/').slice(-segments.length + 1);
  const values: Record<string, string> = {};
  for (const [index, segment] of segments.slice(1).entries()) {
    const name = /^\{([^}]+)\}$/.exec(segment)?.[1];
    const value = segmentValues[index];
    if (value === undefined || (name === undefined && segment !== value)) return undefined;
    if (name !== undefined) values[name] = decodeURIComponent(value);
  }
  return values;
}

/** Values for the parameter from declared links. */
function linked({ operation, response }: Exchange, target: Operation, name: string): unknown[] {
  const declared = operation?.responses.find(({ status }) => status === String(response.status));
  return Object.values(declared?.links ?? {}).flatMap((link) => {
    const expression = isObject(link.parameters)
      ? (link.parameters[name] ?? link.parameters[`path.${name}`])
      : undefined;
    if (link.operationId !== target.id || typeof expression !== 'string' || !expression.startsWith('$response.body#'))
      return [];
    return [at(response.json?.value, expression.slice('$response.body#'.length))];
  });
}
