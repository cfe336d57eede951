import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { recordSchemaOf } from '../bulk/index.ts';
import { recordTypeNamed } from './record-types.ts';

/** Returns the fields of a record type. */
export const getRecordSchema: Handler<'getRecordSchema'> = async (context, { path }) => {
  const type = await context.read((session) => recordTypeNamed(session, context.tenant.id, path.type));
  if (type === undefined) throw new Rejection('NOT_FOUND', `No record type ${path.type} exists.`);
  return { status: 200, body: recordSchemaOf(type) };
};
