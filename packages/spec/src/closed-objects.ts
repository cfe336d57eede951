/**
 * The contract as the service keeps it. Objects of published responses are open, because properties can be added in any release; what the
 * service returns has the properties of this release, and no others.
 */
export function withClosedObjects<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map((item) => withClosedObjects(item)) as Node;
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([key, value]) => [key, withClosedObjects(value)]);
  return Object.fromEntries(isOpened(node) ? [...entries, ['additionalProperties', false]] : entries) as Node;
}

/** Whether the bundle opened the object: every object of the sources is closed, or a map with a maximum of entries. */
function isOpened(schema: object): boolean {
  const isObject = 'type' in schema && [schema.type].flat().includes('object');
  return isObject && 'properties' in schema && !('additionalProperties' in schema) && !('maxProperties' in schema);
}
