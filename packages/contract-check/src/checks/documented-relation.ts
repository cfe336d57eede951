import type { OpenApiDocument } from '../document/document.ts';
import type { Exchange } from '../http/call.ts';
import { isObject, type JsonObject, unescapeSegment } from '../json.ts';

/**
 * Whether a response names a second property that the description of the property at the pointer names in code style, such as
 * "Not before `startDate`". No schema can express a rule on two properties, so the response does not contradict the contract.
 */
export function isDocumentedRelation(
  document: OpenApiDocument,
  schema: JsonObject,
  pointer: string,
  { response }: Exchange,
): boolean {
  const name = unescapeSegment(pointer.split('/').findLast((segment) => !/^\d*$/.test(segment)) ?? '');
  const words = new Set(response.text.match(/[\w$-]+/g));
  return descriptionsOf(document, schema, name)
    .flatMap((description) => [...description.matchAll(/`([\w$-]+)`/g)].map(([, word]) => word))
    .some((word) => word !== undefined && word !== name && words.has(word));
}

/** Descriptions of all properties with this name in a schema. */
function descriptionsOf(document: OpenApiDocument, root: JsonObject, name: string): string[] {
  const found: string[] = [];
  const seen = new Set<object>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    if (!isObject(node) || seen.has(node)) return;
    seen.add(node);
    const target = document.object(node);
    if (target !== node) visit(target);
    for (const [key, property] of Object.entries(isObject(node.properties) ? node.properties : {})) {
      if (key === name && isObject(property)) {
        for (const { description } of [property, document.object(property)])
          if (typeof description === 'string') found.push(description);
      }
      visit(property);
    }
    for (const key of ['items', 'additionalProperties', 'allOf', 'oneOf', 'anyOf', 'prefixItems']) visit(node[key]);
  };
  visit(root);
  return found;
}
