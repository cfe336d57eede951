import { Rejection } from '../../contract/rejection.ts';
import { authorizeValue } from '../../contract/roles.ts';
import type { Handler } from '../../entity/context.ts';
import { timeOf } from '../../platform/store/session.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { readerOf } from '../../query/handlers.ts';
import { findById } from '../../query/read.ts';
import { signedUrl } from './download-url.ts';
import { file } from './file.ts';

/** Returns the metadata of a file and, if requested, a URL of its content. */
export const getFile: Handler<'getFile'> = async (context, { path, query }) => {
  const { service, tenant, operation, caller } = context;
  const { includeDownloadUrl = false } = query;
  if (includeDownloadUrl) authorizeValue(operation, 'includeDownloadUrl', true, caller.roles);
  const [row, now] = await context.read(async (session) => {
    const found = await findById(session, readerOf(context), file, path.id);
    return [found, timeOf(session)] as const;
  });
  if (row === undefined) throw new Rejection('NOT_FOUND', 'Your tenant has no File with this ID.');
  const hasUrl = includeDownloadUrl && row.status === 'AVAILABLE';
  const { url, expiresAt } = signedUrl('content', service, tenant.name, row.id, now);
  const body = hasUrl ? { ...row, downloadUrl: url, downloadUrlExpiresAt: expiresAt } : row;
  return { status: 200, headers: { ETag: entityTag(body) }, body };
};
