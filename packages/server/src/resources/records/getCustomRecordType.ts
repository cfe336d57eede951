import type { Handler } from '../../context.ts';
import { etag } from '../../query/handlers.ts';
import { answerOf, customTypeNamed } from './custom-type-answer.ts';

/** One type that the tenant has defined, also a deactivated one. */
export const getCustomRecordType: Handler<'getCustomRecordType'> = async (context, { path }) => {
  const row = await context.read((session) => customTypeNamed(session, context.tenant.id, path.name));
  return { status: 200, headers: { ETag: etag(row.version) }, body: answerOf(row) };
};
