import { lookup } from 'mime-types';
import type { Handler } from '../../entity/context.ts';
import { entityOf } from '../../entity/registry.ts';
import { timeOf } from '../../platform/store/session.ts';
import { writtenRow } from '../../query/entity-tag.ts';
import { withOwnKeys } from '../bulk/index.ts';
import { signedUrl } from './download-url.ts';
import { file } from './file.ts';

/** Creates a file that waits for its content, and the URL that the content is sent to. */
export const createFile: Handler<'createFile'> = (context, { body }) => {
  const { service, tenant, caller } = context;
  const { systemRef, metadata, source = 'DMS_DIRECT_UPLOAD', ...about } = body;
  const uploader = caller.staffId === null ? {} : ({ uploadedByType: 'STAFF', uploadedById: caller.staffId } as const);
  return context.write(async (unit) => {
    const id = await unit.plan((plan) => {
      for (const [name, value] of Object.entries(about)) {
        const target = entityOf(file.fields.get(name)?.references ?? '');
        if (target !== undefined && typeof value === 'string') plan.checkActive(target, value, `/${name}`);
      }
      const own = withOwnKeys(plan, undefined, systemRef, metadata === undefined ? {} : { metadata });
      const mimeType = lookup(body.fileName) || 'application/octet-stream';
      const system = {
        uploadedByType: 'SYSTEM',
        ...uploader,
        ...about,
        ...own,
        source,
        mimeType,
        sizeBytes: 0,
      } as const;
      return plan.create(file, {}, { systemRef, system }).row.id;
    });
    const { url, expiresAt } = signedUrl('upload', service, tenant.name, id, timeOf(unit.transaction));
    const { row, tag } = await writtenRow(unit, context, file, id);
    const created = { file: row, uploadUrl: url, uploadUrlExpiresAt: expiresAt };
    return { status: 201, headers: { Location: `/api/v1/files/${id}`, ETag: tag }, body: created };
  });
};
