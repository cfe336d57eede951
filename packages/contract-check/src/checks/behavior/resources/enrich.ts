import type { Call } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { withKnownIds } from '../../../run/known-ids.ts';
import { isNoReference } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import { hasFlag, itemOf, memberNames, memberOf, requestSchema, targetOf, wordsIn } from '../../../schema/parts.ts';
import { hasItemErrors } from '../../outcome.ts';

/** Maximum number of requests that add optional properties at the top level. */
const maxAdditions = 12;

type Freshen = (schema: JsonObject, body: unknown, seed: number) => unknown;

/** A create call with as many optional properties, also nested, and entries of lists as the server accepts. */
export async function enriched(session: Session, start: Call, freshened: Freshen): Promise<Call> {
  const { operation } = start;
  const schema = requestSchema(operation);
  if (schema === undefined || !isObject(start.body)) return start;
  const { document, validators } = session;
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
  const isReadOnly = (name: string) => hasFlag(document, memberOf(document, [schema], name), 'readOnly');
  await add(
    memberNames(document, schema).filter(
      (name) => !(name in body) && (most[name] ?? null) !== null && !isReadOnly(name),
    ),
  );
  for (const [name, value] of Object.entries(body)) {
    const fuller = most[name];
    if (!isObject(value) || !isObject(fuller) || Object.keys(fuller).every((key) => Object.hasOwn(value, key)))
      continue;
    await tried({ ...body, [name]: { ...fuller, ...value } }, `deepen ${name}`);
  }
  const seed = session.seedFor(`${operation.id} longer`);
  let longer = body;
  for (const [name, value] of Object.entries(body)) {
    const other = withSibling(session, memberOf(document, [schema], name), value, seed);
    const next = { ...longer, [name]: other };
    if (other !== undefined && validators.accepts(schema, next, 'request')) longer = next;
  }
  if (longer !== body) await tried(longer, 'longer');
  return { ...start, body };
}

/** A list or map of one entry with a second one. A single entry does not reveal a server that stores only the first. */
function withSibling(session: Session, members: readonly JsonObject[], value: unknown, seed: number): unknown {
  if (Array.isArray(value) && value.length === 1) {
    const items = itemOf(session.document, members);
    const words = wordsIn(session.document, items);
    const schema = targetOf(session.document, items);
    const fresh = schema && session.values.fresh(schema, value[0], seed, (_pointer, key) => isNoReference(key));
    const other = words.length > 0 ? words.find((word) => word !== value[0]) : fresh;
    return other === undefined ? undefined : [...value, other];
  }
  const [[key, member] = ['', undefined], ...others] = isObject(value) ? Object.entries(value) : [];
  if (key === '' || others.length > 0) return undefined;
  return { [key]: member, [`${key.slice(0, -1)}${key.endsWith('b') ? 'c' : 'b'}`]: member };
}
