-- The purchase order and the memo of an invoice are written on its draft.
alter table draft_invoice
  add column purchase_order text collate "C",
  add column memo text collate "C";

-- What the PDF of an invoice shows, besides its lines, which never change. A document that shows it already is not written again.
alter table invoice add column document jsonb;

-- Whoever runs jobs is notified when the transaction that adds some commits: by their name, or by an empty one if they are not due
-- yet.
create function announce_jobs() returns trigger language plpgsql as $$
begin
  perform pg_notify('background_job', case when due_at > now() then '' else name end)
  from (select distinct name, due_at from added) job;
  return null;
end
$$;
create trigger background_job_announced after insert on background_job
  referencing new table as added for each statement execute function announce_jobs();
