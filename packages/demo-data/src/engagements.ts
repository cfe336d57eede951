import {
  engagement,
  type NewEngagement,
  planEngagement,
  startBatch,
  writeEngagementDocument,
  writeLetters,
} from '@financial-automation/server/modules/engagements';
import { addFile } from '@financial-automation/server/modules/files';
import { asOperator, type Service, type StoredContent, type Tenant } from '@financial-automation/server/service';
import { sql } from 'kysely';
import { exampleOf } from './firm.ts';
import { storyId } from './story-id.ts';

/**
 * Creates the tax engagement of the client, signed and active, with its letter; drafts; a batch of the season; and files
 * from the client.
 */
export async function seedEngagements(service: Service, tenant: Tenant, apiUserId: string): Promise<void> {
  const id = storyId('Engagement', 1);
  const unsigned = await asOperator(service, tenant, 'createEngagement', async (unit) => {
    await unit.plan((plan) => {
      planEngagement(plan, { ...letter, clientId, jobIds: [storyId('Job', 1)] }, { id, engagementRef: 'E-2026-0112' });
      plan.update(engagement, id, template);
    });
    const draft = await unit.plan((plan) => planEngagement(plan, { clientId, fiscalYear: 2027, partnerId: dana }));
    await writeLetters(unit, draft);
    return await unit.plan((plan) => planEngagement(plan, bookkeeping));
  });
  // Their files have the IDs of the examples.
  await writeDocuments(service, tenant, id, storyId('File', 1));
  // Only this operation changes the status of an engagement.
  await asOperator(service, tenant, 'updateEngagement', (unit) =>
    unit.plan((plan) => {
      plan.update(engagement, id, { status: 'SENT' });
      plan.update(engagement, unsigned, { status: 'SENT' });
      const signers = [{ contactId: ines, status: 'SIGNED', signedAt: plan.now } as const];
      plan.set(engagement, id, { signers });
    }),
  );
  await writeDocuments(service, tenant, id, storyId('File', 3));
  await seedBatch(service, tenant, apiUserId);
  await seedFiles(service, tenant);
}

const [clientId, ines] = [storyId('Client', 1), storyId('Contact', 1)];
const [dana, priya] = [storyId('Staff', 1), storyId('Staff', 2)];
/** The requests of the examples must succeed, so their references are unused. */
const withoutRef = ({ systemRef: _, ...terms }: NewEngagement) => terms;
const letter = withoutRef(exampleOf('engagement_create_harbor_request'));
const season = exampleOf<{ engagements: NewEngagement[] }>('engagement_batch_create_request').engagements;
const template = { templateId: storyId('LetterTemplate', 1), templateName: 'Tax engagement letter 2026' };

/** The terms of a letter that the client has not signed yet. */
const bookkeeping: NewEngagement = {
  clientId,
  fiscalYear: 2026,
  type: 'CAS',
  name: '2026 bookkeeping engagement',
  partnerId: dana,
  feeAmount: '5000.00',
  feeType: 'FIXED_FEE',
  signerContactIds: [ines],
};

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
  const requester = { apiUserId, apiUserName: 'hartwell-crm' };
  await asOperator(service, tenant, 'demo data', (unit) =>
    startBatch(unit, season.map(withoutRef), requester, storyId('EngagementBatch', 1)),
  );
}

async function seedFiles(service: Service, tenant: Tenant): Promise<void> {
  const put = (text: string): Promise<StoredContent> => service.storage.put(tenant.id, Buffer.from(text));
  const statements = await put('date,amount\n2026-09-01,1250.00\n2026-09-15,-80.00\n');
  const note = await put('A note of a call with the client.\n');
  const about = { clientId, folderPath: '/Harbor & Pine LLC/Bookkeeping', taxYear: 2026 };
  const byClient = { uploadedByType: 'CONTACT', uploadedById: ines, source: 'CLIENT_REQUEST' } as const;
  const byStaff = { uploadedByType: 'STAFF', uploadedById: priya, source: 'REFERENCE_FILE' } as const;
  await asOperator(service, tenant, 'demo data', (unit) =>
    unit.plan((plan) => {
      const csv = { fileName: 'Bank statements September.csv', mimeType: 'text/csv', jobId: storyId('Job', 2) };
      addFile(plan, { ...about, ...byClient, ...csv }, statements, { id: storyId('File', 2) });
      addFile(plan, { ...about, ...byStaff, fileName: 'Call note.txt', mimeType: 'text/plain' }, note);
    }),
  );
}
