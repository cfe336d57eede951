import type { Handler } from '../../context.ts';
import { Problem } from '../../http/problem.ts';
import { headOf } from './record-type.ts';
import { recordTypeNamed } from './record-types.ts';

/** The fields of a record type. */
export const getRecordSchema: Handler<'getRecordSchema'> = async (context, { path }) => {
  const type = await context.read((session) => recordTypeNamed(session, context.tenant.id, path.type));
  if (type === undefined) throw new Problem('NOT_FOUND', `There is no record type ${path.type}.`);
  return { status: 200, body: { ...headOf(type), fields: type.fields() } };
};
