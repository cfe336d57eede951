import { planJob } from '../../../background/plan-job.ts';
import type { Input } from '../../../contract/handler.ts';
import { invalid } from '../../../contract/problem.ts';
import { Rejection } from '../../../contract/rejection.ts';
import { authorizeValue } from '../../../contract/roles.ts';
import type { Handler } from '../../../entity/context.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { client } from '../../clients/index.ts';
import { invoice } from '../invoice/invoice.ts';
import { createLink } from '../link/createQuickPaymentLink.ts';
import { newLinkUrl } from '../link/link-token.ts';
import { mail } from './mail.ts';
import { recipientsOfClients } from './recipients.ts';
import { sendMail } from './send-mail.ts';

type Body = Input<'sendInvoice'>['body'];

/** Sends an invoice to its client by mail, in the background. */
export const sendInvoice: Handler<'sendInvoice'> = (context, { path, body }) => {
  const { service, tenant, operation, caller } = context;
  if (service.mailServers.of(tenant) === undefined)
    throw new Rejection(
      'MAIL_NOT_CONFIGURED',
      `The service has no mail server${tenant.isSandbox ? ' for sandboxes' : ''}, so it sends no mails. Ask the operator to set one.`,
    );
  if (body.withPaymentLink === true) authorizeValue(operation, 'withPaymentLink', true, caller.roles);
  return context.write(async (unit) => {
    const url = newLinkUrl(service.config.publicUrl);
    const mailId = await unit.plan((plan) => {
      const row = sendable(plan, path.id);
      const quickPaymentLinkId = body.withPaymentLink === true ? linkFor(plan, caller.apiUserId, url, row) : null;
      return planMail(plan, row, body, quickPaymentLinkId);
    });
    return { status: 202, headers: { Location: `/gql/v1/mail/${mailId}` }, body: { mailId, status: 'QUEUED' } };
  });
};

/** Returns an invoice that can be sent. It cannot be voided until the mail is stored. */
function sendable(plan: Plan, id: string): Row<'Invoice'> {
  const row = plan.getForShare(invoice, id);
  if (row === undefined) throw new Rejection('NOT_FOUND', 'Your tenant has no invoice with this ID.');
  if (row.status === 'PENDING' || row.status === 'VOIDED')
    throw new Rejection('INVALID_STATE', `${row.invoiceNumber} cannot be sent: its status is ${row.status}.`);
  return row;
}

function linkFor(plan: Plan, apiUserId: string, url: string, { id, clientId }: Row<'Invoice'>): string {
  const owner = plan.get(client, clientId);
  if (owner === undefined) throw new Error(`The client ${clientId} does not exist.`);
  return createLink(plan, apiUserId, url, { clientRef: owner.clientRef, invoiceIds: [id] });
}

function planMail(
  plan: Plan,
  row: Row<'Invoice'>,
  { to, cc = [], message }: Body,
  quickPaymentLinkId: string | null,
): string {
  const { clientId, orgId, billingContactId } = row;
  const toAddresses = to ?? plan.lookup(recipientsOfClients, `${clientId}/${billingContactId ?? ''}`) ?? [];
  if (toAddresses.length === 0)
    throw invalid(
      '/to',
      'REQUIRED',
      'to is required, because the client and its contacts have no email address that can be used.',
    );
  const values = {
    toAddresses: unique(toAddresses),
    ccAddresses: unique(cc),
    message: message ?? null,
    quickPaymentLinkId,
  };
  return createMail(plan, {
    ...values,
    kind: 'INVOICE',
    template: 'INVOICE',
    clientId,
    orgId,
    invoiceIds: [row.id],
    reminderDate: null,
  });
}

type NewMail = Pick<
  Row<'Mail'>,
  | 'kind'
  | 'template'
  | 'clientId'
  | 'orgId'
  | 'invoiceIds'
  | 'toAddresses'
  | 'ccAddresses'
  | 'message'
  | 'quickPaymentLinkId'
  | 'reminderDate'
>;

/** Adds a mail and the job that sends it. One without a recipient has failed. */
export function createMail(plan: Plan, values: NewMail): string {
  const hasRecipient = values.toAddresses.length > 0;
  const { row } = plan.insert(mail, {
    ...values,
    invoiceIds: [...values.invoiceIds],
    language: plan.get(client, values.clientId)?.documentLanguage ?? 'en',
    status: hasRecipient ? 'QUEUED' : 'FAILED',
    failure: hasRecipient ? null : 'The client and its contacts have no email address that can be used.',
  });
  if (hasRecipient) planJob(plan, mail, sendMail, { mailId: row.id });
  return row.id;
}

function unique(addresses: readonly string[]): string[] {
  return [...new Set(addresses.map((address) => address.toLowerCase()))];
}
