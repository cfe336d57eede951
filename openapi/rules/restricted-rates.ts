/**
 * Only callers with the role can read what people's work costs, wherever it is. So a property named a rate has the type
 * `Rate` or `NullableRate`, and each property of these types names the roles that read it, and those that write it: a caller
 * who reads null could otherwise write it back. Prices on invoice lines have another type: all readers of an invoice see them.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { operationsOf, Place, reporter } from './contract.ts';
import { contentOf, isCondition, isOnlyNull, propertiesOf, valuesIn } from './schemas.ts';

const rate = /^(Nullable)?Rate$/;
const named = /(^r|[a-z]R)ate(Override)?$/;
const search = /(Filter|^OrderDirection)$/;

export const restrictedRates: Oas3Rule = () => {
  const rates: Place[] = [];
  return {
    SchemaProperties(properties, context) {
      if (isCondition(context.location)) return;
      const report = reporter(context);
      for (const [name, property] of new Place(properties, context.location, context.resolve).entries()) {
        if (rate.test(property.name ?? '')) rates.push(property);
        else if (named.test(name) && !isOnlyNull(property) && !search.test(property.name ?? ''))
          report(property, `Declare ${name} as a reference to Rate or NullableRate.`);
      }
    },
    Root: {
      leave(node, context) {
        const root = new Place(node, context.location, context.resolve);
        const report = reporter(context);
        const operations = operationsOf(root);
        const webhooks = root.map('webhooks').flatMap(([, item]) => item.get('post', 'requestBody') ?? []);
        const sent = propertiesWithin(operations.flatMap(({ body }) => body ?? []));
        const read = propertiesWithin([
          ...operations.flatMap(({ responses }) => responses.map(([, one]) => one)),
          ...webhooks,
        ]);
        for (const property of rates) {
          const key = property.location.absolutePointer;
          // Rows that no operation names, such as those of records, are read, and `XFields` is what callers write of them.
          const isSent = sent.has(key) || /Fields\.yaml#/.test(key);
          const isRead = read.has(key) || !sent.has(key);
          if (isRead && property.get('x-read-roles') === undefined)
            report(property, 'Name the roles that see the rate in `x-read-roles`.');
          if (isSent && property.get('x-write-roles') === undefined)
            report(property, 'Name the roles that write the rate in `x-write-roles`.');
        }
      },
    },
  };
};

/** The places of all properties that are sent in these messages. */
function propertiesWithin(messages: readonly Place[]): Set<string> {
  const values = messages.flatMap(contentOf).flatMap((schema) => valuesIn(schema));
  const places = values.flatMap((value) => [...propertiesOf(value).values()].flat());
  return new Set(places.map(({ location }) => location.absolutePointer));
}
