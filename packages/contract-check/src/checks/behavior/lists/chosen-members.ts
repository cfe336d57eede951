import type { OpenApiDocument } from '../../../document/document.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { keyOfName } from '../../../run/words.ts';
import { type Shape, shapeOf } from '../../../schema/shape.ts';
import { View } from '../../../schema/view.ts';
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
  const { names: members, parts } = View.of(document, shown);
  const required = parts.flatMap((part) => (Array.isArray(part.required) ? part.required : []));
  const names = words.map(String).filter((one) => !required.includes(one));
  // With values that are not properties, such as `all`, the meaning is unclear.
  const isClear = words.every((one) => typeof one === 'string' && members.includes(one));
  return !isClear || names.length < (isOnly ? 3 : 1)
    ? undefined
    : { name, isOnly, isStrict: isStrict && !isOnly, isList, names };
}

/** Sets of names to request: two of one name and, if several are allowed, two of two names. */
function choicesOf({ isList, names, isOnly }: Chooser, present: ReadonlySet<string>): string[][][] {
  const [first, second, third] = isOnly ? names.filter((name) => present.has(name)) : names;
  if (first === undefined || (isOnly && third === undefined)) return [];
  if (second === undefined) return [[[first]]];
  const other = third ?? first;
  const single = isOnly ? [[second], [other]] : names.slice(0, 3).map((name) => [name]);
  const double = [[first, second], isOnly ? [other, second] : [second, first]];
  return isList ? [single, double] : [single];
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
  const unasked = isStrict ? all.filter((one) => has(plain.resources, one)).join(', ') : '';
  if (unasked !== '')
    return [{ expected: `no ${unasked} without \`${name}\``, actual: `with ${unasked}`, exchanges: [plain.exchange] }];
  // The properties that a name returns alone, so that it must also return them beside another.
  const single = new Set<string>();
  const present = new Set(plain.resources.flatMap((resource) => Object.keys(resource)));
  for (const choices of choicesOf(chooser, present)) {
    const found: {
      way: 'with' | 'without';
      defects: readonly string[];
      names: readonly string[];
      exchange: Exchange;
    }[] = [];
    for (const names of choices) {
      const { resources = [], exchange } = (await send(isList ? names : names[0])) ?? {};
      if (exchange === undefined || resources.length === 0) continue;
      for (const one of names) if (names.length === 1 && has(resources, one)) single.add(one);
      const lost = names.filter((one) => {
        if (names.length > 1 && single.has(one) && !has(resources, one)) return true;
        if (isOnly) return has(plain.resources, one) && !has(resources, one);
        return resources.some((resource) => refersTo(resource, one) && !(one in resource));
      });
      const others = all.filter((one) => !names.includes(one) && has(plain.resources, one));
      // `id` and the like may always be returned. If all other properties are returned, the selection was ignored.
      const isIgnored = isOnly && others.length > 1 && others.every((one) => has(resources, one));
      if (lost.length > 0) found.push({ way: 'without', defects: lost, names, exchange });
      else if (isIgnored) found.push({ way: 'with', defects: others, names, exchange });
    }
    const [first] = found;
    const isEnough = found.length >= Math.min(2, choices.length) && found.every(({ way }) => way === first?.way);
    if (first === undefined || !isEnough) continue;
    const named = first.names.join(', ');
    return [
      {
        expected: isOnly ? `only ${named}, and properties that are always returned` : `with ${named}`,
        actual: `${first.way} ${first.defects.join(', ').slice(0, 120)}`,
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
