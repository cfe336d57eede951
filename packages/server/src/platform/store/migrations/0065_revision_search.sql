-- Searches filter revisions of drafts by the approval of the draft, which is part of the snapshot. The text is always an instant in UTC,
-- so its value depends on no setting.
create function stored_instant(written text) returns timestamptz language sql immutable strict parallel safe
  return written::timestamptz;
create index draft_invoice_history_approved_at_index
  on draft_invoice_history (tenant_id, stored_instant(draft_invoice ->> 'approvedAt'), id);
create index draft_invoice_history_total_index on draft_invoice_history (tenant_id, total, id);
