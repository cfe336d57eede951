-- Tasks of templates always have planned hours and a staff type, as the contract says. A missing value becomes 0 hours, and
-- the most junior active staff type of the tenant.
call lift_protection('job_template_task', 'staff_type');
update job_template_task set budget_hours = 0 where budget_hours is null;
update job_template_task t set default_staff_type_id = (
  select s.id from staff_type s where s.tenant_id = t.tenant_id order by s.active desc, s.rank desc, s.id limit 1)
where default_staff_type_id is null;
alter table job_template_task alter column budget_hours set not null;
alter table job_template_task alter column default_staff_type_id set not null;
call restore_protection('job_template_task', 'staff_type');
