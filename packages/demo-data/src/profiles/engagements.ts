import { documentTypes } from '@financial-automation/server/modules/engagements';
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
  await loader.entities('engagement', engagementRows(engagements, firm));
  await loader.rows(
    'engagement_staff',
    engagements.map(({ id, job }) => ({
      engagement_id: id,
      position: 0,
      staff_id: firm.people[job.team[0] ?? 0]?.id ?? '',
      role: 'PREPARER',
    })),
  );
  await loader.rows(
    'engagement_signer',
    engagements.map(({ id, client, status, start }) => ({
      engagement_id: id,
      position: 0,
      contact_id: client.contactId,
      status: isSigned(status) ? 'SIGNED' : status === 'DECLINED' ? 'DECLINED' : 'PENDING',
      signed_at: isSigned(status) ? instantText(instantAt(start - 2, 19)) : null,
    })),
  );
  await loader.rows(
    'engagement_job',
    engagements.flatMap(({ id, jobId }) =>
      jobId === undefined ? [] : [{ engagement_id: id, position: 0, id: jobId, is_active: true }],
    ),
  );
  await loader.entities('engagement_document', documentRows(engagements));
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
    yield {
      id,
      createdAt: instantAt(start - 12, 16) + (index % 100_000),
      client_id: client.id,
      name: `${job.name}, ${client.name}`.slice(0, 200),
      engagement_ref: ref,
      type: job.kind.engagement,
      fiscal_year: fiscalYear,
      start_date: dateText(start),
      end_date: dateText(end),
      status,
      partner_id: firm.partnerIds[index % firm.partnerIds.length] ?? null,
      manager_id: firm.managerId,
      fee_amount: job.fee === undefined ? null : (job.fee / 100).toFixed(2),
      fee_type: job.billingType,
      currency: 'USD',
      expires_at:
        status === 'SENT'
          ? instantText(instantAt(firm.span.today + 30 + (index % 60), 16))
          : status === 'EXPIRED'
            ? instantText(instantAt(start + 21, 16))
            : null,
      decline_reason: status === 'DECLINED' ? (declineReasons[index % declineReasons.length] ?? null) : null,
      sent_at: sentAt,
      executed_at: isSigned(status) ? instantText(instantAt(start - 2, 19)) : null,
      completed_at: status === 'COMPLETED' ? instantText(instantAt(start + 140, 19)) : null,
    };
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
    yield {
      id: rowId(71, index, createdAt),
      createdAt,
      engagement_id: id,
      document_type_id: type.id,
      document_type_name: type.name,
      file_name: `${name}.pdf`,
      mime_type: mime,
      status: letter,
      version_number: 1,
      signed_at: signedAt,
    };
    if (signed && index % 4 === 0)
      yield {
        id: rowId(72, index, createdAt),
        createdAt,
        engagement_id: id,
        document_type_id: signedCopy.id,
        document_type_name: signedCopy.name,
        file_name: `${name} signed.pdf`,
        mime_type: mime,
        status: 'SIGNED',
        version_number: 1,
        signed_at: signedAt,
      };
  }
}
