/**
 * A row is returned whole: every field is present, and null if it is empty, so a missing one is a defect. The fields of a
 * row `X` that callers can write are `XFields`, which requires nothing, because creation and partial update share it. IDs
 * declare what they refer to, because the server checks references by it.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { Place, type Report, reporter, typeNameOf } from './contract.ts';
import { rowExtensions } from './extension-table.ts';
import { isEntity, propertiesOf, requiredOf } from './schemas.ts';

export const entities: Oas3Rule = () => {
  const schemas = new Map<string, Place>();
  return {
    Schema(schema, { location, resolve }) {
      const name = typeNameOf(schema, location);
      if (name !== undefined) schemas.set(name, new Place(schema, location, resolve));
    },
    Root: {
      leave(_, context) {
        const report = reporter(context);
        for (const [name, schema] of schemas) {
          if (name === 'EntityBase' || !isEntity(schema)) continue;
          checkRow(schema, report);
          checkFields(name, schema, schemas.get(`${name}Fields`), report);
        }
      },
    },
  };
};

function checkRow(schema: Place, report: Report): void {
  const required = requiredOf(schema);
  const properties = propertiesOf(schema);
  for (const [name, places] of properties) {
    if (!required.has(name)) report(schema, `Require ${name}: a row is returned with all its fields.`);
    // API users are the operator's rows; the contract has no type for them.
    if (name.endsWith('ApiUserId')) continue;
    // Where the type differs from row to row, another field has it: `ownerId` and `ownerType`.
    // And if the service has no such rows, another field has the name: `templateId` and `templateName`.
    if (['Type', 'Name'].some((word) => properties.has(name.replace(/Id$/, word)))) continue;
    const isId =
      /[a-z]Ids?$/.test(name) && places.some((place) => (place.get('items') ?? place).text('format') === 'uuid');
    if (isId && places.every((place) => place.get('x-references') === undefined)) {
      report(places[0] ?? schema, `Declare in \`x-references\` what ${name} refers to.`);
    }
  }
}

function checkFields(name: string, schema: Place, fields: Place | undefined, report: Report): void {
  const operations = rowExtensions.flatMap((key) => schema.list(key, 'operations').map((operation) => operation.value));
  if (fields === undefined) {
    const isWritten = operations.includes('UPSERT') || operations.includes('UPDATE');
    if (isWritten) report(schema, `Describe the fields that a caller can write in a schema ${name}Fields.`);
    return;
  }
  if (requiredOf(fields).size > 0)
    report(fields, 'Require nothing in the fields: a partial update can have any of them.');
}
