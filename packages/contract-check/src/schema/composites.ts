import { memberSchemas, nothing, shapeOf } from '../document/shape.ts';
import { escapeSegment, isObject, type JsonObject, objectOf, withMember, withoutMember } from '../json.ts';
import { bounding, breaking, type Candidate, sourceOf, swapCase, unknownName } from './candidate.ts';
import type { Spot } from './spots.ts';
import type { Values } from './values.ts';

/** Candidates for the constraints of lists and objects, and for branches. */

export function* lists(values: Values, spot: Spot, list: readonly unknown[]): Generator<Candidate> {
  const { shape } = spot;
  if (shape.minItems === 0) yield bounding('type', [[]], { detail: 'empty' });
  for (const source of shape.sources) {
    if (source.uniqueItems === true) yield breaking('uniqueItems', twins(values, spot, list), { source });
    const more = ['more', 1].map((item) => [...list, item]);
    if (source.items === false) yield breaking('items', more, { source });
  }
}

function* twins(values: Values, { shape, name }: Spot, list: readonly unknown[]): Generator<unknown[]> {
  const [first] = list;
  if (list.length > 0) {
    if (list.length < shape.maxItems) yield [...list, first];
    yield [first, first, ...list.slice(2)];
  }
  for (const [item] of values.lists(shape, [], 1, name))
    yield [item, isObject(item) ? objectOf(Object.entries(item).reverse()) : item];
}

export function* objects(values: Values, spot: Spot, object: JsonObject): Generator<Candidate> {
  const { shape, pointer } = spot;
  const { document } = values;
  const names = Object.keys(object);
  const at = (name: string) => `${pointer}/${escapeSegment(name)}`;
  const isOurs = (name: string) => !shapeOf(document, ...(memberSchemas(shape, name) ?? [])).readOnly;
  for (const name of names.filter((one) => !shape.required.has(one))) {
    const [source] = shape.properties.get(name) ?? [];
    const place = source && document.placeOf(source);
    yield bounding('required', [withoutMember(object, name)], { source, place, detail: 'absent', pointer: at(name) });
  }
  const least = objectOf(Object.entries(object).filter(([name]) => shape.required.has(name)));
  const source = sourceOf(shape, 'required') ?? sourceOf(shape, 'properties');
  yield bounding('required', [least], { source, detail: 'least' });
  for (const source of shape.sources) {
    for (const name of Array.isArray(source.required) ? source.required : [])
      if (typeof name === 'string' && Object.hasOwn(object, name) && isOurs(name))
        yield breaking('required', [withoutMember(object, name)], { source, detail: name, pointer: at(name) });
    for (const keyword of ['additionalProperties', 'unevaluatedProperties']) {
      if (source[keyword] === true && keyword === 'additionalProperties')
        yield bounding(keyword, [withMember(object, 'anotherProperty', 'text')], { source });
      if (source[keyword] !== false) continue;
      // Another property is possible only alone if the object has its maximum of properties.
      const parts = [object, {}].map((one) => withMember(one, unknownName, 'unknown'));
      yield breaking(keyword, parts, { source, pointer: at(unknownName) });
      // A server that knows the properties of all branches can accept them in each.
      for (const [name, schemas] of ofOtherBranches(values, spot))
        yield breaking(keyword, [withMember(object, name, values.generate(schemas, 'least', 1, name))], {
          source,
          pointer: at(name),
        });
    }
    for (const [name, list] of Object.entries(isObject(source.dependentRequired) ? source.dependentRequired : {})) {
      const all = Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
      const memberOf = (one: string) => values.generate(memberSchemas(shape, one) ?? [], 'least', 1, one);
      const whole = { ...objectOf([name, ...all].map((one) => [one, memberOf(one)])), ...object };
      for (const needed of all) {
        const more = { source, detail: `${name} ${needed}`, pointer: at(needed) };
        yield breaking('dependentRequired', [withoutMember(whole, needed)], more);
      }
    }
  }
  for (const { propertyName, source } of shape.discriminators)
    if (Object.hasOwn(object, propertyName))
      yield breaking('discriminator', [withMember(object, propertyName, 'NoSuchKind')], {
        source,
        pointer: at(propertyName),
      });
}

/** The properties that only branches that the value does not match declare, each once. */
function ofOtherBranches({ document }: Values, { matched, shape }: Spot): Map<string, readonly JsonObject[]> {
  const others = matched.flatMap(({ choice, branch }) => choice.branches.filter((_, index) => index !== branch));
  const properties = others.flatMap((schemas) => [...shapeOf(document, ...schemas).properties]);
  return new Map(properties.filter(([name]) => !shape.properties.has(name)));
}

export function* branches({ document }: Values, { matched, value }: Spot): Generator<Candidate> {
  for (const { choice, branch } of matched) {
    const { keyword, source } = choice;
    const list = source[keyword];
    const place = Array.isArray(list) ? document.placeOf(list, String(branch)) : undefined;
    if (keyword !== 'if') yield bounding(keyword, [value], { source, place, detail: String(branch) });
  }
}

/** Values that match no branch, two branches of `oneOf`, or `not`. */
export function* noBranches(values: Values, spot: Spot): Generator<Candidate> {
  const { shape, name } = spot;
  const merged = (created: unknown) =>
    isObject(created) && isObject(spot.value) ? { ...spot.value, ...created } : created;
  for (const { keyword, source, branches: all } of shape.choices) {
    if (keyword === 'if' || keyword === 'discriminator') continue;
    const isOutside = (part: unknown) => !all.some((schemas) => values.acceptedBy(schemas, part));
    yield breaking(keyword, outsiders(values, spot, all).filter(isOutside), { source, detail: 'none' });
    if (keyword === 'anyOf') continue;
    const base = shape.sources.filter((one) => !all.some((schemas) => schemas.includes(one)));
    const pairs = all.flatMap((left, index) => all.slice(index + 1, index + 4).map((right) => [...left, ...right]));
    const both = pairs
      .values()
      .map((schemas) => ({ schemas, part: values.generate([...base, ...schemas], 'least', 1, name) }))
      .filter(({ schemas, part }) => values.acceptedBy(schemas, part));
    yield breaking(
      keyword,
      both.map(({ part }) => merged(part)),
      { source, detail: 'two' },
    );
  }
  for (const source of shape.sources) {
    const { not } = source;
    if (!isObject(not) || source === nothing) continue;
    const created = (['least', 'some', 'most', 'some'] as const)
      .values()
      .map((extent, seed) => values.generate([...shape.sources, not], extent, seed, name));
    yield breaking(
      'not',
      created.flatMap((part) => [merged(part), part]),
      { source },
    );
  }
}

/** Values that may match no branch. Values of the wrong type come last, because they violate more. */
function* outsiders(values: Values, { value }: Spot, all: readonly (readonly JsonObject[])[]): Generator<unknown> {
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
