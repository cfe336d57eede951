import { aggregateOf, byId, pageOf, searchOf } from '../../query/handlers.ts';
import { assignStaff } from './assignStaff.ts';
import { createProjectsFromTemplate } from './createProjectsFromTemplate.ts';
import { job } from './job.ts';
import { jobTemplate } from './job-template.ts';
import { listTaskTypes } from './listTaskTypes.ts';
import { project } from './project.ts';
import { removeStaff } from './removeStaff.ts';
import { task } from './task.ts';
import { taskType } from './task-type.ts';

export const projects = {
  listJobs: pageOf(job),
  getJob: byId(job),
  listJobTemplates: pageOf(jobTemplate),
  listProjects: pageOf(project),
  searchProjects: searchOf(project),
  getProject: byId(project),
  aggregateProjects: aggregateOf(project),
  listTaskTypes,
  searchTaskTypes: searchOf(taskType),
  getTask: byId(task),
  searchTasks: searchOf(task),
  aggregateTasks: aggregateOf(task),
  createProjectsFromTemplate,
  assignStaff,
  removeStaff,
};
export { isFinished, job, reopenJob } from './job.ts';
export { staffJobAssignment } from './staff-job-assignment.ts';
export { task } from './task.ts';
export { taskType } from './task-type.ts';
