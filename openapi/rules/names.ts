/**
 * One way to write a name, so that nobody has to look up whether it is `client_id`, `ClientID` or `clientId`. The few
 * names that other standards define keep their form.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { Place, reporter, typeNameOf } from './contract.ts';
import { isCondition } from './schemas.ts';

/** Names that a standard defines, with their spelling. */
const standardProperties = new Set([
  // RFC 6749, section 5.1
  ...['access_token', 'token_type', 'expires_in'],
  // Standard Webhooks: names of headers, which the webhook tools return in an object
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
]);

/** Values that are not ours to spell. */
const givenValues = new Set([
  // The seed
  ...['ownPaymentLinksOnly', 'paymentLinkOnly', 'allPayments'],
  // Directions of `orderBy`, as in the search grammar
  ...['asc', 'desc', 'asc_nulls_first', 'asc_nulls_last', 'desc_nulls_first', 'desc_nulls_last'],
  // Formats of documents in paths
  ...['ubl', 'xrechnung', 'facturx'],
  // The place of a value in a request, in OpenAPI's words
  ...['body', 'path', 'query', 'header'],
  // File formats, by the endings of their names
  ...['json', 'csv', 'pdf'],
  // Languages, as in ISO 639-1
  ...['en', 'de', 'fr', 'es'],
  // RFC 6750, RFC 9111, and the name of the algorithm in RFC 2104's writing
  ...['Bearer', 'no-store', 'HMAC-SHA256'],
]);

export const names: Oas3Rule = () => {
  const schemas = new Set<string>();
  const properties = new Map<string, Place>();
  const values: Place[] = [];
  return {
    SchemaProperties(node, context) {
      for (const [name, property] of new Place(node, context.location, context.resolve).entries()) {
        const isOperator = /^_[a-z]+(_[a-z]+)*$/.test(name) && /(Filter|Where)$/.test(fileName(context.location));
        if (!isOperator && !standardProperties.has(name)) properties.set(name, property);
      }
    },
    Schema(node, context) {
      const { location, resolve } = context;
      const name = typeNameOf(node, location);
      if (name !== undefined) {
        schemas.add(name);
        if (!/^[A-Z][A-Za-z0-9]*$/.test(name)) reporter(context)(location, `Name the schema ${name} in PascalCase.`);
      }
      if (!isCondition(location)) values.push(...new Place(node, location, resolve).list('enum'));
    },
    Root: {
      leave(_, context) {
        const report = reporter(context);
        const words = new Set(values.map((value) => value.value));
        for (const [name, property] of properties) {
          // A map may have the values of an enum as its keys, such as counts by status.
          if (!/^[a-z][A-Za-z0-9]*$/.test(name) && !words.has(name))
            report(property, `Name the property ${name} in camelCase.`);
        }
        for (const value of values) {
          const word = value.value;
          if (typeof word !== 'string' || /^([A-Z][A-Z0-9_]*|\d{4})$/.test(word) || givenValues.has(word)) continue;
          // An enum may list types or fields of the contract: those have names already.
          if (!schemas.has(word) && !properties.has(word)) report(value, `Write the value ${word} in UPPER_SNAKE.`);
        }
      },
    },
  };
};

function fileName(location: { source: { absoluteRef: string }; pointer: string }): string {
  const component = /^#\/components\/schemas\/([^/]+)/.exec(location.pointer)?.[1];
  return component ?? location.source.absoluteRef.replace(/^.*\//, '').replace(/\.ya?ml$/, '');
}
