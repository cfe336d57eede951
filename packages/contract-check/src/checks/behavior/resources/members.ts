import { type Operation, readAt } from '../../../document/operation.ts';
import { type Call, isSuccess } from '../../../http/call.ts';
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
  const texts = seeds.flatMap((seed) => session.values.sample(node, 'most', seed)?.value ?? []);
  const [a, b, c] = [...new Set(texts)].filter((one) => typeof one === 'string');
  const setting = (...all: unknown[]): Call => ({ ...known, body: { ...Object(known.body), [name]: all } });
  const [adding, removing] = [post, remove].map((one) => one && requests.of(one)?.call);
  const last = itemOf(remove?.path ?? '')?.name ?? '';
  const steps: readonly (readonly [by: Operation | undefined, call: Call | undefined, left: readonly unknown[]])[] = [
    [put, setting(need(a), need(b)), [a, b]],
    [put, setting(b), [b]],
    [post, adding && { ...adding, path: known.path, body: { ...Object(adding.body), [name]: [need(c)] } }, [b, c]],
    [put, setting(a, b), [a, b]],
    [remove, removing && { ...removing, path: { ...known.path, [last]: a } }, [b]],
  ];
  for (const [by, call, left] of steps) {
    if (by === undefined || call === undefined) continue;
    const exchange = await session.send(call);
    const after = await session.send({ ...need(requests.of(read)).call, path: known.path });
    const rows: unknown = after.response.json?.value;
    needs(isSuccess(exchange) && isSuccess(after) && Array.isArray(rows));
    const all = [rows].flat().flatMap((row) => (isObject(row) ? Object.values(row) : [row]));
    const missing = left.find((one) => !all.includes(one));
    const facts = { expected: left.join(' and '), actual: text(rows), exchanges: [exchange, after] };
    if (missing !== undefined)
      return yield differ(by === put || missing === c ? 'update-lost' : 'update-others', by, name, facts);
    if (!left.includes(a) && all.includes(a))
      return yield differ(by === remove ? 'delete-lost' : 'replace-kept', by, name, facts);
  }
}
