import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { defineClockTask, type Tick } from '../../../background/clock.ts';
import { type CandidateRow, changeDueRows } from '../../../background/due-rows.ts';
import { schemaOf } from '../../../contract/contract.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { addRules } from '../../../entity/rules.ts';
import type { Session } from '../../../platform/store/store.ts';
import { client } from '../../clients/index.ts';
import { org } from '../../reference/index.ts';
import { documentTexts } from '../document/document-texts.ts';
import { draftInvoice } from '../draft/draft-invoice.ts';
import { invoice } from '../invoice/invoice.ts';
import { isOpen } from '../rules/balances.ts';
import { remindable } from './mail-content.ts';
import { mailTemplate } from './mail-template.ts';
import { recipientsOfClients } from './recipients.ts';
import { createMail } from './sendInvoice.ts';
import { hasStandardTexts } from './standard-texts.ts';

addRules(org, {
  afterWrite: ({ id, values, previous }, plan) => checkSchedule(plan, id, [values, previous]),
});
addRules(client, {
  afterWrite({ values, previous }, plan) {
    const isMoved = previous !== undefined && previous.orgId !== values.orgId;
    checkSchedule(plan, values.orgId, [values, isMoved ? undefined : previous]);
  },
});

type Scheduled = Pick<Row<'Client'>, 'reminderSchedule'>;

/** Checks a schedule when it is written. A template can be deleted later: its mails then have the standard text. */
function checkSchedule(
  plan: Plan,
  orgId: string,
  [values, previous]: readonly [Scheduled, Scheduled | undefined],
): void {
  const schedule = values.reminderSchedule ?? [];
  if (isDeepStrictEqual(schedule, previous?.reminderSchedule)) return;
  for (const [index, { daysAfterDue, template }] of schedule.entries()) {
    if (daysAfterDue <= (schedule[index - 1]?.daysAfterDue ?? 0))
      throw invalidField('reminderSchedule', 'The steps are in ascending order of daysAfterDue, each of another day.');
    const isKnown =
      hasStandardTexts(template) ||
      plan.all(mailTemplate, 'orgId', orgId).some(({ active, name }) => active && name === template);
    if (!isKnown)
      throw invalidField('reminderSchedule', `The org has no active mail template with the name ${template}.`);
  }
}

/**
 * Adds a mail for each client with an invoice that has reached a step of its schedule, at most one a day. The step is recorded on the invoices
 * in the transaction of the mail.
 */
export const remindClients = defineClockTask({
  name: 'remind-clients',
  every: 'day',
  async run(tick) {
    if (tick.service.mailServers.of(tick.tenant) === undefined) return;
    if (!(await tick.read((session) => hasSchedule(session, tick)))) return;
    const reminders = remindersOn(tick.today.toString());
    await changeDueRows(tick, {
      after: positionOf(tick),
      find: (session, { tenant, today }, { after, limit }) =>
        session.all<CandidateRow>(sql`
          select c.id, exists (${reachedBy(today.toString())}) and not exists (select from mail m
            where m.tenant_id = c.tenant_id and m.client_id = c.id and m.reminder_date = ${today.toString()}::date) as "isDue"
          from client c join org o on o.tenant_id = c.tenant_id and o.id = c.org_id
          where c.tenant_id = ${tenant.id} and ${after === undefined ? sql`true` : sql`c.id > ${after.id}`}
          order by c.id limit ${limit}`),
      change: (plan, id) => remind(plan, id, plan.lookup(reminders, id), tick.today.toString()),
      keep: (transaction, { id }) => tick.keepProgress(transaction, { id }),
    });
    // The task has not finished for today, so it continues in the next minute.
    tick.signal.throwIfAborted();
  },
});

function positionOf({ progress }: Tick): { readonly id: string } | undefined {
  return progress !== undefined && 'id' in progress ? { id: String(progress.id) } : undefined;
}

async function hasSchedule(session: Session, { tenant }: Tick): Promise<boolean> {
  const found = await session.first(sql`
    select from org where tenant_id = ${tenant.id} and reminder_schedule <> '[]'
    union all select from client where tenant_id = ${tenant.id} and reminder_schedule is not null limit 1`);
  return found !== undefined;
}

