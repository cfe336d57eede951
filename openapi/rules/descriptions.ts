/**
 * The reference consists of these texts, and integrators read nothing else. A property can use the description of the
 * schema that it refers to; an operator of a where clause (`_eq`) means the same everywhere and is explained with the common filters.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { nameOf, operationsOf, Place, reporter } from './contract.ts';
import { isCondition, partsOf } from './schemas.ts';

const maxSummaryLength = 60;

export const descriptions: Oas3Rule = () => ({
  Root(node, context) {
    const report = reporter(context);
    const root = new Place(node, context.location, context.resolve);
    for (const { place } of operationsOf(root)) {
      const summary = place.text('summary') ?? '';
      if (summary === '') report(place, 'Add a `summary` to the operation.');
      else if (summary.length > maxSummaryLength || summary.endsWith('.')) {
        report(
          place.get('summary') ?? place,
          `Shorten the summary to ${maxSummaryLength} characters, without a period.`,
        );
      }
      if (!isDescribed(place)) report(place, 'Add a `description` to the operation.');
    }
  },
  Schema(node, context) {
    const { location, resolve } = context;
    // A part of another schema is described with it.
    if (isCondition(location) || /\/(allOf|then|else)(\/\d+)?$/.test(location.pointer)) return;
    const schema = new Place(node, location, resolve);
    const report = reporter(context);
    if (nameOf(location) !== undefined && !isDescribed(schema)) report(schema, 'Add a `description` to the schema.');

    const parts = partsOf(schema);
    const described = new Set(
      parts.flatMap((part) =>
        part.map('properties').flatMap(([name, property]) => (isDescribed(property) ? [name] : [])),
      ),
    );
    for (const part of parts.filter((part) =>
      part.location.absolutePointer.startsWith(schema.location.absolutePointer),
    )) {
      for (const [name, property] of part.map('properties')) {
        if (!described.has(name) && !name.startsWith('_'))
          report(property, `Add a \`description\` to the property ${name}.`);
      }
    }
  },
  Header(node, context) {
    if (!isDescribed(new Place(node, context.location, context.resolve))) {
      context.report({ message: 'Add a `description` to the header.', location: context.location });
    }
  },
});

function isDescribed(place: Place): boolean {
  return (place.text('description') ?? '').trim() !== '';
}
