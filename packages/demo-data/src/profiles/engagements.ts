import { documentTypes } from '../../../server/src/modules/engagements/documents.ts';
import { dateText, instantAt, instantText, yearOf } from './calendar.ts';
import { saveCounters } from './counters.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import type { ClientSeed } from './parties.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

interface EngagementSeed {
  readonly id: string;
  readonly ref: string;
  readonly client: ClientSeed;
  readonly start: number;
  readonly end: number;
  readonly fiscalYear: number;
  readonly status: string;
  readonly jobId: string | undefined;
  readonly job: JobSeed;
}

const declineReasons = ['The fee is above the budget.', 'The client stays with its adviser.', 'The scope is too wide.'];
const isSigned = (status: string) => ['EXECUTED', 'ACTIVE', 'ON_HOLD', 'COMPLETED'].includes(status);

/** Loads the engagements of jobs, and others that wait for a signature or were declined, with letters and signers. */
export async function loadEngagements(
  loader: Loader,
  firm: Firm,
  clients: readonly ClientSeed[],
  jobs: readonly JobSeed[],
): Promise<readonly EngagementSeed[]> {
  const numbers = new Map<number, number>();
  const engagements = [...seedsOf(firm, clients, jobs, numbers)];
  await loader.entities(
    'engagement',
    [
      'client_id',
      'name',
      'engagement_ref',
      'type',
      'fiscal_year',
      'start_date',
      'end_date',
      'status',
      'partner_id',
      'manager_id',
      'fee_amount',
      'fee_type',
      'currency',
      'expires_at',
      'decline_reason',
      'sent_at',
      'executed_at',
      'completed_at',
    ],
    engagementRows(engagements, firm),
  );
  await loader.rows(
    'engagement_staff',
    ['engagement_id', 'position', 'staff_id', 'role'],
    engagements.map(({ id, job }) => [id, 0, firm.people[job.team[0] ?? 0]?.id ?? '', 'PREPARER']),
  );
  await loader.rows(
    'engagement_signer',
    ['engagement_id', 'position', 'contact_id', 'status', 'signed_at'],
    engagements.map(({ id, client, status, start }) => [
      id,
      0,
      client.contactId,
      isSigned(status) ? 'SIGNED' : status === 'DECLINED' ? 'DECLINED' : 'PENDING',
      isSigned(status) ? instantText(instantAt(start - 2, 19)) : null,
    ]),
  );
  await loader.rows(
    'engagement_job',
    ['engagement_id', 'position', 'id', 'is_active'],
    engagements.flatMap(({ id, jobId }) => (jobId === undefined ? [] : [[id, 0, jobId, true]])),
  );
  await loader.entities(
    'engagement_document',
    [
      'engagement_id',
      'document_type_id',
      'document_type_name',
      'file_name',
      'mime_type',
      'status',
      'version_number',
      'signed_at',
    ],
    documentRows(engagements),
  );
  await saveCounters(
    loader,
    [...numbers].map(([year, value]) => [`engagement.engagement_ref.${year}`, value]),
  );
  return engagements;
}

function* seedsOf(
  { span: { today } }: Firm,
  clients: readonly ClientSeed[],
  jobs: readonly JobSeed[],
  numbers: Map<number, number>,
): Generator<EngagementSeed> {
  const random = new Random(8);
  for (const [index, job] of jobs.entries()) {
    const client = clients[job.client];
    if (client === undefined) throw new Error('The job has no client.');
    // Jobs without an engagement leave room for unsigned letters.
    if (job.engagementId === undefined && index % 6 !== 2) continue;
    const start = Math.min(job.start, today - 20);
    const status =
      job.engagementId === undefined
        ? random.weighted([
            ['SENT', 38],
            ['DRAFT', 30],
            ['DECLINED', 9],
            ['EXPIRED', 9],
            ['CANCELLED', 8],
            ['EXECUTED', 6],
          ])
        : job.status === 'CLOSED'
          ? 'COMPLETED'
          : job.status === 'ON_HOLD'
            ? 'ON_HOLD'
            : 'ACTIVE';
    const year = yearOf(start);
    // Numbers of the examples and of the service are lower.
    const number = (numbers.get(year) ?? 10_000) + 1;
    numbers.set(year, number);
    yield {
      id: job.engagementId ?? rowId(70, index, instantAt(start, 16)),
      ref: `E-${year}-${number}`,
      client,
      start,
      end: start + 365,
      fiscalYear: year,
      status,
      jobId: job.engagementId === undefined ? undefined : job.id,
      job,
    };
  }
}

function* engagementRows(engagements: readonly EngagementSeed[], firm: Firm): Generator<EntityRow> {
  for (const [index, { id, ref, client, start, end, fiscalYear, status, job }] of engagements.entries()) {
    const sentAt = status === 'DRAFT' || status === 'CANCELLED' ? null : instantText(instantAt(start - 9, 16));
    yield [
      id,
      instantAt(start - 12, 16) + (index % 100_000),
      client.id,
      `${job.name}, ${client.name}`.slice(0, 200),
      ref,
      job.kind.engagement,
      fiscalYear,
      dateText(start),
      dateText(end),
      status,
      firm.partnerIds[index % firm.partnerIds.length] ?? null,
      firm.managerId,
      job.fee === undefined ? null : (job.fee / 100).toFixed(2),
      job.billingType,
      'USD',
      status === 'SENT'
        ? instantText(instantAt(firm.span.today + 30 + (index % 60), 16))
        : status === 'EXPIRED'
          ? instantText(instantAt(start + 21, 16))
          : null,
      status === 'DECLINED' ? (declineReasons[index % declineReasons.length] ?? null) : null,
      sentAt,
      isSigned(status) ? instantText(instantAt(start - 2, 19)) : null,
      status === 'COMPLETED' ? instantText(instantAt(start + 140, 19)) : null,
    ];
  }
}

/** The letter of each engagement, and the signed copy. Their files are not created. */
function* documentRows(engagements: readonly EngagementSeed[]): Generator<EntityRow> {
  for (const [index, { id, ref, status, start }] of engagements.entries()) {
    const signed = isSigned(status);
    const createdAt = instantAt(start - 12, 16) + (index % 100_000);
    const signedAt = signed ? instantText(instantAt(start - 2, 19)) : null;
    const letter = signed ? 'SIGNED' : status === 'DRAFT' || status === 'CANCELLED' ? 'DRAFT' : 'SENT';
    const { letter: type, signedCopy } = documentTypes;
    const name = `Engagement letter ${ref}`;
    const mime = 'application/pdf';
    yield [rowId(71, index, createdAt), createdAt, id, type.id, type.name, `${name}.pdf`, mime, letter, 1, signedAt];
    if (signed && index % 4 === 0)
      yield [
        rowId(72, index, createdAt),
        createdAt,
        id,
        signedCopy.id,
        signedCopy.name,
        `${name} signed.pdf`,
        mime,
        'SIGNED',
        1,
        signedAt,
      ];
  }
}
