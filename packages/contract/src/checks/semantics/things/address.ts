import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { at, isObject } from '../../../json.ts';
import { isOwnId, kindOfReference, lastParameter } from '../../../run/names.ts';
import type { Resource } from './resources.ts';
import { thingIn } from './thing-in.ts';

interface Found {
  /** How it was found: the same way leads to the next thing, too. */
  readonly way: string;
  readonly address: Readonly<Record<string, unknown>>;
}

/** Where a thing that was just made may be, the likeliest first. */
export function addressesOf(resource: Resource, call: Call, made: Exchange): Found[] {
  const item = resource.read ?? resource.updates[0] ?? resource.remove;
  const name = item === undefined ? undefined : lastParameter(item.path);
  if (item === undefined || name === undefined) return [];
  const body = thingIn(made);
  const sent = isObject(call.body) ? call.body : {};
  const own = Object.keys(body).find(isOwnId);
  const ofKind = Object.keys(body).find((key) => kindOfReference(key) === resource.kind && !Array.isArray(body[key]));
  const located = locationIn(item, made);
  const found: [string, unknown][] = [
    ...linked(made, item, name).map((value): [string, unknown] => ['link', value]),
    [`answer ${name}`, body[name]],
    ['answer id', own === undefined ? undefined : body[own]],
    ['answer kind', ofKind === undefined ? undefined : body[ofKind]],
    ['location', located?.[name]],
    [`request ${name}`, sent[name]],
    // What is put is where it was put.
    ['path', resource.create.method === 'PUT' ? call.path[name] : undefined],
  ];
  return found
    .filter(([, value]) => ['string', 'number'].includes(typeof value))
    .map(([way, value]) => ({ way, address: { ...call.path, ...located, [name]: value } }));
}

/** The values of a path's parameters in the `Location` of an answer. */
export function locationIn({ path }: Operation, { answer, request }: Exchange): Record<string, string> | undefined {
  const { location } = answer.headers;
  if (location === undefined || !URL.canParse(location, request.url)) return undefined;
  const segments = path.split('/');
  const given = new URL(location, request.url).pathname.split('/').slice(-segments.length + 1);
  const values: Record<string, string> = {};
  for (const [index, segment] of segments.slice(1).entries()) {
    const name = /^\{([^}]+)\}$/.exec(segment)?.[1];
    const value = given[index];
    if (value === undefined || (name === undefined && segment !== value)) return undefined;
    if (name !== undefined) values[name] = decodeURIComponent(value);
  }
  return values;
}

/** What declared links give for the parameter. */
function linked({ operation, answer }: Exchange, target: Operation, name: string): unknown[] {
  const declared = operation?.answers.find(({ status }) => status === String(answer.status));
  return Object.values(declared?.links ?? {}).flatMap((link) => {
    const expression = isObject(link.parameters)
      ? (link.parameters[name] ?? link.parameters[`path.${name}`])
      : undefined;
    if (link.operationId !== target.id || typeof expression !== 'string' || !expression.startsWith('$response.body#'))
      return [];
    return [at(answer.json?.value, expression.slice('$response.body#'.length))];
  });
}
