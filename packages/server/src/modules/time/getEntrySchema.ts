import type { Handler } from '../../entity/context.ts';
import { recordSchemaOf, typeNamed } from '../bulk/index.ts';

/** Returns the fields of an entry type. */
export const getEntrySchema: Handler<'getEntrySchema'> = async (_context, { path }) => {
  const type = typeNamed('x-entry-type', path.type);
  return { status: 200, body: recordSchemaOf(type) };
};
