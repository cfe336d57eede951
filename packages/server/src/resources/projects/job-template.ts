import { defineEntity } from '../../entity/entity.ts';

/** What jobs of one kind have in common, with the tasks that each of them gets. */
export const jobTemplate = defineEntity('JobTemplate', {
  table: 'job_template',
  owned: { tasks: { table: 'job_template_task', owner: 'job_template_id' } },
});
