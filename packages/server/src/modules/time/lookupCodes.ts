import type { Handler } from '../../entity/context.ts';
import { readRecords, typeNamed } from '../bulk/index.ts';

/** Returns the codes of a type, active or not, by page number. */
export const lookupCodes: Handler<'lookupCodes'> = async (context, { path, body }) => {
  const type = typeNamed('x-code-type', path.type);
  return { status: 200, body: await context.read((session) => readRecords(session, context, type, body)) };
};
