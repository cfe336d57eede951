import { type RawBuilder, sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { addTenant, testDatabase } from '../../test/database.ts';
import { runOn } from '../../test/postgres-server.ts';
import { workStatements } from '../../test/work-rows.ts';
import { schemaOf } from '../contract/contract.ts';
import { propertiesOf } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { selection } from '../entity/select.ts';
import { project } from '../resources/projects/project.ts';
import { task } from '../resources/time/task.ts';
import { openStore } from '../store/store.ts';
import { orderClause, orderKeys } from './order.ts';
import { conditionOf } from './where.ts';

const options = await testDatabase();
const { databaseUrl = '' } = options;
const store = await openStore(options);
afterAll(() => store.close());
const tenantId = await addTenant(store, 'alpha');
const size = { staff: 200, clients: 800, jobs: 6_000, assignments: 12_000, tasks: 12_000 };
await runOn(
  databaseUrl,
  ...workStatements(tenantId, size),
  'vacuum analyze job, task, staff_job_assignment, client, staff',
);

/** The plan of a page: its nodes and their indexes, outermost first, without the subqueries of the rows. */
async function planOf(entity: AnyEntity, condition: RawBuilder<unknown>, orderBy: readonly Record<string, string>[]) {
  const order = orderClause(entity, 'e', orderKeys(entity, orderBy));
  const page = sql`${selection(entity)} where e.tenant_id = ${tenantId} and ${condition} order by ${order} limit 51`;
  const rows = await store.system((transaction) =>
    transaction.all<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(sql`explain (format json) ${page}`),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('There is no plan.');
  return nodesOf(row['QUERY PLAN'][0].Plan);
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Parent Relationship'?: string;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode): string[] {
  const below = (node.Plans ?? []).filter((one) => one['Parent Relationship'] !== 'SubPlan');
  return [node['Index Name'] ?? node['Node Type'], ...below.flatMap(nodesOf)];
}

/** Keys that every search has but few use: the rows of one tenant are sorted. */
const unindexed = ['active', 'createdAt'];
const keysOf = (schema: string) =>
  Object.keys(propertiesOf(schemaOf(schema))).filter((key) => !unindexed.includes(key));
const sorts = [
  ...keysOf('ProjectOrderBy').map((key) => ['searchProjects', key, project] as const),
  ...keysOf('TaskOrderBy').map((key) => ['searchTasks', key, task] as const),
];

describe.each(sorts)('%s by %s', (_operation, key, entity) => {
  test.each(['asc', 'desc'])('%s starts from an index', async (direction) => {
    const nodes = await planOf(entity, sql`true`, [{ [key]: direction }]);
    expect(nodes.at(-1)).toMatch(new RegExp(`^${entity.table}_`));
    expect(nodes).not.toContain('Sort');
  });
});

test.each([
  [project, 'job_due_date_nulls_last_index'],
  [task, 'task_due_date_nulls_last_index'],
])('the latest due dates first, and the undated last, come from an index: %#', async (entity, index) => {
  expect((await planOf(entity, sql`true`, [{ dueDate: 'desc_nulls_last' }])).at(-1)).toBe(index);
});

test.each([
  [{ managerId: { _eq: 'staff' } }, 'job_manager_id_index'],
  [{ partnerId: { _eq: 'staff' } }, 'job_partner_id_index'],
  [{ inChargeId: { _eq: 'staff' } }, 'job_in_charge_id_index'],
  [{ engagementId: { _eq: 'staff' } }, 'job_engagement_id_index'],
  [{ jobTemplateId: { _eq: 'staff' } }, 'job_job_template_id_index'],
  [{ staffAssignments: { staffId: { _eq: 'staff' } } }, 'staff_job_assignment_staff_id_index'],
  [{ deadlineDate: { _gte: '2026-10-28' } }, 'job_deadline_date_index'],
  [{ wipAmount: { _gt: '4990' } }, 'job_wip_amount_index'],
] as const)('searchProjects where %j finds its rows by an index', async (where, index) => {
  const [staff] = await store.system((transaction) =>
    transaction.all<{ id: string }>(sql`select id from staff limit 1`),
  );
  const condition = JSON.parse(JSON.stringify(where).replace('"staff"', `"${staff?.id}"`));
  // Ordered by due date, so that walking through the rows in ID order cannot find the first matches.
  const nodes = await planOf(project, conditionOf(project, 'e', tenantId, condition), [{ dueDate: 'asc' }]);
  // A descending index serves the condition as well.
  expect(nodes.map((node) => node.replace('_desc_index', '_index'))).toContain(index);
});
