-- VAT IDs of clients and orgs.
-- locks: access exclusive on client, access exclusive on org

alter table client add column vat_id text collate "C";
alter table org add column vat_id text collate "C";
