/**
 * A reader must not have to tell "no value" from "not sent": what is empty is null. So whatever an answer names it has,
 * unless the description says when it is present. What callers send as well is left to them.
 */
import { operationsOf, type Place, wholeContract } from './contract.ts';
import { contentOf, partsOf, propertiesOf, requiredOf, valuesIn } from './schemas.ts';

export const wholeAnswers = wholeContract((root, report) => {
  const sent = new Set<string>();
  const answered: Place[] = [];
  for (const { body, responses } of operationsOf(root)) {
    for (const schema of body === undefined ? [] : contentOf(body)) {
      for (const value of valuesIn(schema)) for (const part of partsOf(value)) sent.add(part.home.absolutePointer);
    }
    for (const [, response] of responses) answered.push(...contentOf(response).flatMap((schema) => valuesIn(schema)));
  }
  for (const value of answered) {
    const required = requiredOf(value);
    for (const [name, places] of propertiesOf(value)) {
      const isSent = partsOf(value).some((part) => sent.has(part.home.absolutePointer) && part.get('properties', name));
      const isExplained = places.some((place) => /\bPresent if\b/.test(place.text('description') ?? ''));
      if (!required.has(name) && !isSent && !isExplained) {
        report(value.home, `Require ${name}, or say in its description where it is present ("Present if …").`);
      }
    }
  }
});
