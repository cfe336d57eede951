import type { Schema } from '../../src/contract/contract.ts';
import { fieldsOf } from '../../src/contract/fields.ts';
import { hasType, isAccepted, type PlainSchema, plain } from './places.ts';

/** What a body contains in addition to its required properties. */
export interface Choices {
  /** Whether it contains the optional value. */
  includes(pointer: string, schema: PlainSchema): boolean;
  /** The value instead of an ordinary one; undefined for the ordinary one. */
  value(pointer: string, schema: PlainSchema): unknown;
  /** Number of items of a list. */
  items(pointer: string, schema: PlainSchema): number;
}

export const onlyRequired: Choices = { includes: () => false, value: () => undefined, items: () => 1 };

/** Contains the value at a pointer, in the objects and lists that lead to it. */
export function withValue(target: string, value: unknown): Choices {
  return {
    includes: (pointer) => target === pointer || target.startsWith(`${pointer}/`),
    value: (pointer) => (pointer === target ? value : undefined),
    items: () => 1,
  };
}

/** Contains so many items of the list at a pointer. */
export function withItems(target: string, count: number): Choices {
  return { ...withValue(target, undefined), items: (pointer) => (pointer === target ? count : 1) };
}

/** Values that the schema cannot tell: IDs of rows, and what rules require. */
export interface Knowledge {
  /** The ID of a row of a type that a new row can refer to. */
  idOf(type: string): string;
  /** Whether the property of a door, as `door/pointer`, is required by rules. All items of lists have the index 0. */
  requires(key: string): boolean;
  /** The value for a property. Undefined if any value is valid. */
  known(key: string): unknown;
}

/** Creates valid bodies of requests from their schemas. Texts are unique. */
export class Bodies {
  readonly #knowledge: Knowledge;
  #count = 0;

  constructor(knowledge: Knowledge) {
    this.#knowledge = knowledge;
  }

  /** A number that texts have not contained yet. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /** The attributes of a new row of a type. */
  attributes(type: string, schema: Schema, choices: Choices): object {
    const required = fieldsOf(type).filter((field) => field.requiredOnCreate);
    return Object(this.make(type, { ...schema, required: required.map(({ name }) => name) }, choices));
  }

  /** @param door names the values that only rules tell. */
  make(door: string, schema: Schema, choices: Choices): unknown {
    return this.#value({ door, choices }, schema, '');
  }

  #value(context: { readonly door: string; readonly choices: Choices }, schema: Schema, pointer: string): unknown {
    const { door, choices } = context;
    const full = plain(schema);
    const chosen = choices.value(pointer, full);
    if (chosen !== undefined) return chosen;
    const known = this.#knowledge.known(keyOf(door, pointer));
    if (known !== undefined) return known;
    const references = schema['x-references'] ?? full['x-references'];
    if (full.properties !== undefined) return this.#object(context, full, pointer);
    if (full.items !== undefined) {
      const items = references === undefined ? full.items : { ...full.items, 'x-references': references };
      const count = Math.min(choices.items(pointer, full), 1_001);
      return Array.from({ length: count }, (_, index) => this.#value(context, items, `${pointer}/${index}`));
    }
    if (references !== undefined) return this.#knowledge.idOf(references);
    return this.#leaf(full);
  }

  #object(context: { readonly door: string; readonly choices: Choices }, schema: Schema, pointer: string): object {
    const { properties = {}, oneOf = [], anyOf = [] } = schema;
    const alternatives = [...oneOf, ...anyOf].filter(({ required }) => required !== undefined);
    const isIncluded = ({ required = [] }: Schema) =>
      required.some((name) => context.choices.includes(`${pointer}/${name}`, plain(properties[name] ?? {})));
    const alternative = alternatives.find(isIncluded) ?? alternatives[0];
    const required = new Set([...(schema.required ?? []), ...(alternative?.required ?? [])]);
    const names = Object.keys(properties).filter(
      (name) =>
        required.has(name) ||
        this.#knowledge.requires(keyOf(context.door, `${pointer}/${name}`)) ||
        (context.choices.includes(`${pointer}/${name}`, plain(properties[name] ?? {})) &&
          !excludes(oneOf, name, required)),
    );
    return Object.fromEntries(
      names.map((name) => [name, this.#value(context, properties[name] ?? {}, `${pointer}/${name}`)]),
    );
  }

  #leaf(schema: PlainSchema): unknown {
    const { enum: values, minimum = 1, patterns, format, 'x-scale': scale = 0, maxLength = 40 } = schema;
    if (values !== undefined) return values[0];
    if (hasType(schema, 'boolean')) return true;
    if (hasType(schema, 'integer')) return Math.max(minimum, 1);
    if (!hasType(schema, 'string')) return {};
    if (format === 'decimal') return scale === 0 ? '1' : `1.${'0'.repeat(scale)}`;
    const text = `T${this.next()}`;
    if (format === 'email') return `${text.toLowerCase()}@example.com`;
    if (format === 'uri') return `https://hooks.example.com/${text}`;
    if (patterns.length === 0) return text.slice(0, maxLength);
    const found = [text, text.toLowerCase(), `${text}{N}`, ...formats].find((one) => isAccepted(schema, one));
    if (found === undefined) throw new Error(`Add a text that matches ${patterns.join(' ')}.`);
    return found;
  }
}

function keyOf(door: string, pointer: string): string {
  return `${door}${pointer.replaceAll(/\/\d+(?=\/|$)/g, '/0')}`;
}

/** Of properties that exclude each other, only the first is sent. */
function excludes(oneOf: readonly Schema[], name: string, required: ReadonlySet<string>): boolean {
  return !required.has(name) && oneOf.some((choice) => choice.required?.includes(name) === true);
}

const formats = [
  '2026-03-02',
  '2026-03-02T10:00:00.000Z',
  'P1D',
  'US',
  'USD',
  'America/New_York',
  '+15035550142',
  '336612',
  '4242',
  '12-3456789',
  'R01',
  '0199c3d3-0c01-7c01-8a4f-5d2e9b60f1ff',
  `whsec_${'A'.repeat(43)}=`,
];
