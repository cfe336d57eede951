import {
  engagement,
  type NewEngagement,
  planEngagement,
  startBatch,
  writeEngagementDocument,
  writeLetters,
} from '@financial-automation/server/modules/engagements';
import { addFile } from '@financial-automation/server/modules/files';
import {
  asOperator,
  type Plan,
  type Service,
  type StoredContent,
  type Tenant,
} from '@financial-automation/server/service';
import { sql } from 'kysely';
import { storyId } from './story-id.ts';
import type { Work } from './work.ts';

/**
 * Creates the tax engagement of the client, signed and active, with its letter; drafts; a batch of the season; and files
 * from the client.
 */
export async function seedEngagements(
  service: Service,
  tenant: Tenant,
  { clientId, jobId }: Work,
  apiUserId: string,
): Promise<void> {
  const id = storyId('Engagement', 1);
  const unsigned = await asOperator(service, tenant, 'createEngagement', async (unit) => {
    await unit.plan((plan) => planLetter(plan, id, clientId, jobId));
    const draft = await unit.plan((plan) => planEngagement(plan, { clientId, fiscalYear: 2027, partnerId: dana }));
    await writeLetters(unit, draft);
    return await unit.plan((plan) => planEngagement(plan, { ...bookkeeping, clientId }));
  });
  // Their files have the IDs of the examples.
  await writeDocuments(service, tenant, id, storyId('File', 1));
  // Only this operation changes the status of an engagement.
  await asOperator(service, tenant, 'updateEngagement', (unit) =>
    unit.plan((plan) => {
      plan.update(engagement, id, { status: 'SENT' });
      plan.update(engagement, unsigned, { status: 'SENT' });
      const signers = [{ contactId: storyId('Contact', 1), status: 'SIGNED', signedAt: plan.now } as const];
      plan.set(engagement, id, { signers });
    }),
  );
  await writeDocuments(service, tenant, id, storyId('File', 3));
  await seedBatch(service, tenant, apiUserId);
  await seedFiles(service, tenant, clientId, storyId('Job', 2));
}

const [dana, priya, owen] = [storyId('Staff', 1), storyId('Staff', 2), storyId('Staff', 3)];
const template = { templateId: storyId('LetterTemplate', 1), templateName: 'Tax engagement letter 2026' };

/** The terms of a letter that the client has not signed yet. */
const bookkeeping: Omit<NewEngagement, 'clientId' | 'clientRef'> = {
  fiscalYear: 2026,
  type: 'CAS',
  name: '2026 bookkeeping engagement',
  partnerId: dana,
  feeAmount: '5000.00',
  feeType: 'FIXED_FEE',
  signerContactIds: [storyId('Contact', 1)],
};

function planLetter(plan: Plan, id: string, clientId: string, jobId: string): void {
  const terms: NewEngagement = {
    clientId,
    fiscalYear: 2026,
    type: 'TAX',
    name: '2026 tax engagement',
    startDate: '2026-09-08',
    endDate: '2027-03-31',
    partnerId: dana,
    managerId: priya,
    staff: [{ staffId: owen, role: 'PREPARER' }],
    feeAmount: '3320.00',
    feeType: 'TIME_AND_MATERIALS',
    signerContactIds: [storyId('Contact', 1)],
    jobIds: [jobId],
  };
  planEngagement(plan, terms, { id, engagementRef: 'E-2026-0112' });
  plan.update(engagement, id, template);
}

/** Writes the documents of an engagement without a file. */
async function writeDocuments(service: Service, tenant: Tenant, engagementId: string, fileId: string): Promise<void> {
  const documents = await service.store.read(tenant.id, (session) =>
    session.all(sql<{ id: string }>`
      select id from engagement_document
      where tenant_id = ${tenant.id} and engagement_id = ${engagementId} and file_id is null and status <> 'SUPERSEDED'`),
  );
  for (const { id } of documents) {
    const writer = {
      tenantId: tenant.id,
      storage: service.storage,
      signal: new AbortController().signal,
      read: <T>(work: Parameters<typeof service.store.read<T>>[1]) => service.store.read(tenant.id, work),
      write: <T>(work: Parameters<typeof asOperator<T>>[3]) => asOperator(service, tenant, 'demo data', work),
    };
    await writeEngagementDocument(writer, id, fileId);
  }
}

/** Creates the batch of the examples, with one entry for a client that does not exist. */
async function seedBatch(service: Service, tenant: Tenant, apiUserId: string): Promise<void> {
  const fields = { fiscalYear: 2026, type: 'TAX', partnerId: dana, feeAmount: '850.00', feeType: 'FIXED_FEE' } as const;
  const entries = ['C-01043', 'C-09999'].map((clientRef) => ({ ...fields, clientRef, name: '2026 individual return' }));
  const requester = { apiUserId, apiUserName: 'hartwell-crm' };
  await asOperator(service, tenant, 'demo data', (unit) =>
    startBatch(unit, entries, requester, storyId('EngagementBatch', 1)),
  );
}

async function seedFiles(service: Service, tenant: Tenant, clientId: string, jobId: string): Promise<void> {
  const put = (text: string): Promise<StoredContent> => service.storage.put(tenant.id, Buffer.from(text));
  const statements = await put('date,amount\n2026-09-01,1250.00\n2026-09-15,-80.00\n');
  const note = await put('A note of a call with the client.\n');
  const about = { clientId, folderPath: '/Harbor & Pine LLC/Bookkeeping', taxYear: 2026 };
  const byClient = {
    uploadedByType: 'CONTACT',
    uploadedById: storyId('Contact', 1),
    source: 'CLIENT_REQUEST',
  } as const;
  const byStaff = { uploadedByType: 'STAFF', uploadedById: priya, source: 'REFERENCE_FILE' } as const;
  await asOperator(service, tenant, 'demo data', (unit) =>
    unit.plan((plan) => {
      const csv = { fileName: 'Bank statements September.csv', mimeType: 'text/csv', jobId };
      addFile(plan, { ...about, ...byClient, ...csv }, statements, { id: storyId('File', 2) });
      addFile(plan, { ...about, ...byStaff, fileName: 'Call note.txt', mimeType: 'text/plain' }, note);
    }),
  );
}
