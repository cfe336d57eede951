import { aggregateOf, byId, pageOf } from '../../query/handlers.ts';
import { assignStaff } from './assignStaff.ts';
import { createProjectsFromTemplate } from './createProjectsFromTemplate.ts';
import { job } from './job.ts';
import { jobTemplate } from './job-template.ts';
import { project } from './project.ts';
import { removeStaff } from './removeStaff.ts';

export const projects = {
  listJobs: pageOf(job),
  getJob: byId(job),
  listJobTemplates: pageOf(jobTemplate),
  listProjects: pageOf(project),
  searchProjects: pageOf(project),
  getProject: byId(project),
  aggregateProjects: aggregateOf(project),
  createProjectsFromTemplate,
  assignStaff,
  removeStaff,
};
