import { sql } from 'kysely';
import { defineEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import type { StoredContent } from '../../storage/storage.ts';

/** What is known of a file. Its content is in the storage. */
export const file = defineEntity('File', {
  table: 'file',
  // `getFile` makes a URL where it is requested; it is kept nowhere.
  computed: { downloadUrl: () => sql`null::text`, downloadUrlExpiresAt: () => sql`null::timestamptz` },
  rules: {
    beforeRemoval({ values }) {
      values.status = 'DELETED';
    },
  },
});

/** Where a file comes from and what it is about. */
export interface NewFile extends Pick<Row<'File'>, 'fileName' | 'source' | 'mimeType'> {
  readonly clientId?: string | null;
  readonly jobId?: string | null;
  readonly engagementId?: string | null;
  readonly folderPath?: string | null;
  readonly taxYear?: number | null;
  /** The staff member or contact who brought it; the service itself, if undefined. */
  readonly uploadedByType?: 'STAFF' | 'CONTACT';
  readonly uploadedById?: string;
}

/** How a file is told from others; the service makes what is left out. */
export interface FileKeys {
  readonly id?: string;
  readonly systemRef?: string;
}

/** Adds a file whose content is in the storage and was checked. */
export function addFile(plan: Plan, about: NewFile, { sha256, sizeBytes }: StoredContent, keys: FileKeys = {}): string {
  return add(plan, { ...about, sizeBytes, sha256 }, keys, 'scanPassed');
}

/** Adds a file whose content was rejected, and so is not kept. */
export function addRejectedFile(plan: Plan, about: NewFile, sizeBytes: number, keys: FileKeys = {}): string {
  return add(plan, { ...about, sizeBytes, sha256: null }, keys, 'scanFailed');
}

function add(
  plan: Plan,
  fields: NewFile & Pick<Row<'File'>, 'sizeBytes' | 'sha256'>,
  keys: FileKeys,
  result: 'scanPassed' | 'scanFailed',
): string {
  const system = { uploadedByType: 'SYSTEM', ...fields } as const;
  const { row } = plan.create(file, {}, { ...keys, system });
  plan.update(file, row.id, {}, { system: { status: 'SCANNING' }, event: 'contentReceived' });
  const status = result === 'scanPassed' ? 'AVAILABLE' : 'REJECTED';
  plan.update(file, row.id, {}, { system: { status }, event: result });
  return row.id;
}
