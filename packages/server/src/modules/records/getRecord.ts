import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { readRecord, typesWith } from '../bulk/index.ts';
import { recordTypeNamed } from './record-types.ts';

/** Returns the record, code or entry with a `systemRef`, or with a key in another system. */
export const getRecord: Handler<'getRecord'> = async (context, { path, query }) => {
  const { system, ref } = query;
  const where =
    system === undefined ? { systemRef: { _eq: ref } } : { sysRefs: { system: { _eq: system }, ref: { _eq: ref } } };
  return context.read(async (session) => {
    const type =
      typesWith('x-code-type').get(path.type) ??
      typesWith('x-entry-type').get(path.type) ??
      (await recordTypeNamed(session, context.tenant.id, path.type));
    if (type === undefined) throw new Rejection('NOT_FOUND', `No record type ${path.type} exists.`);
    const row = await readRecord(session, context, type, where);
    if (row === undefined) throw new Rejection('NOT_FOUND', `No ${path.type} with this key exists.`);
    return { status: 200, body: row.body, headers: { ETag: entityTag(row.stored) } };
  });
};
