import { sql } from 'kysely';
import { command } from '../../entity/command.ts';
import { defineEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';

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

/** Adds a file whose content was checked: stored, or rejected and not stored, without a hash. */
export function addFile(
  plan: Plan,
  about: NewFile,
  { sha256, sizeBytes }: Pick<Row<'File'>, 'sha256' | 'sizeBytes'>,
  keys: FileKeys = {},
): string {
  const { row } = plan.insert(file, { uploadedByType: 'SYSTEM', ...about, sizeBytes, sha256 }, keys);
  startScan(plan, row.id);
  (sha256 === null ? failScan : passScan)(plan, row.id);
  return row.id;
}

/** Adds the content that a file waited for, as it is stored. */
export function receiveContent(
  plan: Plan,
  id: string,
  content: Pick<Row<'File'>, 'sha256' | 'sizeBytes' | 'mimeType'>,
  isAccepted: boolean,
): void {
  plan.set(file, id, content);
  startScan(plan, id);
  (isAccepted ? passScan : failScan)(plan, id);
}

const startScan = command('contentReceived', (plan, id: string) => plan.set(file, id, { status: 'SCANNING' }));
const passScan = command('scanPassed', (plan, id: string) => plan.set(file, id, { status: 'AVAILABLE' }));
const failScan = command('scanFailed', (plan, id: string) => plan.set(file, id, { status: 'REJECTED' }));
