-- The texts of mails to clients.
create table mail_template (
  like entity_columns including defaults including indexes,
  org_id uuid not null,
  name text collate "C" not null,
  language text collate "C" not null,
  subject text collate "C" not null,
  text text collate "C" not null,
  html text collate "C",
  reply_to text collate "C",
  constraint mail_template_language_enum check (language in ('en', 'de', 'fr', 'es'))
);
call add_references('mail_template', 'org_id');
create unique index mail_template_name_unique on mail_template (tenant_id, org_id, name, language) where (active);

create table mail (
  like entity_columns including defaults including indexes,
  kind text collate "C" not null,
  status text collate "C" not null,
  org_id uuid not null,
  client_id uuid not null,
  invoice_ids uuid[] not null,
  to_addresses text[] not null,
  cc_addresses text[] not null,
  template text collate "C" not null,
  language text collate "C" not null,
  subject text collate "C",
  message text collate "C",
  quick_payment_link_id uuid,
  reminder_date date,
  attempts integer not null default 0,
  accepted_addresses text[] not null default '{}',
  bounced_addresses text[] not null default '{}',
  failure text collate "C",
  sent_at timestamptz(3),
  addresses text[] not null generated always as (to_addresses || cc_addresses) stored,
  constraint mail_kind_enum check (kind in ('INVOICE', 'REMINDER')),
  constraint mail_language_enum check (language in ('en', 'de', 'fr', 'es')),
  constraint mail_status_enum check (status in ('QUEUED', 'SENDING', 'SENT', 'BOUNCED', 'FAILED', 'UNKNOWN')),
  constraint mail_sent_at_agrees check ((status = 'SENT') = (sent_at is not null)),
  constraint mail_reminder_date_agrees check ((kind = 'REMINDER') = (reminder_date is not null))
);
call add_references('mail', 'org_id', 'client_id', 'quick_payment_link_id');
-- A client gets at most one reminder a day.
create unique index mail_reminder_date_unique on mail (tenant_id, client_id, reminder_date) where (reminder_date is not null);
call index_orders('mail', 'client_id', 'status', 'kind', 'org_id', 'template', 'attempts', 'sent_at', 'created_at');
-- The mails that an address has rejected. They decide who gets a mail, and are few.
create index mail_bounced_index on mail (tenant_id, id) where (bounced_addresses <> '{}');
create index mail_invoice_ids_index on mail using gin (tenant_id, invoice_ids);
create index mail_addresses_index on mail using gin (tenant_id, addresses);
call refuse_merged('mail', 'client_id');
