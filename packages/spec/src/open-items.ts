/**
 * Prepares the contract, or a part of it, for the validation of whole requests. Items of bulk requests are validated one
 * by one, so that an invalid one fails alone: `x-items-open` defines what an item must be for the request to be valid,
 * whatever the schema around it requires.
 */
export function withOpenItems<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map((item) => withOpenItems(item)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  if ('x-items-open' in node) return node['x-items-open'] as Node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withOpenItems(value)])) as Node;
}
