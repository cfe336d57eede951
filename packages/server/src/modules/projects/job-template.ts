import { defineEntity } from '../../entity/entity.ts';

/** The common properties of jobs of one kind, with the tasks that each of them gets. */
export const jobTemplate = defineEntity('JobTemplate', {
  table: 'job_template',
  owned: { tasks: { table: 'job_template_task', owner: 'job_template_id' } },
});
