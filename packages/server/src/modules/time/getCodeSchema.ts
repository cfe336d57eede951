import type { Handler } from '../../entity/context.ts';
import { recordSchemaOf, typeNamed } from '../bulk/index.ts';

/** Returns the fields of a code type. */
export const getCodeSchema: Handler<'getCodeSchema'> = async (_context, { path }) => {
  const type = typeNamed('x-code-type', path.type);
  return { status: 200, body: recordSchemaOf(type) };
};
