/** Schemas of the contract as Markdown: a list of properties with types and limits, in which other schemas are links. */

/** The used parts of a JSON Schema of the bundle. */
export interface Shape {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape;
  readonly additionalProperties?: boolean | Shape;
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
}

/** The URL of a schema's page, relative to the page that links to it. */
export type SchemaLink = (name: string) => string;

/** A type in words, on one line: "array of [Client](…)", "string (uuid) or null". */
export function typeInWords(shape: Shape, link: SchemaLink): string {
  if (shape.$ref !== undefined) return `[${schemaName(shape.$ref)}](${link(schemaName(shape.$ref))})`;
  const members = shape.oneOf ?? shape.anyOf;
  if (members !== undefined) return members.map((member) => typeInWords(member, link)).join(' or ');
  if (shape.enum !== undefined) return shape.enum.map(coded).join(', ');
  if (shape.items !== undefined) {
    const array = `array of ${typeInWords(shape.items, link)}`;
    return isNullable(shape) ? `${array}, or null` : array;
  }
  const types = [shape.type ?? 'any JSON value'].flat().join(' or ');
  return shape.format === undefined ? types : `${types} (${shape.format})`;
}

/** Limits and default of a value, each a short phrase. */
export function limitsInWords(shape: Shape): string[] {
  return [
    range(shape.minLength, shape.maxLength, 'character'),
    range(shape.minItems, shape.maxItems, 'item'),
    range(shape.minProperties, shape.maxProperties, 'property', 'properties'),
    range(shape.minimum, shape.maximum),
    shape.uniqueItems === true ? 'unique items' : '',
    shape.pattern === undefined ? '' : `pattern \`${shape.pattern}\``,
    shape.default === undefined ? '' : `default ${coded(shape.default)}`,
  ].filter((phrase) => phrase !== '');
}

/** The properties of an object as a list, with nested lists for nested objects; for any other schema, its type. */
export function shapeOf(shape: Shape, link: SchemaLink, indent = ''): string {
  const properties = Object.entries(propertiesOf(shape));
  if (properties.length === 0) {
    const limits = limitsInWords(shape);
    const lines = [`Type: ${[typeInWords(shape, link), ...limits].join('; ')}.`];
    if (typeof shape.additionalProperties === 'object') {
      lines.push(`Values of its properties: ${typeInWords(shape.additionalProperties, link)}.`);
    }
    return lines.join(' ');
  }
  return properties.map(([name, property]) => itemOf(name, property, shape, link, indent)).join('\n');
}

function itemOf(name: string, property: Shape, owner: Shape, link: SchemaLink, indent: string): string {
  const facts = [
    typeInWords(property, link),
    ...(owner.required?.includes(name) === true ? ['required'] : []),
    ...limitsInWords(property),
  ];
  const text = (property.description ?? '').trim();
  const deeper = `${indent}  `;
  const [first = '', ...rest] = text.split('\n');
  const lines = [`${indent}- \`${name}\`: ${facts.join('; ')}.${first === '' ? '' : ` ${first}`}`];
  for (const line of rest) lines.push(line === '' ? '' : `${deeper}${line}`);
  const inner = propertiesOf(property.items ?? property);
  if (Object.keys(inner).length > 0) lines.push(shapeOf(property.items ?? property, link, deeper));
  return lines.join('\n');
}

/** The schemas that a schema directly refers to. */
export function schemasIn(shape: Shape): Set<string> {
  const names = new Set<string>();
  const visit = (part: Shape): void => {
    if (part.$ref !== undefined) names.add(schemaName(part.$ref));
    const parts = [...Object.values(part.properties ?? {}), ...(part.oneOf ?? []), ...(part.anyOf ?? [])];
    if (part.items !== undefined) parts.push(part.items);
    if (typeof part.additionalProperties === 'object') parts.push(part.additionalProperties);
    for (const each of parts) visit(each);
  };
  visit(shape);
  return names;
}

export function schemaName(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}

function propertiesOf(shape: Shape): Readonly<Record<string, Shape>> {
  return shape.$ref === undefined ? (shape.properties ?? {}) : {};
}

function isNullable({ type }: Shape): boolean {
  return [type].flat().includes('null');
}

function coded(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function range(from: number | undefined, to: number | undefined, unit = '', units = `${unit}s`): string {
  if (from === undefined && to === undefined) return '';
  const named = unit === '' ? '' : ` ${(to ?? from) === 1 ? unit : units}`;
  if (to === undefined) return `at least ${number(from)}${named}`;
  if (from === undefined) return `at most ${number(to)}${named}`;
  return from === to ? `${number(to)}${named}` : `${number(from)} to ${number(to)}${named}`;
}

function number(value: number | undefined): string {
  return (value ?? 0).toLocaleString('en');
}
