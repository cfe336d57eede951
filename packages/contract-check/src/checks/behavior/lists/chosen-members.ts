import type { OpenApiDocument } from '../../../document/document.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { keyOfName } from '../../../run/words.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { memberNames, partsOf } from '../resources/schema.ts';
import { isBlank } from './compare.ts';
import type { Listing } from './listing.ts';
import { widest } from './listing.ts';
import type { Probe } from './probe.ts';

/** A parameter that selects properties: `fields` returns only those, `include` adds some. */
export interface Chooser {
  readonly name: string;
  readonly kind: 'only' | 'besides';
  readonly isList: boolean;
  readonly names: readonly string[];
}

interface Chosen {
  readonly value: unknown;
  readonly names: readonly string[];
}

const only = /^(?:fields|select|onlyfields|fieldset)$/;
const additions = /^(?:include|includes|expand|embed|populate|with)$/;

/** The meaning of a parameter whose values are property names. */
export function chooserOf(
  document: OpenApiDocument,
  name: string,
  shape: Shape,
  shown: JsonObject,
): Chooser | undefined {
  const kind = only.test(keyOfName(name)) ? 'only' : additions.test(keyOfName(name)) ? 'besides' : undefined;
  const isList = shape.types.has('array');
  const item = isList ? shapeOf(document, ...(shape.items ?? [])) : shape;
  const members = memberNames(document, shown);
  const required = new Set(
    partsOf(document, shown).flatMap((part) => (Array.isArray(part.required) ? part.required : [])),
  );
  const names = (item.enum ?? []).filter(
    (one) => typeof one === 'string' && members.includes(one) && !required.has(one),
  );
  // With values that are not properties, such as `all`, the meaning is unclear.
  const isPlain = (item.enum ?? []).every((one) => typeof one === 'string' && members.includes(one));
  return kind === undefined || !isPlain || names.length < 1 || (kind === 'only' && names.length < 3)
    ? undefined
    : { name, kind, isList, names: names.map(String) };
}

/** Requests for one name and, if several are allowed, for two; each with two sets of names. */
export function choicesOf({ isList, names, kind }: Chooser, present: readonly string[]): Chosen[][] {
  const usable = kind === 'only' ? names.filter((name) => present.includes(name)) : names;
  const one = (name: string): Chosen => ({ value: isList ? [name] : name, names: [name] });
  const [first, second, third] = usable;
  if (first === undefined) return [];
  if (kind === 'besides')
    return [
      usable.slice(0, 3).map(one),
      ...(isList && second !== undefined
        ? [
            [
              { value: [first, second], names: [first, second] },
              { value: [second, first], names: [second, first] },
            ],
          ]
        : []),
    ];
  if (second === undefined || third === undefined) return [];
  return [
    [one(second), one(third)],
    ...(isList
      ? [
          [
            { value: [first, second], names: [first, second] },
            { value: [third, first], names: [third, first] },
          ],
        ]
      : []),
  ];
}

export interface Misshown {
  readonly what: 'ignored' | 'lost';
  readonly names: readonly string[];
}

/**
 * What is wrong with resources that were requested with selected properties.
 * @param plain resources without a selection.
 */
export function misshown(
  { kind, names: all }: Chooser,
  { names }: Chosen,
  resources: readonly JsonObject[],
  plain: readonly JsonObject[],
): Misshown | undefined {
  const has = (list: readonly JsonObject[], name: string) => list.some((resource) => name in resource);
  const lost = names.filter((name) =>
    kind === 'only'
      ? has(plain, name) && !has(resources, name)
      : resources.some((resource) => refersTo(resource, name) && !(name in resource)),
  );
  if (resources.length === 0) return undefined;
  if (lost.length > 0) return { what: 'lost', names: lost };
  const others = all.filter((name) => !names.includes(name) && has(plain, name));
  // `id` and the like may always be returned. If all other properties are returned, the selection was ignored.
  return kind === 'only' && others.length > 1 && others.every((name) => has(resources, name))
    ? { what: 'ignored', names: others }
    : undefined;
}

/** Whether a resource has an ID of the related one, so that it can be embedded. Other relations may be empty. */
function refersTo(resource: JsonObject, name: string): boolean {
  return Object.entries(resource).some(([key, value]) => keyOfName(key) === `${keyOfName(name)}id` && !isBlank(value));
}

/**
 * Differences that both requests of a kind show. For several names, the properties that each returns alone are known.
 */
export async function chosenDifferences(
  chooser: Chooser,
  plain: readonly JsonObject[],
  send: (value: unknown) => Promise<{ resources: readonly JsonObject[]; exchange: Exchange } | undefined>,
): Promise<{ title: string; expected: string; actual: string; exchange: Exchange }[]> {
  const single = new Set<string>();
  for (const choices of choicesOf(chooser, [...new Set(plain.flatMap((resource) => Object.keys(resource)))])) {
    const found: { defect: Misshown; choice: Chosen; exchange: Exchange }[] = [];
    for (const choice of choices) {
      const response = await send(choice.value);
      if (response === undefined) continue;
      const { resources, exchange } = response;
      const shown = (name: string) => resources.some((resource) => name in resource);
      for (const name of choice.names) if (choice.names.length === 1 && shown(name)) single.add(name);
      const gone = choice.names.filter(
        (name) => choice.names.length > 1 && single.has(name) && !shown(name) && resources.length > 0,
      );
      const defect =
        gone.length > 0 ? { what: 'lost' as const, names: gone } : misshown(chooser, choice, resources, plain);
      if (defect !== undefined) found.push({ defect, choice, exchange });
    }
    const [first] = found;
    if (
      first === undefined ||
      found.length < Math.min(2, choices.length) ||
      found.some(({ defect }) => defect.what !== first.defect.what)
    )
      continue;
    const requestedNames = first.choice.names.join(', ');
    return [
      {
        title:
          first.defect.what === 'lost'
            ? `Properties requested by \`${chooser.name}\` are not returned`
            : `Properties that \`${chooser.name}\` does not request are returned`,
        expected:
          chooser.kind === 'only'
            ? `only ${requestedNames}, and properties that are always returned`
            : `with ${requestedNames}`,
        actual: `${first.defect.what === 'lost' ? 'without' : 'with'} ${first.defect.names.join(', ').slice(0, 120)}`,
        exchange: first.exchange,
      },
    ];
  }
  return [];
}

/** Probes for every list parameter that selects properties of rows. */
export function chosenProbes({ document, slots, rowSchema }: Listing): Probe[] {
  return slots.flatMap((slot): Probe[] => {
    const chooser =
      rowSchema === undefined || slot.path.length > 1 || slot.isRequired
        ? undefined
        : chooserOf(document, slot.name, slot.shape, rowSchema);
    if (chooser === undefined) return [];
    return [
      async (listing, list) => {
        const found = await chosenDifferences(chooser, list.rows, async (value) => {
          const page = await listing.reader.read([...widest(listing), [slot, value]]);
          return page === undefined ? undefined : { resources: page.rows, exchange: page.exchange };
        });
        return found.map(({ exchange, ...one }) => ({
          ...one,
          check: 'members-chosen',
          slot,
          fix: 'Return the requested properties.',
          exchanges: [...list.pages.slice(0, 1).map((page) => page.exchange), exchange],
        }));
      },
    ];
  });
}
