import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../../../http/call.ts';
import { isObject, type JsonObject, jsonText, parsedJson, pointersIn, put, withMember } from '../../../json.ts';
import { isComplete } from '../../../judge/outcome.ts';
import { withKnownIds } from '../../../run/ids.ts';
import { isNoReference } from '../../../run/names.ts';
import { atTheTop, renewed } from '../../../run/renewal.ts';
import type { Session } from '../../../run/session.ts';
import { requestSchema, View } from '../../../schema/view.ts';
import { isSame } from './compare.ts';

const maxAdditions = 12;

/** A create call with as many optional properties and list entries as the server accepts. */
export async function enriched(session: Session, start: Call): Promise<Call> {
  const { operation } = start;
  const schema = requestSchema(operation) ?? {};
  const view = View.of(session.document, schema);
  const seed = session.seedFor(`${operation.id} rich`);
  const most = withKnownIds(session, operation, session.values.sample(schema, 'most', seed)?.value);
  if (!isObject(start.body) || !isObject(most)) return start;
  const accepts = (one: unknown) => session.validators.accepts(schema, one);
  let body = start.body;
  /** Takes over a body if the server accepts it. */
  const isTaken = async (next: JsonObject, label: string): Promise<boolean> => {
    if (session.isOver || isDeepStrictEqual(next, body) || !accepts(next)) return false;
    if (!isComplete(await session.send(renewed(session, { ...start, body: next }, label, atTheTop)))) return false;
    body = next;
    return true;
  };
  const isMissing = (name: string) => !(name in body) && (most[name] ?? null) !== null;
  const missing = view.names.filter((name) => isMissing(name) && !view.member(name).has('readOnly'));
  const all = Object.fromEntries(missing.map((name) => [name, most[name]]));
  // One property can be rejected, and the others accepted.
  if (!(await isTaken({ ...body, ...all }, 'all')))
    for (const name of missing.slice(0, maxAdditions)) await isTaken({ ...body, [name]: most[name] }, name);
  const deeper = Object.entries(body).map(([name, value]) => [
    name,
    withOptional(session, view.member(name), value, seed),
  ]);
  await isTaken(Object.fromEntries(deeper), 'deeper');
  const longer = Object.entries(body).reduce((whole, [name, value]) => {
    const next = withMember(whole, name, withSibling(session, view.member(name), value, seed));
    return accepts(next) ? next : whole;
  }, body);
  await isTaken(longer, 'longer');
  return { ...start, body };
}

/** An object with the optional properties of its branch, as far as these are valid. */
function withOptional(session: Session, { schemas, node }: View, value: unknown, seed: number): unknown {
  if (!isObject(value) || node === undefined) return value;
  const { values } = session;
  const missing = [...values.settled(schemas, value).properties].filter(([name]) => !(name in value));
  return missing.reduce<JsonObject>((whole, [name, own]) => {
    const next = withMember(whole, name, values.generate(own, 'some', seed, name));
    return next[name] !== null && values.acceptedBy(schemas, next) ? next : whole;
  }, value);
}

/** A list or map of one entry with a second one. A single entry does not reveal a server that stores only the first. */
function withSibling(session: Session, view: View, value: unknown, seed: number): unknown {
  if (Array.isArray(value) && value.length === 1) {
    const { words, node: schema } = view.items;
    const fresh = schema && session.values.fresh(schema, value[0], seed, (_pointer, key) => isNoReference(key));
    const other = words.length > 0 ? words.find((word) => word !== value[0]) : fresh;
    return other === undefined ? value : [...value, other];
  }
  const [[key, member] = ['', undefined], ...others] = isObject(value) ? Object.entries(value) : [];
  if (key === '' || others.length > 0) return value;
  return { [key]: member, [`${key.slice(0, -1)}${key.endsWith('b') ? 'c' : 'b'}`]: member };
}

/** The body without optional properties: its own ones, or only those of objects in it. */
export function withoutOptional(body: JsonObject, isInner: boolean, accepts: (body: unknown) => boolean): unknown {
  const isProperty = (pointer: string) => pointer !== '' && pointer.split('/').length <= 4 && !/\/\d+$/.test(pointer);
  const properties = pointersIn(body).filter(isProperty);
  const pointers = properties.filter((pointer) => pointer.lastIndexOf('/') > 0 === isInner);
  return pointers.reduce<unknown>((least, pointer) => {
    // Without members that are undefined.
    const rest = parsedJson(jsonText(put(least, pointer, undefined)))?.value;
    return accepts(rest) ? rest : least;
  }, body);
}

/** Other valid values for a scalar property, most likely accepted first. References are not changed. */
export function otherValues(session: Session, view: View, value: unknown, name: string, seed: number): unknown[] {
  const { node: schema, isEnum: isWord, words } = view;
  if (schema === undefined || !isNoReference(name)) return [];
  const start = words.length === 0 ? 0 : Math.abs(seed) % words.length;
  const samples = () => [session.values.fresh(schema, value, seed), session.values.sample(schema, 'some', seed)?.value];
  const candidates = isWord ? [...words.slice(start), ...words.slice(0, start)] : [...near(value), ...samples()];
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
