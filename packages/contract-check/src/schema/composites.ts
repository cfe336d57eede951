import { escapeSegment, isObject, type JsonObject, objectOf, withMember, withoutMember } from '../json.ts';
import { isForeign, memberSchemas, nothing, shapeOf } from './shape.ts';
import { type Candidate, type Site, sourceOf, swapCase, unknownName } from './site.ts';

/** Candidates for the constraints of lists and objects, and for branches. */

export function* lists(site: Site, list: readonly unknown[]): Generator<Candidate> {
  const { shape, subject } = site;
  const isComposite = true;
  if (shape.minItems === 0) yield* site.bound('type', [[]], 'is empty', { detail: 'empty' });
  for (const source of shape.sources) {
    const same = () => `two items of ${subject} are the same`;
    if (source.uniqueItems === true) yield* site.break('uniqueItems', twins(site, list), '', { source, note: same });
    const longer = ['more', 1].map((item) => [...list, item]);
    for (const keyword of ['items', 'unevaluatedItems', 'additionalItems'])
      if (source[keyword] === false)
        yield* site.break(keyword, longer, 'has more items than prefixItems', { source, isComposite });
  }
  for (const { schema, source, least, most } of shape.contains) {
    const isContained = (item: unknown) => site.accepts([schema], item);
    const none = list.filter((item) => !isContained(item));
    const others = site.lists(none, Math.max(1, shape.minItems), (item) => !isContained(item));
    const tooFew = () => `too few items of ${subject} match contains`;
    if (least > 0) yield* site.break('contains', [none, ...others], '', { source, note: tooFew, isComposite });
    const sample = list.find(isContained);
    const note = () => `more items of ${subject} match contains than maxContains allows`;
    if (Number.isFinite(most) && sample !== undefined)
      yield* site.break('maxContains', [[...list, ...Array<unknown>(most).fill(sample)]], '', {
        ...{ source, note, isComposite },
      });
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
  const { shape, subject, document, direction } = site;
  const names = Object.keys(object);
  const at = (name: string) => `${site.spot.pointer}/${escapeSegment(name)}`;
  const isOurs = (name: string) => !isForeign(shapeOf(document, ...(memberSchemas(shape, name) ?? [])), direction);
  const [first, sample = 'text'] = Object.entries(object)[0] ?? [];
  for (const name of names.filter((one) => !shape.required.has(one))) {
    const [source] = shape.properties.get(name) ?? [];
    // If a minimum number of properties is required, another property replaces the omitted one.
    const wider = names.length > shape.minProperties ? [] : site.objects(object, names.length + 1);
    const parts = [object, ...wider].map((one) => withoutMember(one, name));
    const note = () => `${site.named(name)} is omitted, and is not required`;
    const place = source && document.placeOf(source);
    yield* site.bound('required', parts, '', { source, place, detail: 'absent', pointer: at(name), note });
  }
  if (shape.minProperties === 0)
    yield* site.bound('required', site.objects(object, names.filter((name) => shape.required.has(name)).length), '', {
      ...{ source: sourceOf(shape, 'required') ?? sourceOf(shape, 'properties'), detail: 'least' },
      note: () => `${subject} has only required properties`,
    });
  for (const source of shape.sources) {
    for (const name of Array.isArray(source.required) ? source.required : []) {
      if (typeof name !== 'string' || !Object.hasOwn(object, name) || !isOurs(name)) continue;
      const note = () => `${site.named(name)} is missing`;
      const more = { source, detail: name, pointer: at(name), note };
      yield* site.break('required', [withoutMember(object, name)], '', more);
    }
    for (const keyword of ['additionalProperties', 'unevaluatedProperties']) {
      if (source[keyword] === true && keyword === 'additionalProperties')
        yield* site.bound(keyword, [withMember(object, 'anotherProperty', 'text')], 'has an unknown property', {
          source,
        });
      if (source[keyword] !== false) continue;
      const instead = first === undefined ? [] : [withMember(withoutMember(object, first), unknownName, 'unknown')];
      const note = () => `${site.named(unknownName)} is not in the contract`;
      const parts = [withMember(object, unknownName, 'unknown'), ...instead];
      yield* site.break(keyword, parts, '', { source, pointer: at(unknownName), note });
    }
    for (const [name, list] of Object.entries(isObject(source.dependentRequired) ? source.dependentRequired : {})) {
      const all = Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
      for (const needed of all) {
        const note = () => `${site.named(needed)} is missing, but ${name} requires it`;
        const parts = [withoutMember(withAll(site, object, [name, ...all]), needed)];
        const more = { source, detail: `${name} ${needed}`, pointer: at(needed), note };
        yield* site.break('dependentRequired', parts, '', more);
      }
    }
    if (source.propertyNames !== undefined) {
      const wrong = ['', ' ', '!', 'not a name', 'NOT', 'not', '0', 'x'.repeat(300)];
      const parts = wrong.map((name) => withMember(object, name, sample));
      const note = () => `a property name in ${subject} does not match propertyNames`;
      yield* site.break('propertyNames', parts, '', { source, note, isComposite: true });
    }
  }
  for (const { propertyName, source } of shape.discriminators) {
    if (!Object.hasOwn(object, propertyName)) continue;
    const note = () => `${site.named(propertyName)} has an unknown value`;
    const parts = [withMember(object, propertyName, 'NoSuchKind')];
    yield* site.break('discriminator', parts, '', { source, pointer: at(propertyName), note, isComposite: true });
  }
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
    const place = Array.isArray(list) ? site.document.placeOf(list, String(branch)) : undefined;
    if (keyword !== 'if')
      yield* site.bound(keyword, [site.spot.value], `matches branch ${branch + 1} of ${keyword}`, {
        ...{ source, place, detail: String(branch), chosen: branch },
      });
  }
}

