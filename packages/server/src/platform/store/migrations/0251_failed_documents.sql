-- When the last try to write the file of a document failed.
-- locks: access exclusive on engagement_document, access exclusive on invoice

alter table invoice add column pdf_failed_at timestamptz(3);
alter table engagement_document add column file_failed_at timestamptz(3);
