-- without transaction
-- locks: share update exclusive on client

alter table client validate constraint client_document_language_enum;