/** Values that match no branch, two branches of `oneOf`, or `not`. */
export function* noBranches(site: Site): Generator<Candidate> {
  const { spot, shape } = site;
  const isComposite = true;
  const merged = (created: unknown) =>
    isObject(created) && isObject(spot.value) ? { ...spot.value, ...created } : created;
  for (const { keyword, source, branches: all } of shape.choices) {
    if (keyword === 'if') continue;
    const outside = [...outsiders(site, all)].filter((part) => !all.some((schemas) => site.accepts(schemas, part)));
    yield* site.break(keyword, outside, `matches no branch of ${keyword}`, { source, detail: 'none', isComposite });
    if (keyword === 'anyOf') continue;
    const base = shape.sources.filter((one) => !all.some((schemas) => schemas.includes(one)));
    const both = (function* () {
      for (const [index, left] of all.entries())
        for (const right of all.slice(index + 1, index + 4)) {
          const created = site.generate([...base, ...left, ...right], 'least', index);
          if (site.accepts([...left, ...right], created)) yield merged(created);
        }
    })();
    yield* site.break(keyword, both, 'matches more than one branch of oneOf', { source, detail: 'two', isComposite });
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
    yield* site.break('not', parts, 'matches `not`', { source, isComposite });
  }
}

/** Values that may match no branch. Values of the wrong type come last, because they violate more. */
function* outsiders({ spot: { value }, document }: Site, all: readonly (readonly JsonObject[])[]): Generator<unknown> {
  if (isObject(value)) {
    const named = new Set(all.flatMap((schemas) => [...shapeOf(document, ...schemas).required]));
    yield objectOf(Object.entries(value).filter(([name]) => !named.has(name)));
    for (const name of named) yield withoutMember(value, name);
    yield {};
  }
  if (typeof value === 'string') yield* [swapCase(value), 'NO_SUCH_VALUE', ''];
  if (typeof value === 'number') yield value + 0.5;
  yield* ['NO_SUCH_VALUE', 12, true, null, [], {}, { [unknownName]: 1 }];
}
