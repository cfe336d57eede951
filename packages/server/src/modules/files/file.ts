import { sql } from 'kysely';
import { defineEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import type { StoredContent } from '../../platform/storage/storage.ts';

/** The metadata of a file. Its content is in the storage. */
export const file = defineEntity('File', {
  table: 'file',
  // `getFile` creates a URL on request; it is not stored.
  computed: { downloadUrl: () => sql`null::text`, downloadUrlExpiresAt: () => sql`null::timestamptz` },
  rules: {
    beforeRemoval({ values }) {
      values.status = 'DELETED';
    },
  },
});

/** The source and the subject of a file. */
export interface NewFile extends Pick<Row<'File'>, 'fileName' | 'source' | 'mimeType'> {
  readonly clientId?: string | null;
  readonly jobId?: string | null;
  readonly engagementId?: string | null;
  readonly folderPath?: string | null;
  readonly taxYear?: number | null;
  /** The staff member or contact who uploaded it; undefined for the service itself. */
  readonly uploadedByType?: 'STAFF' | 'CONTACT';
  readonly uploadedById?: string;
}

/** Keys of a file; omitted ones are generated. */
export interface FileKeys {
  readonly id?: string;
  readonly systemRef?: string;
}

/** Adds a file whose content is stored and was checked. */
export function addFile(plan: Plan, about: NewFile, { sha256, sizeBytes }: StoredContent, keys: FileKeys = {}): string {
  return add(plan, { ...about, sizeBytes, sha256 }, keys, 'scanPassed');
}

/** Adds a file whose content was rejected and is not stored. */
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
