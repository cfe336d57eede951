import { withOpenItems } from '@financial-automation/spec/open-items';
import { type Contract, contract, type Schema } from './contract.ts';
import { withMembers } from './unions.ts';

/** Annotation keywords. Without them, a third of the contract remains, and the validator copies it several times. */
const words = new Set(['title', 'summary', 'description', 'example', 'examples', 'externalDocs']);

type Schemas = Readonly<Record<string, Schema>>;

/** The contract in the form that the validator processes quickly: only what applies to requests and responses. */
export function validationDocument(): { readonly document: object; readonly schemas: Schemas } {
  const { webhooks: _webhooks, components, ...others } = withoutWords(withOpenItems(contract));
  const { examples: _examples, schemas: all, ...parts }: Record<string, unknown> & Contract['components'] = components;
  const schemas = withMembers(all);
  const used = reachable(schemas, { ...others, parts });
  return { document: datesAsText({ ...others, components: { ...parts, schemas: used } }), schemas };
}

/** Copies a schema without annotations and extensions. Under `properties`, the same words are names. */
function withoutWords<Node>(node: Node, areNames = false): Node {
  if (Array.isArray(node)) return node.map((item) => withoutWords(item)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  const kept = Object.entries(node).filter(([key]) => areNames || !(words.has(key) || key.startsWith('x-')));
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutWords(value, key === 'properties')])) as Node;
}

/** Returns the schemas that operations refer to. Most others describe events and members of unions. */
function reachable(schemas: Schemas, start: object): Schemas {
  const found = new Map<string, Schema>();
  const next = namesIn(start);
  for (let name = next.pop(); name !== undefined; name = next.pop()) {
    const schema = schemas[name];
    if (schema === undefined || found.has(name)) continue;
    found.set(name, schema);
    next.push(...namesIn(schema));
  }
  return Object.fromEntries(found);
}

function namesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(namesIn);
  if (typeof node !== 'object' || node === null) return [];
  const own = '$ref' in node ? [String(node.$ref).replace('#/components/schemas/', '')] : [];
  return [...own, ...Object.values(node).flatMap(namesIn)];
}

/**
 * Replaces `type: string` by a list of one type in schemas with a date format. The validator would convert `Date` objects
 * to text there, at a cost for each value, but our responses already contain text.
 */
function datesAsText<Node>(node: Node): Node {
  if (typeof node !== 'object' || node === null) return node;
  if ('format' in node && 'type' in node && node.type === 'string' && /^date(-time)?$/.test(String(node.format))) {
    node.type = ['string'];
  }
  for (const child of Object.values(node)) datesAsText(child);
  return node;
}
