/**
 * A misspelt field in an open body is silently ignored, and the caller believes that it was stored. So every object
 * of a body or a response declares all its properties, or is a map on purpose, with a maximum number of entries.
 */
import { operationsOf, type Place, wholeContract } from './contract.ts';
import { bodiesOf, contentOf, partsOf, propertiesOf, typesOf } from './schemas.ts';

export const closedBodies = wholeContract((root, report) => {
  const seen = new Set<string>();
  for (const operation of operationsOf(root)) {
    const lists =
      operation.body === undefined
        ? []
        : contentOf(operation.body).filter((one) => one.get('x-lines-of') === undefined);
    if (operation.body !== undefined && lists.length !== 1) {
      report(operation.body, 'Declare the body as application/json, with one schema, or also with one for its lines.');
    }
    for (const schema of bodiesOf(operation)) visit(schema, false);
  }
  for (const [, webhook] of root.map('webhooks')) {
    const body = webhook.get('post', 'requestBody');
    if (body !== undefined) for (const schema of contentOf(body)) visit(schema, false);
  }

  /** `closedAround`: the schema is an alternative within one that is closed as a whole. */
  function visit(schema: Place, closedAround: boolean): void {
    const key = `${schema.location.absolutePointer} ${closedAround}`;
    if (seen.has(key)) return;
    seen.add(key);

    const parts = partsOf(schema);
    const isObject = parts.some((part) => typesOf(part).includes('object') || part.get('properties') !== undefined);
    const isClosed = closedAround || parts.some(closes) || isBoundedMap(parts);
    if (isObject && !isClosed) {
      report(
        schema.home,
        'Close the object by `additionalProperties: false` (with `allOf`: `unevaluatedProperties: false`), or add `maxProperties` to a map.',
      );
    }
    for (const places of propertiesOf(schema).values()) {
      // Where a property is described in several parts, it is enough that one of them closes it.
      const isClosedOnce = places.some((place) => partsOf(place).some(closes));
      for (const place of places) visit(place, isClosedOnce);
    }
    for (const part of parts) {
      for (const child of childrenOf(part)) visit(child, false);
      for (const alternative of [...part.list('oneOf'), ...part.list('anyOf')])
        visit(alternative, isObject && isClosed);
    }
  }
});

function closes(part: Place): boolean {
  return part.get('additionalProperties')?.value === false || part.get('unevaluatedProperties')?.value === false;
}

function isBoundedMap(parts: Place[]): boolean {
  return parts.some(
    (part) =>
      part.get('maxProperties') !== undefined &&
      (part.get('additionalProperties') !== undefined || part.get('properties') === undefined),
  );
}

function childrenOf(part: Place): Place[] {
  const single = ['items', 'additionalProperties', 'unevaluatedProperties', 'contains'];
  return [
    ...part.map('patternProperties').map(([, property]) => property),
    ...part.list('prefixItems'),
    ...single.flatMap((key) => part.get(key) ?? []),
  ];
}
