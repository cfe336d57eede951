import type { OpenApiDocument } from '../../../document/document.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { keyOfName } from '../../../run/words.ts';
import { memberNames, partsOf } from '../../../schema/parts.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import type { Facts } from '../observe.ts';
import { isBlank } from './values.ts';

/** A parameter that selects properties: `fields` returns only those, `include` adds some. */
export interface Chooser {
  readonly name: string;
  readonly isOnly: boolean;
  /** Whether the properties that it adds are never returned otherwise. */
  readonly isStrict: boolean;
  readonly isList: boolean;
  readonly names: readonly string[];
}

/** The meaning of a parameter whose values are property names. */
export function chooserOf(
  document: OpenApiDocument,
  name: string,
  shape: Shape,
  shown: JsonObject,
  isStrict: boolean,
): Chooser | undefined {
  const isOnly = /^(?:fields|select|onlyfields|fieldset)$/.test(keyOfName(name));
  if (!isOnly && !/^(?:include|includes|expand|embed|populate|with)$/.test(keyOfName(name))) return undefined;
  const isList = shape.types.has('array');
  const words = (isList ? shapeOf(document, ...(shape.items ?? [])) : shape).enum ?? [];
  const members = memberNames(document, shown);
  const required = partsOf(document, shown).flatMap((part) => (Array.isArray(part.required) ? part.required : []));
  const names = words.map(String).filter((one) => !required.includes(one));
  // With values that are not properties, such as `all`, the meaning is unclear.
  const isClear = words.every((one) => typeof one === 'string' && members.includes(one));
  return !isClear || names.length < (isOnly ? 3 : 1)
    ? undefined
    : { name, isOnly, isStrict: isStrict && !isOnly, isList, names };
}

/** Sets of names to request: two of one name and, if several are allowed, two of two names. */
function choicesOf({ isList, names, isOnly }: Chooser, present: readonly string[]): string[][][] {
  const [first, second, third] = isOnly ? names.filter((name) => present.includes(name)) : names;
  if (first === undefined || (isOnly && third === undefined)) return [];
  if (second === undefined) return [[[first]]];
  if (!isOnly)
    return [
      names.slice(0, 3).map((name) => [name]),
      ...(isList
        ? [
            [
              [first, second],
              [second, first],
            ],
          ]
        : []),
    ];
  return [
    [[second], [third ?? first]],
    ...(isList
      ? [
          [
            [first, second],
            [third ?? first, second],
          ],
        ]
      : []),
  ];
}

interface Received {
  readonly resources: readonly JsonObject[];
  readonly exchange: Exchange;
}

/** Differences that both requests of a kind show. */
export async function chosenDifferences(
  chooser: Chooser,
  plain: Received,
  send: (value: unknown) => Promise<Received | undefined>,
): Promise<Facts[]> {
  const { name, isOnly, isStrict, isList, names: all } = chooser;
  const has = (list: readonly JsonObject[], member: string) => list.some((resource) => member in resource);
  const unasked = isStrict ? all.filter((one) => has(plain.resources, one)) : [];
  if (unasked.length > 0)
    return [
      {
        expected: `no ${unasked.join(', ')} without \`${name}\``,
        actual: `with ${unasked.join(', ')}`,
        exchanges: [plain.exchange],
      },
    ];
  // The properties that a name returns alone, so that it must also return them beside another.
  const single = new Set<string>();
  for (const choices of choicesOf(chooser, [
    ...new Set(plain.resources.flatMap((resource) => Object.keys(resource))),
  ])) {
    const found: { isLost: boolean; defects: readonly string[]; names: readonly string[]; exchange: Exchange }[] = [];
    for (const names of choices) {
      const received = await send(isList ? names : names[0]);
      if (received === undefined || received.resources.length === 0) continue;
      const { resources, exchange } = received;
      for (const one of names) if (names.length === 1 && has(resources, one)) single.add(one);
      const lost = names.filter((one) => {
        if (names.length > 1 && single.has(one) && !has(resources, one)) return true;
        if (isOnly) return has(plain.resources, one) && !has(resources, one);
        return resources.some((resource) => refersTo(resource, one) && !(one in resource));
      });
      const others = all.filter((one) => !names.includes(one) && has(plain.resources, one));
      // `id` and the like may always be returned. If all other properties are returned, the selection was ignored.
      const isIgnored = isOnly && others.length > 1 && others.every((one) => has(resources, one));
      if (lost.length > 0) found.push({ isLost: true, defects: lost, names, exchange });
      else if (isIgnored) found.push({ isLost: false, defects: others, names, exchange });
    }
    const [first] = found;
    if (
      first === undefined ||
      found.length < Math.min(2, choices.length) ||
      found.some((one) => one.isLost !== first.isLost)
    )
      continue;
    const named = first.names.join(', ');
    return [
      {
        expected: isOnly ? `only ${named}, and properties that are always returned` : `with ${named}`,
        actual: `${first.isLost ? 'without' : 'with'} ${first.defects.join(', ').slice(0, 120)}`,
        exchanges: [plain.exchange, first.exchange],
      },
    ];
  }
  return [];
}

/** Whether a resource has an ID of the related one, so that it can be embedded. Other relations may be empty. */
function refersTo(resource: JsonObject, name: string): boolean {
  return Object.entries(resource).some(([key, value]) => keyOfName(key) === `${keyOfName(name)}id` && !isBlank(value));
}
