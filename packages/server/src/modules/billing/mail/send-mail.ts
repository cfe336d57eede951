import { buffer } from 'node:stream/consumers';
import { sql } from 'kysely';
import { defineJob, type JobRun } from '../../../background/job.ts';
import type { Row } from '../../../entity/row.ts';
import type { UnitOfWork } from '../../../entity/unit-of-work.ts';
import type { MailMessage, MailServer } from '../../../platform/mail/mail-server.ts';
import { writeInvoiceDocument } from '../document/write-invoice.ts';
import { endingOf, endSending, mail, startSending, waitingRecipients } from './mail.ts';
import { type MailContent, readMailContent, type WrittenMail, writeMail } from './mail-content.ts';
import { mailToken } from './mail-token.ts';

type MailRun = JobRun<{ readonly mailId: string }>;

/**
 * Sends a mail at most once: the attempt is recorded before the mail server gets anything, and who finds it recorded does not begin
 * another one.
 */
export const sendMail = defineJob({
  name: 'send-mail',
  data: { mailId: 'string' },
  // Mail servers that defer a mail accept it minutes or hours later: in eight hours and a half.
  retries: 10,
  retryDelaySeconds: 30,
  timeoutSeconds: 300,
  async run(run) {
    const { tenant, data, service, signal } = run;
    const row = await run.read((session) =>
      session.first<Pick<Row<'Mail'>, 'status'>>(
        sql`select status from mail where tenant_id = ${tenant.id} and id = ${data.mailId}`,
      ),
    );
    if (row?.status === 'SENDING')
      return end(run, 'SENDING', { status: 'UNKNOWN', failure: 'The service ended while it was sent.' });
    if (row?.status !== 'QUEUED') return;
    const server = service.mailServers.of(tenant);
    if (server === undefined) throw new Error('No mail server is set.');
    const content = await run.read((session) => readMailContent(session, tenant.id, data.mailId));
    const written = content === undefined || content.documents.length === 0 ? undefined : writeMail(content);
    if (content === undefined || written === undefined)
      return end(run, 'QUEUED', { status: 'FAILED', failure: 'There is nothing to send any more.' });
    const attachments = await attachmentsOf(run, content);
    const started = await run.write((unit) => start(unit, data.mailId, written));
    if (started === undefined) return;
    const delivery = await server.deliver(messageOf(run, server, started, written, attachments), signal);
    const ending = endingOf(started, delivery);
    if (ending.status !== 'QUEUED') return end(run, 'SENDING', ending);
    await run.write((unit) => endIf(unit, data.mailId, 'SENDING', ending));
    // The reason can name recipients, whom the log does not.
    throw new Error('The mail was not delivered, and is tried again later. Its field `failure` says why.');
  },
  died: async (unit, { mailId }) => {
    await unit.plan((plan) => {
      const row = plan.getForUpdate(mail, mailId);
      if (row?.status === 'SENDING')
        endSending(plan, row, { status: 'UNKNOWN', failure: 'The service ended while it was sent.' });
      if (row?.status === 'QUEUED')
        endSending(plan, row, { status: 'FAILED', failure: row.failure ?? 'The last attempt did not succeed.' });
    });
  },
});

type Ending = Parameters<typeof endSending>[2];

/** Ends the job with the mail, unless another run has ended the mail. */
function end(run: MailRun, from: Row<'Mail'>['status'], ending: Ending): Promise<void> {
  return run.finish((unit) => endIf(unit, run.data.mailId, from, ending));
}

async function endIf(unit: UnitOfWork, mailId: string, from: Row<'Mail'>['status'], ending: Ending): Promise<void> {
  await unit.plan((plan) => {
    const row = plan.getForUpdate(mail, mailId);
    if (row?.status === from) endSending(plan, row, ending);
  });
}

function start(unit: UnitOfWork, mailId: string, { subject }: WrittenMail): Promise<Row<'Mail'> | undefined> {
  return unit.plan((plan) => {
    const row = plan.getForUpdate(mail, mailId);
    return row?.status === 'QUEUED' ? startSending(plan, row, subject).row : undefined;
  });
}

/** The PDF of the invoice, as it is now; none of an invoice that was imported, or of a reminder. */
async function attachmentsOf(run: MailRun, { documents }: MailContent): Promise<MailMessage['attachments']> {
  const { tenant, service, signal, data } = run;
  const [document] = documents;
  const isInvoice = await run.read((session) =>
    session.first(sql`select from mail where tenant_id = ${tenant.id} and id = ${data.mailId} and kind = 'INVOICE'`),
  );
  if (document === undefined || isInvoice === undefined) return [];
  await writeInvoiceDocument(
    { tenantId: tenant.id, storage: service.storage, signal, read: run.read, write: run.write },
    document.id,
  );
  const file = await run.read((session) =>
    session.first<{ fileName: string; mimeType: string; sha256: string }>(sql`
      select f.file_name as "fileName", f.mime_type as "mimeType", f.sha256 from invoice i
      join file f on f.tenant_id = i.tenant_id and f.id = i.pdf_file_id
      where i.tenant_id = ${tenant.id} and i.id = ${document.id}`),
  );
  if (file === undefined) return [];
  const content = await buffer(await service.storage.open(tenant.id, file.sha256));
  return [{ fileName: file.fileName, mimeType: file.mimeType, content }];
}

function messageOf(
  { tenant, service }: MailRun,
  { publicUrl }: MailServer,
  row: Row<'Mail'>,
  written: WrittenMail,
  attachments: MailMessage['attachments'],
): MailMessage {
  const { toAddresses: to, ccAddresses: cc } = row;
  const id = mailToken(service.vault, { tenantName: tenant.name, mailId: row.id });
  // An invoice is owed to its recipient; reminders can be stopped.
  const unsubscribeUrl = row.kind === 'REMINDER' ? `${publicUrl}/mail/${id}/unsubscribe` : null;
  return { ...written, id, to, cc, recipients: waitingRecipients(row), unsubscribeUrl, attachments };
}
