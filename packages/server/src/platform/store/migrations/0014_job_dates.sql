alter table job add constraint job_due_date_order check (due_date >= start_date);
