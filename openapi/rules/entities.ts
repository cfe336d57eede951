/**
 * A row is read whole: every field is present, with null where it is empty, so a missing one is a defect and not a
 * question. And its `…Fields`, which serve creation and partial update alike, require nothing. Ids in them say what
 * they refer to, because the server checks references by it.
 */
import { eachSchema, isEntity, partsOf, propertiesOf, requiredOf } from './schemas.ts';

export const entities = eachSchema((schema, report) => {
  if (schema.name?.endsWith('Fields')) {
    const required = schema.get('required');
    if (required !== undefined) report(required, 'Require nothing in the fields: a partial update takes any of them.');
  }
  if (schema.name === undefined || schema.name === 'EntityBase' || !isEntity(schema)) return;
  const required = requiredOf(schema);
  const properties = propertiesOf(schema);
  const hasFields = partsOf(schema).some((part) => part.name?.endsWith('Fields'));
  for (const [name, places] of properties) {
    const isWriteOnly = places.some((place) => place.get('writeOnly')?.value === true);
    if (isWriteOnly && required.has(name)) report(schema, `Do not require ${name}: it is never answered.`);
    if (!isWriteOnly && !required.has(name)) report(schema, `Require ${name}: a row is answered with all its fields.`);
    // What the fields do not hold, a caller cannot write: the service computes it.
    const isOwn = places.every((place) =>
      place.location.absolutePointer.startsWith(`${schema.location.absolutePointer}#`),
    );
    if (hasFields && isOwn && !places.some((place) => place.get('readOnly')?.value === true)) {
      report(places[0] ?? schema, `Mark ${name} as \`readOnly\`, or move it to the fields.`);
    }
    // API users are the operator's rows; the contract has no type for them.
    if (name.endsWith('ApiUserId')) continue;
    // Where the type differs from row to row, a field beside the id says it: `ownerId` and `ownerType`.
    // And what the service has no rows of is named beside its id: `templateId` and `templateName`.
    if (['Type', 'Name'].some((word) => properties.has(name.replace(/Id$/, word)))) continue;
    const isId =
      /[a-z]Ids?$/.test(name) && places.some((place) => (place.get('items') ?? place).text('format') === 'uuid');
    if (isId && places.every((place) => place.get('x-references') === undefined)) {
      report(places[0] ?? schema, `Say in \`x-references\` what ${name} refers to.`);
    }
  }
});
