import { Rejection } from '../../contract/rejection.ts';
import type { Origin } from '../../entity/plan.ts';
import type { Service } from '../../entity/service.ts';
import { transact } from '../../entity/transact.ts';
import type { SentFile } from '../../wire/form.ts';
import { checkContentType } from './content-type.ts';
import { file, receiveContent } from './file.ts';

/** Stores the content that a file waits for; of what is not accepted, only the file remains. @throws Rejection `CONFLICT` if it does not wait */
export async function storeUpload(
  { store, storage }: Service,
  origin: Origin,
  fileId: string,
  { path, fileName }: SentFile,
) {
  const { mimeType, reason } = await checkContentType(path, fileName);
  const content = await storage.put(origin.tenant.id, { path });
  return transact(store, origin, async (unit) => {
    await unit.plan((plan) => {
      checkPending(plan.getForUpdate(file, fileId)?.status);
      receiveContent(plan, fileId, { ...content, mimeType }, reason === undefined);
    });
    const { id, status, sha256, sizeBytes } = await unit.storedRow(file, fileId);
    return { id, status, mimeType, sha256, sizeBytes, reason: reason ?? null };
  });
}

/** @throws Rejection `CONFLICT` unless a file waits for its content */
export function checkPending(status: string | undefined): void {
  if (status === 'PENDING') return;
  throw new Rejection('CONFLICT', 'The file does not wait for its content. Create another file.');
}
