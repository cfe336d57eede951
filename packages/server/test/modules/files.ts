import { addFile, file, type NewFile } from '../../src/modules/files/file.ts';
import { asOperator } from '../../src/operator/tenants.ts';
import type { TestService } from '../service.ts';

/** Adds files like the service does, with content from the test. */
export function filesOf({ service, tenant: home }: TestService) {
  return async (about: Partial<NewFile> & { readonly content?: Uint8Array | null } = {}, tenant = home) => {
    const { content = Buffer.from('%PDF-1.7 nothing more'), ...fields } = about;
    const described: NewFile = {
      fileName: 'Letter.pdf',
      source: 'DELIVERABLE',
      mimeType: 'application/pdf',
      ...fields,
    };
    const stored = content === null ? undefined : await service.storage.put(tenant.id, content);
    return asOperator(service, tenant, 'test', async (unit) => {
      const id = await unit.plan((plan) => addFile(plan, described, stored ?? { sha256: null, sizeBytes: 12 }));
      return unit.storedRow(file, id);
    });
  };
}
