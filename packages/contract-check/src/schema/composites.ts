import { escapeSegment, isObject, type JsonObject, objectOf, withMember, withoutMember } from '../json.ts';
import { isForeign, memberSchemas, nothing, shapeOf } from './shape.ts';
import { type Candidate, type Site, sourceOf, swapCase, unknownName } from './site.ts';

/** Candidates for the constraints of lists and objects, and for branches. */

const isComposite = true;

export function* lists(site: Site, list: readonly unknown[]): Generator<Candidate> {
  const { shape } = site;
  if (shape.minItems === 0) yield* site.bound('type', [[]], { detail: 'empty' });
  for (const source of shape.sources) {
    if (source.uniqueItems === true) yield* site.break('uniqueItems', twins(site, list), { source });
    const more = ['more', 1].map((item) => [...list, item]);
    if (source.items === false) yield* site.break('items', more, { source, isComposite });
  }
}

function* twins(site: Site, list: readonly unknown[]): Generator<unknown[]> {
  const [first] = list;
  if (list.length > 0) {
    if (list.length < site.shape.maxItems) yield [...list, first];
    yield [first, first, ...list.slice(2)];
  }
  for (const [item] of site.lists([], 1))
    yield [item, isObject(item) ? objectOf(Object.entries(item).reverse()) : item];
}

export function* objects(site: Site, object: JsonObject): Generator<Candidate> {
  const { shape, values } = site;
  const { document } = values;
  const names = Object.keys(object);
  const at = (name: string) => `${site.spot.pointer}/${escapeSegment(name)}`;
  const isOurs = (name: string) => !isForeign(shapeOf(document, ...(memberSchemas(shape, name) ?? [])), 'request');
  const [first] = Object.keys(object);
  for (const name of names.filter((one) => !shape.required.has(one))) {
    const [source] = shape.properties.get(name) ?? [];
    // If a minimum number of properties is required, another property replaces the omitted one.
    const wider = names.length > shape.minProperties ? [] : site.objects(object, names.length + 1);
    const parts = [object, ...wider].map((one) => withoutMember(one, name));
    const place = source && document.placeOf(source);
    yield* site.bound('required', parts, { source, place, detail: 'absent', pointer: at(name) });
  }
  if (shape.minProperties === 0)
    yield* site.bound('required', site.objects(object, names.filter((name) => shape.required.has(name)).length), {
      source: sourceOf(shape, 'required') ?? sourceOf(shape, 'properties'),
      detail: 'least',
    });
  for (const source of shape.sources) {
    for (const name of Array.isArray(source.required) ? source.required : [])
      if (typeof name === 'string' && Object.hasOwn(object, name) && isOurs(name))
        yield* site.break('required', [withoutMember(object, name)], { source, detail: name, pointer: at(name) });
    for (const keyword of ['additionalProperties', 'unevaluatedProperties']) {
      if (source[keyword] === true && keyword === 'additionalProperties')
        yield* site.bound(keyword, [withMember(object, 'anotherProperty', 'text')], { source });
      if (source[keyword] !== false) continue;
      const bases = first === undefined ? [object] : [object, withoutMember(object, first)];
      const parts = bases.map((one) => withMember(one, unknownName, 'unknown'));
      yield* site.break(keyword, parts, { source, pointer: at(unknownName) });
    }
    for (const [name, list] of Object.entries(isObject(source.dependentRequired) ? source.dependentRequired : {})) {
      const all = Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
      for (const needed of all) {
        const parts = [withoutMember(withAll(site, object, [name, ...all]), needed)];
        yield* site.break('dependentRequired', parts, { source, detail: `${name} ${needed}`, pointer: at(needed) });
      }
    }
  }
  for (const { propertyName, source } of shape.discriminators)
    if (Object.hasOwn(object, propertyName))
      yield* site.break('discriminator', [withMember(object, propertyName, 'NoSuchKind')], {
        source,
        pointer: at(propertyName),
        isComposite,
      });
}

/** The object with at least these properties. */
function withAll(site: Site, object: JsonObject, names: readonly string[]): JsonObject {
  return names.reduce((whole, name) => {
    const schemas = Object.hasOwn(whole, name) ? undefined : memberSchemas(site.shape, name);
    return schemas === undefined ? whole : withMember(whole, name, site.generate(schemas, 'least', 1, name));
  }, object);
}

/** The branches that the value matches. */
export function* branches(site: Site): Generator<Candidate> {
  for (const { choice, branch } of site.spot.matched) {
    const { keyword, source } = choice;
    const list = source[keyword];
    const place = Array.isArray(list) ? site.values.document.placeOf(list, String(branch)) : undefined;
    if (keyword !== 'if')
      yield* site.bound(keyword, [site.spot.value], { source, place, detail: String(branch), chosen: branch });
  }
}

/** Values that match no branch, two branches of `oneOf`, or `not`. */
export function* noBranches(site: Site): Generator<Candidate> {
  const { spot, shape } = site;
  const merged = (created: unknown) =>
    isObject(created) && isObject(spot.value) ? { ...spot.value, ...created } : created;
  for (const { keyword, source, branches: all } of shape.choices) {
    if (keyword === 'if') continue;
    const outside = [...outsiders(site, all)].filter((part) => !all.some((schemas) => site.accepts(schemas, part)));
    yield* site.break(keyword, outside, { source, detail: 'none', isComposite });
    if (keyword === 'anyOf') continue;
    const base = shape.sources.filter((one) => !all.some((schemas) => schemas.includes(one)));
    const both = (function* () {
      for (const [index, left] of all.entries())
        for (const right of all.slice(index + 1, index + 4)) {
          const created = site.generate([...base, ...left, ...right], 'least', index);
          if (site.accepts([...left, ...right], created)) yield merged(created);
        }
    })();
    yield* site.break(keyword, both, { source, detail: 'two', isComposite });
  }
  for (const source of shape.sources) {
    const { not } = source;
    if (!isObject(not) || source === nothing) continue;
    const parts = (function* () {
      for (let seed = 0; seed < 4; seed += 1)
        for (const extent of ['least', 'some', 'most'] as const) {
          const created = site.generate([...shape.sources, not], extent, seed);
          yield merged(created);
          yield created;
        }
    })();
    yield* site.break('not', parts, { source, isComposite });
  }
}

/** Values that may match no branch. Values of the wrong type come last, because they violate more. */
function* outsiders({ spot: { value }, values }: Site, all: readonly (readonly JsonObject[])[]): Generator<unknown> {
  if (isObject(value)) {
    const named = new Set(all.flatMap((schemas) => [...shapeOf(values.document, ...schemas).required]));
    yield objectOf(Object.entries(value).filter(([name]) => !named.has(name)));
    for (const name of named) yield withoutMember(value, name);
    yield {};
  }
  if (typeof value === 'string') yield* [swapCase(value), 'NO_SUCH_VALUE', ''];
  if (typeof value === 'number') yield value + 0.5;
  yield* ['NO_SUCH_VALUE', 12, true, null, [], {}, { [unknownName]: 1 }];
}
