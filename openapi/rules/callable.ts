/**
 * Prepares the parameters of the bundle for tools that send calls. Each operation has all its parameters itself, because some tools lose
 * those of a path that are references. Optional ones have their example in `x-example`: tools send what is in `example`, and a cursor or a
 * condition that nobody chose makes a call fail.
 */
import type { Oas3Decorator } from '@redocly/openapi-core';
import { isObject, isReference, type JsonObject, nameIn, objectOf } from './contract.ts';

export const callable: Oas3Decorator = () => ({
  Root: {
    leave(root) {
      const document: unknown = root;
      if (isObject(document)) prepareParameters(document);
    },
  },
});

const annotations = /^(title|description|examples|x-.*)$/;

export function prepareParameters(document: JsonObject): void {
  for (const item of Object.values(objectOf(document.paths)).filter(isObject)) {
    const { parameters: shared } = item;
    delete item.parameters;
    if (!Array.isArray(shared)) continue;
    for (const operation of Object.values(item).filter(isObject))
      operation.parameters = [...shared, ...[operation.parameters ?? []].flat()];
  }
  const { parameters, schemas } = objectOf(document.components);
  for (const parameter of Object.values(objectOf(parameters)).filter(isObject)) {
    if (parameter.required === true) continue;
    const { example, schema } = parameter;
    delete parameter.example;
    if (example !== undefined) parameter['x-example'] = example;
    // Some tools also send the examples of the schema.
    const whole = isReference(schema) ? objectOf(objectOf(schemas)[nameIn(schema.$ref)]) : objectOf(schema);
    if (whole.examples !== undefined)
      parameter.schema = Object.fromEntries(Object.entries(whole).filter(([key]) => !annotations.test(key)));
  }
}
