-- locks: access exclusive on imported_content
-- Of the digest of an import, whoever has the database could find values that no table has in readable form, such as tax IDs, by trying all.
-- `digest` is that of imports without such values, and of all those before `operator master-key reencrypt` has run.
alter table imported_content add column digest_encrypted bytea, alter column digest drop not null;
