import type { Call } from '../../../http/call.ts';
import { isObject, type JsonObject, withoutMember } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { withKnownIds } from '../../../run/known-ids.ts';
import { isNoReference } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import { shapeOf } from '../../../schema/shape.ts';
import { requestSchema, View } from '../../../schema/view.ts';
import { hasItemErrors } from '../../outcome.ts';
import { isSame } from './compare.ts';

/** Maximum number of requests that add optional properties at the top level. */
const maxAdditions = 12;

type Freshen = (schema: JsonObject, body: unknown, seed: number) => unknown;

/** A create call with as many optional properties, also nested, and entries of lists as the server accepts. */
export async function enriched(session: Session, start: Call, freshened: Freshen): Promise<Call> {
  const { operation } = start;
  const schema = requestSchema(operation);
  if (schema === undefined || !isObject(start.body)) return start;
  const { validators } = session;
  const view = View.of(session.document, schema);
  let body = start.body;
  let left = maxAdditions;
  /** Takes over a body if the server accepts it; otherwise returns the rejection. */
  const tried = async (next: JsonObject, label: string): Promise<string | undefined> => {
    if (session.isOver || !validators.accepts(schema, next, 'request')) return '';
    const seed = session.seedFor(`${operation.id} ${label}`);
    const created = await session.send({ ...start, body: freshened(schema, next, seed) });
    if (!isSuccess(created) || hasItemErrors(created)) return created.response.text;
    body = next;
    return undefined;
  };
  const sample = session.values.sample(schema, 'request', 'most', session.seedFor(`${operation.id} rich`));
  const most = withKnownIds(session, operation, sample?.value);
  if (!isObject(most)) return start;
  /** Adds properties together; if they are rejected, without those that the response blames, or in halves. */
  const add = async (names: readonly string[]): Promise<void> => {
    if (names.length === 0 || left <= 0 || session.isOver) return;
    const fuller = { ...body, ...Object.fromEntries(names.map((name) => [name, most[name]])) };
    left -= validators.accepts(schema, fuller, 'request') ? 1 : 0;
    const rejection = await tried(fuller, `add ${names.join(' ')}`);
    if (rejection === undefined || names.length === 1) return;
    const blamed = names.filter((name) => new RegExp(`[/"'.\`]${name}\\b`).test(rejection));
    if (blamed.length > 0 && blamed.length < names.length) return add(names.filter((name) => !blamed.includes(name)));
    const half = Math.ceil(names.length / 2);
    await add(names.slice(0, half));
    await add(names.slice(half));
  };
  const isMissing = (name: string) => !(name in body) && (most[name] ?? null) !== null;
  await add(view.names.filter((name) => isMissing(name) && !view.member(name).has('readOnly')));
  for (const [name, value] of Object.entries(body)) {
    const fuller = most[name];
    if (!isObject(value) || !isObject(fuller) || Object.keys(fuller).every((key) => Object.hasOwn(value, key)))
      continue;
    await tried({ ...body, [name]: { ...fuller, ...value } }, `deepen ${name}`);
  }
  const seed = session.seedFor(`${operation.id} longer`);
  let longer = body;
  for (const [name, value] of Object.entries(body)) {
    const other = withSibling(session, view.member(name), value, seed);
    const next = { ...longer, [name]: other };
    if (other !== undefined && validators.accepts(schema, next, 'request')) longer = next;
  }
  if (longer !== body) await tried(longer, 'longer');
  return { ...start, body };
}

/** A list or map of one entry with a second one. A single entry does not reveal a server that stores only the first. */
function withSibling(session: Session, view: View, value: unknown, seed: number): unknown {
  if (Array.isArray(value) && value.length === 1) {
    const { words, target: schema } = view.items;
    const fresh = schema && session.values.fresh(schema, value[0], seed, (_pointer, key) => isNoReference(key));
    const other = words.length > 0 ? words.find((word) => word !== value[0]) : fresh;
    return other === undefined ? undefined : [...value, other];
  }
  const [[key, member] = ['', undefined], ...others] = isObject(value) ? Object.entries(value) : [];
  if (key === '' || others.length > 0) return undefined;
  return { [key]: member, [`${key.slice(0, -1)}${key.endsWith('b') ? 'c' : 'b'}`]: member };
}

/** The body without optional properties. */
export function withoutOptional(body: JsonObject, accepts: (body: JsonObject) => boolean): JsonObject {
  return Object.keys(body).reduce((least, name) => {
    const rest = withoutMember(least, name);
    return accepts(rest) ? rest : least;
  }, body);
}

/** Other valid values for a scalar property, most likely accepted first. References are not changed. */
export function otherValues(session: Session, view: View, value: unknown, name: string, seed: number): unknown[] {
  const { target: schema, isEnum: isWord } = view;
  if (schema === undefined || !isNoReference(name)) return [];
  const { values, document } = session;
  const words = (isWord ? (shapeOf(document, schema).enum ?? []) : []).filter((one) => one !== null);
  const start = words.length === 0 ? 0 : Math.abs(seed) % words.length;
  const candidates = isWord
    ? [...words.slice(start), ...words.slice(0, start)]
    : [...near(value), values.fresh(schema, value, seed), values.sample(schema, 'request', 'some', seed)?.value];
  return candidates.filter(
    (one) => one !== null && one !== undefined && typeof one !== 'object' && !isSame(value, one, { name, isWord }),
  );
}

function near(value: unknown): unknown[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1, value + 0.5, value * 2];
  if (typeof value !== 'string' || !/^-?\d+(?:\.\d+)?$/.test(value)) return [];
  return [1, -1].map((step) => (Number(value) + step).toFixed(value.split('.')[1]?.length ?? 0));
}
