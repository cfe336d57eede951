import type { Handler } from '../../entity/context.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { customTypeNamed } from './custom-type.ts';

/** Returns one custom type, active or not. */
export const getCustomRecordType: Handler<'getCustomRecordType'> = async (context, { path }) => {
  const row = await context.read((session) => customTypeNamed(session, context.tenant.id, path.name));
  return { status: 200, headers: { ETag: entityTag(row) }, body: row };
};
