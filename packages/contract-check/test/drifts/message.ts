import { isObject, type JsonObject } from '../../src/json.ts';

/** A request in a form that is easy to change. */
export interface IncomingRequest {
  /** Undefined if method and path match no operation. */
  readonly operation: string | undefined;
  /** The path in the contract, with its parameters in braces; undefined if the contract has no such path. */
  readonly template: string | undefined;
  readonly method: string;
  /** As sent, without the query. */
  readonly path: string;
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** A response in a form that is easy to change. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** How `text` represents the bytes. Those of images are its characters. */
  readonly encoding?: 'utf8' | 'latin1';
}

/** A place in a request: `query.pageSize`, `header.if-match`, `path.id`, or `body` and a JSON Pointer. */
export type Where = `query.${string}` | `header.${string}` | `path.${string}` | 'body' | `body/${string}`;

export function jsonOf(message: IncomingRequest | Reply): unknown {
  const text = 'text' in message ? message.text : (message.body?.toString() ?? '');
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function withJson<Message extends IncomingRequest | Reply>(message: Message, value: unknown): Message {
  const text = JSON.stringify(value) ?? '';
  return 'text' in message ? { ...message, text } : { ...message, body: Buffer.from(text) };
}

export function withHeader<Message extends IncomingRequest | Reply>(
  message: Message,
  name: string,
  value: string | undefined,
): Message {
  const { [name]: _, ...rest } = message.headers;
  return { ...message, headers: value === undefined ? rest : { ...rest, [name]: value } };
}

/** The values at a place of a request: undefined if there is none; several if the pointer has a `*`. */
export function valuesAt(incoming: IncomingRequest, where: Where): unknown[] {
  const [place, name] = placeOf(where);
  if (place === 'query') {
    const all = new URLSearchParams(incoming.query).getAll(name);
    return all.length === 0 ? [undefined] : all;
  }
  if (place === 'header') return [incoming.headers[name.toLowerCase()]];
  if (place === 'path') return [decode(incoming.path.split('/')[segmentOf(incoming, name)])];
  const found: unknown[] = [];
  edit(jsonOf(incoming), name, (value) => {
    found.push(value);
    return value;
  });
  return found;
}

/** The request with another value at a place; undefined removes it. */
export function changeAt(
  incoming: IncomingRequest,
  where: Where,
  change: (value: unknown) => unknown,
): IncomingRequest {
  const [place, name] = placeOf(where);
  if (place === 'query') {
    const query = new URLSearchParams(incoming.query);
    const value = change(query.get(name) ?? undefined);
    if (value === undefined) query.delete(name);
    else query.set(name, String(value));
    return { ...incoming, query: query.toString() };
  }
  if (place === 'header') {
    const value = change(incoming.headers[name.toLowerCase()]);
    return withHeader(incoming, name.toLowerCase(), value === undefined ? undefined : String(value));
  }
  if (place === 'path') {
    const segments = incoming.path.split('/');
    const index = segmentOf(incoming, name);
    segments[index] = encodeURIComponent(String(change(decode(segments[index]))));
    return { ...incoming, path: segments.join('/') };
  }
  const value = jsonOf(incoming);
  return value === undefined && name !== '' ? incoming : withJson(incoming, edit(value, name, change));
}

/**
 * The value with a replaced part. `*` matches every property or item, `-1` the last item. A missing property is passed
 * as undefined and can be added; an item cannot.
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

/** A value and every value that it contains. */
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

function segmentOf(incoming: IncomingRequest, name: string): number {
  const index = incoming.template?.split('/').indexOf(`{${name}}`) ?? -1;
  if (index < 0) throw new Error(`${incoming.template} has no parameter ${name}.`);
  return index;
}

function decode(segment = ''): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
