import { createHash } from 'node:crypto';
import { instantAt } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import type { ClientSeed } from './parties.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

/** The content of all files of demo data. */
export const fileContent = Buffer.from('Demo data: the content of this file was not made up.\n');
const sha256 = createHash('sha256').update(fileContent).digest('hex');

const names = [
  'Bank statement',
  'W-2',
  'Form 1099',
  'Trial balance',
  'Depreciation schedule',
  'Tax return',
  'Signed letter',
  'Prüfungsbericht',
  'תדפיס בנק',
];

/** Loads the metadata of files from clients and of the firm. */
export async function loadFiles(
  loader: Loader,
  { files }: Profile,
  firm: Firm,
  clients: readonly ClientSeed[],
  jobs: readonly JobSeed[],
): Promise<void> {
  await loader.entities('file', fileRows(files, firm, clients, jobs));
}

function* fileRows(
  count: number,
  firm: Firm,
  clients: readonly ClientSeed[],
  jobs: readonly JobSeed[],
): Generator<EntityRow> {
  const random = new Random(9);
  for (let number = 0; number < count; number++) {
    const job = jobs[Math.floor((number * jobs.length) / count)];
    const client = clients[job?.client ?? 0];
    if (job === undefined || client === undefined) throw new Error('No job is available for a file.');
    const source = random.weighted([
      ['CLIENT_REQUEST', 44],
      ['DELIVERABLE', 27],
      ['REFERENCE_FILE', 18],
      ['DMS_DIRECT_UPLOAD', 11],
    ]);
    const status = random.weighted([
      ['AVAILABLE', 960],
      ['ARCHIVED', 28],
      ['REJECTED', 8],
      ['DELETED', 4],
    ]);
    const day = Math.min(job.start + random.below(40), firm.span.today - 1);
    const createdAt = instantAt(day, 14 + (number % 8)) + (number % 100_000);
    const by = source === 'CLIENT_REQUEST' ? 'CONTACT' : source === 'DELIVERABLE' ? 'SYSTEM' : 'STAFF';
    // A name of the maximum length of file systems.
    const name = number % 5_000 === 77 ? 'Very long '.repeat(24) : (names[number % names.length] ?? 'File');
    yield {
      id: rowId(80, number, createdAt),
      createdAt,
      status,
      active: status !== 'DELETED',
      file_name: `${name} ${number}.txt`,
      source,
      mime_type: 'text/plain',
      size_bytes: fileContent.length,
      sha256: status === 'REJECTED' ? null : sha256,
      client_id: client.id,
      job_id: job.id,
      engagement_id: number % 4 === 0 ? (job.engagementId ?? null) : null,
      uploaded_by_type: by,
      uploaded_by_id:
        by === 'CONTACT' ? client.contactId : by === 'STAFF' ? (firm.people[job.team[0] ?? 0]?.id ?? null) : null,
      folder_path: `/${client.ref}/${job.fiscalYear}`,
      tax_year: job.fiscalYear,
    };
  }
}
