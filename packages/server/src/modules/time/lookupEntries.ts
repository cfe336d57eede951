import type { Handler } from '../../entity/context.ts';
import { readRecords, typeNamed } from '../bulk/index.ts';

/** Returns the entries of a type, active or not, by page number. */
export const lookupEntries: Handler<'lookupEntries'> = async (context, { path, body }) => {
  const type = typeNamed('x-entry-type', path.type);
  return { status: 200, body: await context.read((session) => readRecords(session, context, type, body)) };
};
