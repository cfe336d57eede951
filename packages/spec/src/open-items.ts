/**
 * The contract, or a part of it, as whole requests are held to it. Items of bulk calls are validated one by one, so that one that
 * is wrong fails alone: `x-items-open` is what an item must be for the request to be valid, whatever the schema around it requires.
 */
export function withOpenItems<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map((item) => withOpenItems(item)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  if ('x-items-open' in node) return node['x-items-open'] as Node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withOpenItems(value)])) as Node;
}
