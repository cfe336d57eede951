import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { readRecords } from '../bulk/index.ts';
import { recordTypeNamed } from './record-types.ts';

/** Returns the records of a type, active or not, by page number. */
export const lookupRecords: Handler<'lookupRecords'> = (context, { path, body }) =>
  context.read(async (session) => {
    const type = await recordTypeNamed(session, context.tenant.id, path.type);
    if (type === undefined) throw new Rejection('NOT_FOUND', `No record type ${path.type} exists.`);
    return { status: 200, body: await readRecords(session, context, type, body) };
  });
