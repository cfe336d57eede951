/**
 * Prepares the contract, or a part of it, for the validation of whole requests. Items with `x-items-open` are validated one
 * by one, so that an invalid one fails alone: within the request, they can be anything.
 */
export function withOpenItems<Node>(node: Node): Node {
  return replaceItems(node, () => ({}));
}

/**
 * Describes items with `x-items-open` by what they have in common, which is much shorter than a member for each type of row.
 */
export function withCommonItems<Node>(node: Node): Node {
  return replaceItems(node, (item) => (item['x-items-open'] === true ? item : item['x-items-open']));
}

function replaceItems<Node>(node: Node, replace: (item: Readonly<Record<string, unknown>>) => unknown): Node {
  if (Array.isArray(node)) return node.map((item) => replaceItems(item, replace)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  if ('x-items-open' in node) return replace(node) as Node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, replaceItems(value, replace)])) as Node;
}
