/** How rules read schemas: the parts of a value, whatever files they are in. */
import type { Location, Oas3Rule } from '@redocly/openapi-core';
import { type Operation, Place, type Report, reporter } from './contract.ts';

/** A rule over each schema, where it is written. */
export function eachSchema(check: (schema: Place, report: Report) => void): Oas3Rule {
  return () => {
    let report: Report | undefined;
    return {
      Schema(schema, context) {
        report ??= reporter(context);
        if (!isCondition(context.location)) check(new Place(schema, context.location, context.resolve), report);
      },
    };
  };
}

/** A rule over each property of each schema, with the siblings of its reference. */
export function eachProperty(check: (name: string, property: Place, report: Report) => void): Oas3Rule {
  return () => {
    let report: Report | undefined;
    return {
      SchemaProperties(properties, context) {
        report ??= reporter(context);
        if (isCondition(context.location)) return;
        for (const [name, property] of new Place(properties, context.location, context.resolve).entries()) {
          check(name, property, report);
        }
      },
    };
  };
}

/** Schemas under `not` or `if` are conditions on a value that is described elsewhere. */
export function isCondition(location: Location): boolean {
  const steps = location.pointer.split('/');
  return steps.some((step, index) => (step === 'not' || step === 'if') && steps[index - 1] !== 'properties');
}

export function typesOf(schema: Place): string[] {
  const type = schema.get('type')?.value;
  return (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string');
}

/** Whether a part narrows a value to null: events show no rates. */
export function isOnlyNull(schema: Place): boolean {
  const types = typesOf(schema);
  return types.length > 0 && types.every((type) => type === 'null');
}

/** The schema and all parts of its `allOf`: all of them apply to the same value. */
export function partsOf(schema: Place, seen = new Set<string>()): Place[] {
  const key = schema.location.absolutePointer + schema.home.absolutePointer;
  if (seen.has(key)) return [];
  seen.add(key);
  return [schema, ...schema.list('allOf').flatMap((part) => partsOf(part, seen))];
}

/** The properties of the value, each with every place that describes it. */
export function propertiesOf(schema: Place): Map<string, Place[]> {
  const properties = new Map<string, Place[]>();
  for (const part of partsOf(schema)) {
    for (const [name, property] of part.map('properties')) {
      properties.set(name, [...(properties.get(name) ?? []), property]);
    }
  }
  return properties;
}

export function requiredOf(schema: Place): Set<string> {
  return new Set(partsOf(schema).flatMap((part) => part.list('required').map((name) => String(name.value))));
}

/** Whether the value is a row: a part of it has the base fields of every entity. */
export function isEntity(schema: Place): boolean {
  return partsOf(schema).some((part) => part.get('x-entity')?.value === true);
}

/** The schemas of an operation's body and responses, with the name of what they are. */
export function bodiesOf(operation: Operation): Place[] {
  return [operation.body, ...operation.responses.map(([, response]) => response)].flatMap((message) =>
    message === undefined ? [] : contentOf(message),
  );
}

export function contentOf(message: Place): Place[] {
  return message.map('content').flatMap(([, media]) => media.get('schema') ?? []);
}

/** The schema and every value within it: properties, elements, alternatives. */
export function valuesIn(schema: Place, seen = new Set<string>()): Place[] {
  if (seen.has(schema.location.absolutePointer)) return [];
  seen.add(schema.location.absolutePointer);
  const children = partsOf(schema).flatMap((part) => [
    ...part.map('properties').map(([, property]) => property),
    ...['items', 'additionalProperties'].flatMap((key) => part.get(key) ?? []),
    ...[...part.list('oneOf'), ...part.list('anyOf')],
  ]);
  return [schema, ...children.flatMap((child) => valuesIn(child, seen))];
}
