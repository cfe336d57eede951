-- The mails that an address has rejected. They decide who gets a mail, and are few.
-- without transaction
-- locks: share update exclusive on mail

drop index concurrently if exists mail_bounced_index;
create index concurrently mail_bounced_index on mail (tenant_id, id) where bounced_addresses <> '{}';
