-- Orders of searches of work in progress and of revisions. Without an index, a page of them sorts a million rows.
create index wip_entry_posted_at_index on wip_entry (tenant_id, posted_at, id);
create index wip_entry_amount_index on wip_entry (tenant_id, amount, id);
create index wip_entry_outstanding_amount_index on wip_entry (tenant_id, outstanding_amount, id);
create index draft_invoice_history_revision_index on draft_invoice_history (tenant_id, revision, id);
