import { sql } from 'kysely';
import { parseDecimal, sum } from '../../../platform/decimal.ts';
import type { Session } from '../../../platform/store/store.ts';
import { formatAmount, formatDay, type Language, localeOf } from '../../documents/index.ts';
import { hasOpenStatus } from '../../reference/index.ts';
import { fillHtml, fillSubject, fillText, htmlOf, type MailValues, oneLine } from './fill-template.ts';
import { type MailTexts, standardTexts } from './standard-texts.ts';

/** A document that a mail is about. */
export interface MailDocument {
  readonly id: string;
  readonly number: string;
  readonly date: string;
  readonly dueDate: string;
  readonly total: string;
  readonly amountDue: string;
  readonly currency: string;
}

/** What a mail says, before it is put into words. */
export interface MailContent {
  readonly firmName: string;
  readonly clientName: string;
  readonly language: Language;
  /** Of its address on documents. */
  readonly clientCountry: string | null;
  readonly firmCountry: string;
  readonly message: string | null;
  readonly paymentUrl: string | null;
  /** Those that may still be sent: an invoice that is not voided, and what a reminder may still remind of. The oldest first. */
  readonly documents: readonly MailDocument[];
  /** Of the org, in the language of the mail; otherwise in English. */
  readonly ownTexts: MailTexts | null;
  readonly template: string;
}

/** Reads what a mail says now. */
export function readMailContent(session: Session, tenantId: number, mailId: string): Promise<MailContent | undefined> {
  return session.first<MailContent>(sql`
    select o.legal_name as "firmName", coalesce(c.legal_name, c.name) as "clientName", m.language, m.message, m.template, link.url as "paymentUrl",
      a.country as "clientCountry", o.country as "firmCountry",
      (select json_build_object('subject', t.subject, 'text', t.text, 'html', t.html, 'replyTo', t.reply_to) from mail_template t
        where t.tenant_id = m.tenant_id and t.org_id = m.org_id and t.name = m.template and t.active and t.language in (m.language, 'en')
        order by t.language <> m.language limit 1) as "ownTexts",
      (select coalesce(json_agg(json_build_object('id', i.id, 'number', i.invoice_number, 'date', i.invoice_date, 'dueDate', i.due_date,
          'total', i.total::text, 'amountDue', i.amount_due::text, 'currency', i.currency) order by i.due_date, i.invoice_date, i.id), '[]')
        from invoice i where i.tenant_id = m.tenant_id and i.id = any(m.invoice_ids) and i.status not in ('PENDING', 'VOIDED')
          and (m.kind = 'INVOICE' or ${remindable('i', 'c')})) as documents
    from mail m
    join org o on o.tenant_id = m.tenant_id and o.id = m.org_id
    join client c on c.tenant_id = m.tenant_id and c.id = m.client_id
    left join contact_info a on a.tenant_id = c.tenant_id and a.id = coalesce(c.billing_address_id, c.client_contact_info_id)
    left join quick_payment_link link on link.tenant_id = m.tenant_id and link.id = m.quick_payment_link_id
    where m.tenant_id = ${tenantId} and m.id = ${mailId}`);
}

/** SQL of whether an invoice of a client may be in a reminder, but for its day. */
export function remindable(invoice: string, client: string) {
  const [type, amountDue, isDisputed] = ['document_type', 'amount_due', 'is_disputed'].map((column) =>
    sql.ref(`${invoice}.${column}`),
  );
  return sql<boolean>`(${hasOpenStatus(invoice)} and ${type} = 'INVOICE' and ${amountDue} > 0 and not ${isDisputed}
    and ${sql.ref(`${client}.active`)} and not ${sql.ref(`${client}.reminders_off`)})`;
}

export interface WrittenMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly replyTo: string | null;
  readonly senderName: string;
}

/** Puts a mail into words. */
export function writeMail(content: MailContent): WrittenMail {
  const { ownTexts, template, language, firmName } = content;
  const texts = ownTexts ?? standardTexts(template, language);
  const values = valuesOf(content);
  const text = fillText(texts.text, values);
  return {
    subject: fillSubject(texts.subject, values),
    text,
    html: texts.html === null ? htmlOf(text) : fillHtml(texts.html, values),
    replyTo: texts.replyTo,
    senderName: oneLine(firmName),
  };
}

function valuesOf(content: MailContent): MailValues {
  const { documents, firmName, clientName, message, paymentUrl } = content;
  const [first] = documents;
  const locale = localeOf(content.language, content.clientCountry, content.firmCountry);
  const day = (text: string | undefined) => (text === undefined ? '' : formatDay(text, locale));
  const sums = (amountOf: (document: MailDocument) => string) => {
    const byCurrency = Map.groupBy(documents, ({ currency }) => currency);
    return [...byCurrency]
      .map(([currency, all]) =>
        formatAmount(sum(all.map((one) => parseDecimal(amountOf(one)))).toFixed(2), currency, locale),
      )
      .join(' + ');
  };
  const lines = documents.map(
    ({ number, dueDate, amountDue, currency }) =>
      `${number} · ${formatDay(dueDate, locale)} · ${formatAmount(amountDue, currency, locale)}`,
  );
  return {
    firmName,
    clientName,
    documentNumber: documents.map(({ number }) => number).join(', '),
    issuedOn: day(first?.date),
    dueOn: day(first?.dueDate),
    total: sums(({ total }) => total),
    amountDue: sums(({ amountDue }) => amountDue),
    documents: lines.join('\n'),
    message: message ?? '',
    paymentUrl: paymentUrl ?? '',
  };
}