/** SQL of the invoices of the client `c` of the org `o` that have reached a step that they were not reminded of, with the step. */
const reachedBy = (day: string) => sql`
  select i.id, i.due_date, step.days, step.template, step.fee from invoice i cross join lateral (
    select (found ->> 'daysAfterDue')::integer as days, found ->> 'template' as template, found ->> 'lateFee' as fee
    from jsonb_array_elements(coalesce(c.reminder_schedule, o.reminder_schedule)) found
    where (found ->> 'daysAfterDue')::integer <= ${day}::date - i.due_date
    order by 1 desc limit 1) step
  where i.tenant_id = c.tenant_id and i.client_id = c.id and ${remindable('i', 'c')}
    and i.due_date < ${day}::date and step.days > coalesce(i.reminded_after_days, 0)`;

/** What a client is reminded of on a day. */
interface Reminder {
  /** All its overdue invoices. */
  readonly invoiceIds: readonly string[];
  /** The step that each of those has reached that have reached another one. */
  readonly steps: readonly {
    readonly id: string;
    readonly days: number;
    readonly template: string;
    readonly fee: string | null;
  }[];
}

/** Maximum number of invoices of a mail. */
const maxInvoices = 1000;

const remindersOn = (day: string): Lookup<Reminder> => ({
  name: `reminders of ${day}`,
  async load(transaction, tenantId, clientIds) {
    const rows = await transaction.all<Reminder & { readonly clientId: string }>(sql`
      select c.id as "clientId",
        array(select i.id::text from invoice i where i.tenant_id = c.tenant_id and i.client_id = c.id and ${remindable('i', 'c')}
          and i.due_date < ${day}::date order by i.due_date, i.id limit ${maxInvoices}) as "invoiceIds",
        (select coalesce(json_agg(json_build_object('id', r.id, 'days', r.days, 'template', r.template, 'fee', r.fee)), '[]')
          from (${reachedBy(day)} order by i.due_date, i.id limit ${maxInvoices}) r) as steps
      from client c join org o on o.tenant_id = c.tenant_id and o.id = c.org_id
      where c.tenant_id = ${tenantId} and c.id = any(${clientIds})`);
    return new Map(rows.map(({ clientId, ...reminder }) => [clientId, reminder]));
  },
});

function remind(plan: Plan, clientId: string, found: Reminder | undefined, today: string): void {
  const owner = plan.get(client, clientId);
  if (owner === undefined || found === undefined || found.steps.length === 0) return;
  const locked = plan.getManyForUpdate(
    invoice,
    found.steps.map(({ id }) => id),
  );
  // What was paid or reminded of since it was read.
  const due = found.steps.filter(({ id, days }) => {
    const row = locked.get(id);
    return row !== undefined && isOpen(row) && !row.isDisputed && (row.remindedAfterDays ?? 0) < days;
  });
  const [latest] = due.toSorted((one, other) => other.days - one.days);
  if (latest === undefined) return;
  createMail(plan, {
    kind: 'REMINDER',
    template: latest.template,
    clientId,
    orgId: owner.orgId,
    invoiceIds: [...found.invoiceIds],
    toAddresses: [...(plan.lookup(recipientsOfClients, `${clientId}/${owner.billingContactId ?? ''}`) ?? [])],
    ccAddresses: [],
    message: null,
    quickPaymentLinkId: null,
    reminderDate: today,
  });
  for (const { id, days } of due) plan.set(invoice, id, { remindedAfterDays: days });
  draftFees(
    plan,
    owner,
    due.flatMap(({ id, fee }) => {
      const { invoiceNumber, currency } = locked.get(id) ?? {};
      return fee === null || invoiceNumber === undefined || currency !== owner.currency ? [] : [{ invoiceNumber, fee }];
    }),
    today,
  );
}

/** Drafts the fees of the steps that a client has reached. They are not taxed: they compensate for the delay. */
function draftFees(
  plan: Plan,
  { id: clientId, currency, documentLanguage, paymentTermsDays }: Row<'Client'>,
  fees: readonly { readonly invoiceNumber: string; readonly fee: string }[],
  today: string,
): void {
  if (fees.length === 0) return;
  const lines = fees.slice(0, maxLines).map(({ invoiceNumber, fee }) => ({
    lineType: 'INTEREST' as const,
    jobId: null,
    description: documentTexts[documentLanguage].lateFee.replace('{number}', () => invoiceNumber),
    quantity: '1',
    unitAmount: fee,
    taxable: false,
    wipIds: [],
  }));
  const dueDate = Temporal.PlainDate.from(today).add({ days: paymentTermsDays }).toString();
  plan.create(draftInvoice, { clientId, currency, billThroughDate: today, proposedInvoiceDate: today, dueDate, lines });
}

/** Maximum number of lines of a draft. */
const maxLines = schemaOf('DraftInvoiceFields').properties?.lines?.maxItems ?? 0;
