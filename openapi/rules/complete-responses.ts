/**
 * "No value" and "not sent" must not differ: an empty field is null. So a response has all properties of its schema, unless
 * the description says when one is present. Callers can omit properties that they send.
 */
import { operationsOf, type Place, wholeContract } from './contract.ts';
import { contentOf, partsOf, propertiesOf, requiredOf, valuesIn } from './schemas.ts';

export const completeResponses = wholeContract((root, report) => {
  const sent = new Set<string>();
  const returned: Place[] = [];
  for (const { body, responses } of operationsOf(root)) {
    for (const schema of body === undefined ? [] : contentOf(body)) {
      for (const value of valuesIn(schema)) for (const part of partsOf(value)) sent.add(part.home.absolutePointer);
    }
    for (const [, response] of responses) returned.push(...contentOf(response).flatMap((schema) => valuesIn(schema)));
  }
  for (const value of returned) {
    const required = requiredOf(value);
    for (const [name, places] of propertiesOf(value)) {
      const isSent = partsOf(value).some((part) => sent.has(part.home.absolutePointer) && part.get('properties', name));
      const isExplained = places.some((place) => /\bPresent if\b/.test(place.text('description') ?? ''));
      if (!required.has(name) && !isSent && !isExplained) {
        report(value.home, `Require ${name}, or describe when it is present ("Present if …").`);
      }
    }
  }
});
