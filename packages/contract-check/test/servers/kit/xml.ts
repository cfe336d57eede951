import { type Contract, type Json, type JsonObject, list, object } from './contract.ts';
import { scalar } from './parameters.ts';

/** Elements and texts of XML, as far as API documents need them, without document types and processing instructions. */
interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
}

const token =
  /<!\[CDATA\[([\s\S]*?)\]\]>|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)|(<)/g;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Parses a document as the value that a schema describes.
 *
 * @throws Error if it is not well-formed.
 */
export function readXml(contract: Contract, schema: JsonObject, text: string): Json {
  return readElement(contract, schema, parse(text));
}

/** Serializes a value with the names that the schema declares. */
export function writeXml(contract: Contract, schema: JsonObject, value: unknown, fallback = 'root'): string {
  const plain = merged(contract, schema);
  const name = nameOf(plain, fallback);
  const { namespace } = object(plain.xml);
  const text = element(contract, schema, name, value);
  const root = typeof namespace === 'string' ? text.replace(`<${name}`, `<${name} xmlns="${namespace}"`) : text;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`;
}

function parse(text: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  for (const [, cdata, closing, name, attributes, empty, plain, stray] of text.replace(/^\uFEFF/, '').matchAll(token)) {
    const top = open.at(-1) ?? root;
    if (stray !== undefined) throw new Error('a tag is broken');
    if (cdata !== undefined) top.text += cdata;
    if (plain !== undefined) top.text += unescaped(plain);
    if (name === undefined) continue;
    if (closing === '/') close(open, name);
    else begin(open, top, name, attributes ?? '', empty === '/');
  }
  const [first, ...more] = root.children;
  if (open.length !== 1 || first === undefined || more.length > 0 || root.text.trim() !== '') {
    throw new Error('the document is not well-formed');
  }
  return first;
}

function begin(open: Element[], top: Element, name: string, attributes: string, empty: boolean): void {
  if (open.length > 200) throw new Error('the document is nested too deep');
  const child: Element = { name: local(name), attributes: attributesOf(attributes), children: [], text: '' };
  top.children.push(child);
  if (!empty) open.push(child);
}

function close(open: Element[], name: string): void {
  if (open.length < 2 || open.pop()?.name !== local(name)) throw new Error(`</${name}> closes nothing`);
}

function attributesOf(text: string): Record<string, string> {
  const found = text.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g);
  return Object.fromEntries(
    [...found].map(([, name = '', double, single]) => [local(name), unescaped(double ?? single ?? '')]),
  );
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function unescaped(text: string): string {
  return text.replaceAll(/&([^;&\s]*);?/g, (whole, name: string) => {
    const code = /^#(?:x([0-9a-f]+)|(\d+))$/i.exec(name);
    const character =
      code === null
        ? entities[name]
        : String.fromCodePoint(Number.parseInt(code[1] ?? code[2] ?? '', code[1] === undefined ? 10 : 16));
    if (character === undefined || !whole.endsWith(';')) throw new Error(`${whole} is not known`);
    return character;
  });
}

/** The properties of a schema and of the schemas that it combines. */
function merged(contract: Contract, schema: JsonObject): JsonObject {
  const target =
    typeof schema.$ref === 'string'
      ? schema.$ref
          .slice(2)
          .split('/')
          .reduce<JsonObject>((value, name) => object(value[name]), contract.document)
      : {};
  const parts = [target, ...list(schema.allOf).map(object)].map((part) =>
    typeof part.$ref === 'string' || part.allOf !== undefined ? merged(contract, part) : part,
  );
  const all = [...parts, schema];
  return Object.assign({}, ...all, { properties: Object.assign({}, ...all.map((part) => part.properties)) });
}

function nameOf(schema: JsonObject, fallback: string): string {
  return String(object(schema.xml).name ?? fallback);
}

function readElement(contract: Contract, schema: JsonObject, from: Element): Json {
  const plain = merged(contract, schema);
  const types = [plain.type].flat();
  if (types.includes('array')) return from.children.map((child) => readElement(contract, object(plain.items), child));
  const isObject = types.includes('object') || Object.keys(object(plain.properties)).length > 0;
  return isObject ? objectOf(contract, plain, from) : scalar(plain, from.text);
}

function objectOf(contract: Contract, schema: JsonObject, from: Element): JsonObject {
  const value: JsonObject = {};
  const consumed = new Set<Element>();
  for (const [property, described] of Object.entries(object(schema.properties))) {
    const plain = merged(contract, object(described));
    const isBare = plain.type === 'array' && object(plain.xml).wrapped !== true;
    const name = isBare
      ? itemName(contract, plain, property)
      : nameOf(plain.type === 'array' ? plain : object(described), property);
    const own = from.children.filter((child) => child.name === name);
    for (const child of own) consumed.add(child);
    if (own.length === 0) continue;
    value[property] = isBare
      ? own.map((child) => readElement(contract, object(plain.items), child))
      : readElement(contract, plain, own.at(-1) as Element);
  }
  const others = object(schema.additionalProperties);
  if (from.children.some((child) => child.name === '__proto__')) throw new Error('an element has an impossible name');
  for (const child of from.children.filter((one) => !consumed.has(one)))
    value[child.name] = readElement(contract, others, child);
  return value;
}

function itemName(contract: Contract, array: JsonObject, property: string): string {
  return nameOf(merged(contract, object(array.items)), nameOf(array, property));
}

function element(contract: Contract, schema: JsonObject, name: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  const plain = merged(contract, schema);
  if (Array.isArray(value))
    return `<${name}>${value.map((item) => itemOf(contract, plain, name, item)).join('')}</${name}>`;
  if (typeof value !== 'object') return `<${name}>${escaped(String(value))}</${name}>`;
  const inner = Object.entries(value).map(([property, item]) => propertyOf(contract, plain, property, item));
  return `<${name}>${inner.join('')}</${name}>`;
}

function itemOf(contract: Contract, array: JsonObject, name: string, item: unknown): string {
  const items = object(array.items);
  return element(contract, items, nameOf(merged(contract, items), name), item);
}

function propertyOf(contract: Contract, schema: JsonObject, from: string, value: unknown): string {
  const described = object(object(schema.properties)[from] ?? schema.additionalProperties);
  // Names of free properties can contain any character, unlike names of elements.
  const property = from.replaceAll(/[^\w.-]/g, '_').replace(/^(?=[^A-Za-z_])|^$/, '_');
  const plain = merged(contract, described);
  if (!Array.isArray(value)) return element(contract, described, nameOf(described, property), value);
  if (object(plain.xml).wrapped === true) return wrapped(contract, plain, property, value);
  return value
    .map((item) => element(contract, object(plain.items), itemName(contract, plain, property), item))
    .join('');
}

function wrapped(contract: Contract, array: JsonObject, property: string, value: unknown[]): string {
  const name = nameOf(array, property);
  return `<${name}>${value.map((item) => itemOf(contract, array, name, item)).join('')}</${name}>`;
}

/** Characters that XML does not allow become the replacement character. */
function escaped(text: string): string {
  return (
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML excludes
      .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '\uFFFD')
  );
}
