import { recordSchemaOf } from '../../bulk/record-type.ts';
import { typeNamed } from '../../bulk/standard-types.ts';
import type { Handler } from '../../service/context.ts';

/** Returns the fields of an entry type. */
export const getEntrySchema: Handler<'getEntrySchema'> = async (_context, { path }) => {
  const type = typeNamed('x-entry-type', path.type);
  return { status: 200, body: recordSchemaOf(type) };
};
