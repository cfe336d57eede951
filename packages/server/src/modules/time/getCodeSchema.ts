import { recordSchemaOf } from '../../bulk/record-type.ts';
import { typeNamed } from '../../bulk/standard-types.ts';
import type { Handler } from '../../service/context.ts';

/** Returns the fields of a code type. */
export const getCodeSchema: Handler<'getCodeSchema'> = async (_context, { path }) => {
  const type = typeNamed('x-code-type', path.type);
  return { status: 200, body: recordSchemaOf(type) };
};
