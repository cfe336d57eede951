import { isObject, type JsonObject } from '../../src/json.ts';

/** A request on its way to the server, in a form that is easy to change. */
export interface Ask {
  /** The id of the operation, where method and path are those of one. */
  readonly operation: string | undefined;
  /** The path of the contract, with its parameters in braces; undefined where the contract has no such path. */
  readonly template: string | undefined;
  readonly method: string;
  /** As it goes over the wire, without the query. */
  readonly path: string;
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** A response on its way back. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** How the bytes stand in `text`: those of images are its characters. */
  readonly encoding?: 'utf8' | 'latin1';
}

/** Where a value is in a request: `query.pageSize`, `header.if-match`, `path.id`, or `body` and a JSON Pointer. */
export type Where = `query.${string}` | `header.${string}` | `path.${string}` | 'body' | `body/${string}`;

export function jsonOf(message: Ask | Reply): unknown {
  const text = 'text' in message ? message.text : (message.body?.toString() ?? '');
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function withJson<Message extends Ask | Reply>(message: Message, value: unknown): Message {
  const text = JSON.stringify(value) ?? '';
  return 'text' in message ? { ...message, text } : { ...message, body: Buffer.from(text) };
}

export function withHeader<Message extends Ask | Reply>(
  message: Message,
  name: string,
  value: string | undefined,
): Message {
  const { [name]: _, ...rest } = message.headers;
  return { ...message, headers: value === undefined ? rest : { ...rest, [name]: value } };
}

/** The values at a place of a request: one that is undefined where nothing is, several where a pointer has a `*`. */
export function valuesAt(ask: Ask, where: Where): unknown[] {
  const [place, name] = placeOf(where);
  if (place === 'query') {
    const all = new URLSearchParams(ask.query).getAll(name);
    return all.length === 0 ? [undefined] : all;
  }
  if (place === 'header') return [ask.headers[name.toLowerCase()]];
  if (place === 'path') return [decode(ask.path.split('/')[segmentOf(ask, name)])];
  const found: unknown[] = [];
  edit(jsonOf(ask), name, (value) => {
    found.push(value);
    return value;
  });
  return found;
}

/** A request with another value at a place; undefined takes it out. */
export function changeAt(ask: Ask, where: Where, change: (value: unknown) => unknown): Ask {
  const [place, name] = placeOf(where);
  if (place === 'query') {
    const query = new URLSearchParams(ask.query);
    const value = change(query.get(name) ?? undefined);
    if (value === undefined) query.delete(name);
    else query.set(name, String(value));
    return { ...ask, query: query.toString() };
  }
  if (place === 'header') {
    const value = change(ask.headers[name.toLowerCase()]);
    return withHeader(ask, name.toLowerCase(), value === undefined ? undefined : String(value));
  }
  if (place === 'path') {
    const segments = ask.path.split('/');
    const index = segmentOf(ask, name);
    segments[index] = encodeURIComponent(String(change(decode(segments[index]))));
    return { ...ask, path: segments.join('/') };
  }
  const value = jsonOf(ask);
  return value === undefined && name !== '' ? ask : withJson(ask, edit(value, name, change));
}

/**
 * A value with another one at a pointer. `*` stands for every property or item, `-1` for the last item; properties that are
 * missing are told as undefined and may be added, items may not.
 */
export function edit(value: unknown, pointer: string, change: (value: unknown) => unknown): unknown {
  const holder: JsonObject = { root: structuredClone(value) };
  visit(holder, ['root', ...pointer.split('/').slice(1)], change);
  return holder.root;
}

function visit(node: unknown, [segment = '', ...rest]: readonly string[], change: (value: unknown) => unknown): void {
  if (Array.isArray(node)) {
    const indexes =
      segment === '*' ? [...node.keys()].reverse() : [Number(segment) + (segment === '-1' ? node.length : 0)];
    for (const index of indexes) {
      if (!(index in node)) continue;
      if (rest.length > 0) visit(node[index], rest, change);
      else {
        const value = change(node[index]);
        if (value === undefined) node.splice(index, 1);
        else node[index] = value;
      }
    }
  } else if (isObject(node)) {
    for (const key of segment === '*' ? Object.keys(node) : [segment]) {
      if (rest.length > 0) visit(node[key], rest, change);
      else {
        const value = change(node[key]);
        if (value === undefined) delete node[key];
        else node[key] = value;
      }
    }
  }
}

/** Every value inside another one, itself first. */
export function* within(value: unknown): Generator<unknown> {
  yield value;
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* within(inner);
}

/** The rows of a page. */
export function rowsOf(page: unknown): JsonObject[] {
  return isObject(page) && Array.isArray(page.data) ? page.data : [];
}

function placeOf(where: Where): [place: string, name: string] {
  if (where.startsWith('body')) return ['body', where.slice('body'.length)];
  const [place = '', name = ''] = where.split('.');
  return [place, name];
}

function segmentOf(ask: Ask, name: string): number {
  const index = ask.template?.split('/').indexOf(`{${name}}`) ?? -1;
  if (index < 0) throw new Error(`${ask.template} has no parameter ${name}.`);
  return index;
}

function decode(segment = ''): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
