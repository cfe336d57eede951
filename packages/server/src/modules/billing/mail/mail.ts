import { command } from '../../../entity/command.ts';
import { defineEntity } from '../../../entity/entity.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { MailDelivery } from '../../../platform/mail/mail-server.ts';
import { invoice } from '../invoice/invoice.ts';

/** An email to a client. What it says is read when it is sent. */
export const mail = defineEntity('Mail', { table: 'mail' });

type Ending = Pick<Row<'Mail'>, 'status' | 'failure'> &
  Partial<Pick<Row<'Mail'>, 'acceptedAddresses' | 'bouncedAddresses'>>;

/** Recorded before the mail server gets anything: who finds a mail in this state does not know whether it was sent. */
export const startSending = command('sendingStarted', (plan: Plan, row: Row<'Mail'>, subject: string) =>
  plan.set(mail, row.id, { status: 'SENDING', subject, attempts: row.attempts + 1, failure: null }),
);

/** Records what became of an attempt, or that there will be none. */
export const endSending = command(
  'sendingEnded',
  (plan: Plan, row: Row<'Mail'>, { status, failure, ...more }: Ending) => {
    const isSent = status === 'SENT';
    plan.set(mail, row.id, {
      ...more,
      status,
      failure: failure?.slice(0, maxFailureLength) ?? null,
      ...(isSent && { sentAt: plan.now }),
    });
    if (isSent && row.kind === 'INVOICE')
      for (const id of row.invoiceIds)
        if (plan.getForUpdate(invoice, id) !== undefined) plan.set(invoice, id, { sentAt: plan.now });
  },
);

/** Records recipients of a mail whom another mail server has rejected after the first one had accepted it. */
export const recordBounce = command(
  'bounceReported',
  (plan: Plan, row: Row<'Mail'>, addresses: readonly string[], reason: string | null) => {
    const before = new Set(row.bouncedAddresses);
    const recipients = [...new Set([...row.toAddresses, ...row.ccAddresses])];
    const bounced = recipients.filter((address) => addresses.includes(address) && !before.has(address));
    if (bounced.length === 0 || (row.status !== 'SENT' && row.status !== 'UNKNOWN')) return;
    const bouncedAddresses = [...row.bouncedAddresses, ...bounced];
    const isLost = recipients.every((address) => bouncedAddresses.includes(address));
    plan.set(mail, row.id, {
      acceptedAddresses: row.acceptedAddresses.filter((address) => !bounced.includes(address)),
      bouncedAddresses,
      ...(isLost && { status: 'BOUNCED', sentAt: null }),
      failure: reason?.slice(0, maxFailureLength) ?? row.failure,
    });
  },
);

const maxFailureLength = 500;

/** Recipients who have neither got the mail nor rejected it. */
export function waitingRecipients(
  row: Pick<Row<'Mail'>, 'toAddresses' | 'ccAddresses' | 'acceptedAddresses' | 'bouncedAddresses'>,
): string[] {
  const done = new Set([...row.acceptedAddresses, ...row.bouncedAddresses]);
  return [...new Set([...row.toAddresses, ...row.ccAddresses])].filter((address) => !done.has(address));
}

/** The state of a mail after an attempt. */
export function endingOf(row: Row<'Mail'>, { outcome, accepted, bounced, failure }: MailDelivery): Ending {
  const acceptedAddresses = [...row.acceptedAddresses, ...accepted];
  const bouncedAddresses = [...row.bouncedAddresses, ...bounced];
  const lists = { acceptedAddresses, bouncedAddresses, failure };
  if (outcome === 'unknown') return { ...lists, status: 'UNKNOWN' };
  const isDone = waitingRecipients({ ...row, ...lists }).length === 0;
  if (!isDone && outcome !== 'rejected') return { ...lists, status: 'QUEUED' };
  if (acceptedAddresses.length > 0) return { ...lists, status: 'SENT' };
  return { ...lists, status: bouncedAddresses.length > 0 ? 'BOUNCED' : 'FAILED' };
}
