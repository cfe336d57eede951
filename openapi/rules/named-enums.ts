/**
 * A list of values has one name. Generators name an inline enum by where it is, so the same list gets several types, and a value that is
 * added to one of them is missing in the others.
 */
import { operationsOf, type Place, wholeContract } from './contract.ts';
import { bodiesOf, valuesIn } from './schemas.ts';

export const namedEnums = wholeContract((root, report) => {
  const seen = new Set<string>();
  const places = new Map<string, Map<string, Place>>();
  for (const operation of operationsOf(root)) {
    const parameters = operation.parameters.flatMap((parameter) => parameter.get('schema') ?? []);
    for (const value of [...parameters, ...bodiesOf(operation)].flatMap((schema) => valuesIn(schema, seen))) {
      const values = value.list('enum').flatMap((one) => (one.value === null ? [] : [String(one.value)]));
      if (values.length < 2) continue;
      const list = values.toSorted().join(', ');
      places.set(list, (places.get(list) ?? new Map()).set(value.home.absolutePointer, value));
    }
  }
  for (const [list, found] of places) {
    const inline = [...found.values()].filter((place) => place.name === undefined);
    if (found.size > 1)
      for (const place of inline) report(place, `Create a schema for ${list}: another enum has the same values.`);
  }
});
