import { type Operation, readAt } from '../../../document/operation.ts';
import { type Call, type Exchange, isSuccess } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { itemOf } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { type CheckContext, type Differences, differ, need, needs, text } from '../../observe.ts';

/** Texts that belong to a resource, such as its labels: `PUT` sets them, `POST` adds some, and `DELETE` below takes one away. */
interface MemberSet {
  readonly context: CheckContext;
  readonly read: Operation;
  readonly put: Operation;
  readonly post: Operation | undefined;
  readonly remove: Operation | undefined;
  /** The property of the body that has them. */
  readonly name: string;
}

export function setsOf(context: CheckContext): MemberSet[] {
  const { document, operations } = context.session;
  return operations.flatMap((put) => {
    const read = put.method === 'PUT' ? readAt(operations, put.path) : undefined;
    const view = View.ofRequest(document, put);
    const isTexts = (one: string) => view.member(one).items.parts.some(({ type }) => type === 'string');
    const [name, ...others] = view.names;
    if (read === undefined || name === undefined || others.length > 0 || !isTexts(name)) return [];
    const post = operations.find(({ method, path }) => method === 'POST' && path === put.path);
    const remove = operations.find(({ method, path }) => method === 'DELETE' && itemOf(path)?.collection === put.path);
    return [{ context, read, put, post, remove, name }];
  });
}

export async function* members({ context, read, put, post, remove, name }: MemberSet, label: string): Differences {
  const { session, requests } = context;
  const known = need(requests.of(put)).call;
  const { node = {} } = View.ofRequest(session.document, put).member(name);
  const seeds = [0, 1, 2, 3, 4, 5].map((index) => session.seedFor(`${put.id} ${label} ${index}`));
  const texts = seeds.flatMap((seed) => session.values.sample(node, 'request', 'most', seed)?.value ?? []);
  const [a, b, c] = [...new Set(texts)].filter((one) => typeof one === 'string');
  const body = (all: readonly unknown[]) => ({ ...Object(known.body), [name]: all });
  const look = async () => {
    const exchange = await session.send({ ...need(requests.of(read)).call, path: known.path });
    const rows: unknown = exchange.response.json?.value;
    needs(isSuccess(exchange) && Array.isArray(rows));
    const all = (Array.isArray(rows) ? rows : []).flatMap((row) => (isObject(row) ? Object.values(row) : [row]));
    return { exchange, has: (one: unknown) => all.includes(one) };
  };
  const send = async (call: Call) => {
    const exchange = await session.send(call);
    needs(isSuccess(exchange));
    return exchange;
  };
  const facts = (expected: string, by: Exchange, after: Exchange) => {
    return { expected, actual: text(after.response.json?.value), exchanges: [by, after] };
  };
  const first = await send({ ...known, body: body([need(a), need(b)]) });
  const set = await look();
  if (!set.has(a) || !set.has(b))
    return yield differ('update-lost', put, name, facts(`${a} and ${b}`, first, set.exchange));
  const second = await send({ ...known, body: body([b]) });
  const less = await look();
  if (less.has(a)) return yield differ('replace-kept', put, name, facts(`only ${b}`, second, less.exchange));
  const adding = post && requests.of(post)?.call;
  if (post !== undefined && adding !== undefined) {
    const by = await send({ ...adding, path: known.path, body: { ...Object(adding.body), [name]: [need(c)] } });
    const more = await look();
    if (!more.has(c)) yield differ('update-lost', post, name, facts(`${b} and ${c}`, by, more.exchange));
    if (!more.has(b)) yield differ('update-others', post, name, facts(`${b} and ${c}`, by, more.exchange));
  }
  const removing = remove && requests.of(remove)?.call;
  const last = itemOf(remove?.path ?? '')?.name;
  if (remove === undefined || removing === undefined || last === undefined) return;
  await send({ ...known, body: body([a, b]) });
  const by = await send({ ...removing, path: { ...known.path, [last]: a } });
  const left = await look();
  if (left.has(a)) yield differ('delete-lost', remove, name, facts(`only ${b}`, by, left.exchange));
  if (!left.has(b)) yield differ('update-others', remove, name, facts(`only ${b}`, by, left.exchange));
}
