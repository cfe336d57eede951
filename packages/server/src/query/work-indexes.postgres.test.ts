import { type RawBuilder, sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { addTenant, testDatabase } from '../../test/database.ts';
import { isNightly } from '../../test/nightly.ts';
import { patientLimits } from '../../test/patient-limits.ts';
import { runOn } from '../../test/postgres-server.ts';
import { workStatements } from '../../test/work-rows.ts';
import { schemaOf } from '../contract/contract.ts';
import { propertiesOf } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { selection } from '../entity/select.ts';
import { project } from '../modules/projects/project.ts';
import { task } from '../modules/projects/task.ts';
import { newId } from '../platform/store/new-id.ts';
import { openStore } from '../platform/store/store.ts';
import { afterClauses, orderClause, orderKeys } from './order.ts';
import { conditionOf } from './where.ts';

const options = await testDatabase();
const { databaseUrl = '' } = options;
const store = await openStore({ ...options, limits: patientLimits });
afterAll(() => store.close());
const tenantId = await addTenant(store, 'alpha');
/** By day a third of a firm. */
const share = isNightly ? 1 : 3;
const size = { staff: 200, clients: 800, jobs: 6_000 / share, assignments: 12_000 / share, tasks: 12_000 / share };
await runOn(
  databaseUrl,
  ...workStatements(tenantId, size),
  'vacuum analyze job, task, staff_job_assignment, client, staff',
);

/** The plan of a page: its nodes, outermost first, without the subqueries of the rows. */
async function nodesOf(entity: AnyEntity, condition: RawBuilder<unknown>, orderBy: readonly Record<string, string>[]) {
  const order = orderClause(entity, 'e', orderKeys(entity, orderBy));
  const page = sql`${selection(entity)} where e.tenant_id = ${tenantId} and ${condition} order by ${order} limit 51`;
  const rows = await store.system((transaction) =>
    transaction.all<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(sql`explain (format json) ${page}`),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('There is no plan.');
  return withNodesBelow(row['QUERY PLAN'][0].Plan);
}

/** The plan of a page, by the names of its nodes and their indexes. */
async function planOf(...page: Parameters<typeof nodesOf>) {
  return (await nodesOf(...page)).map((node) => node['Index Name'] ?? node['Node Type']);
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Parent Relationship'?: string;
  readonly Plans?: readonly PlanNode[];
}

function withNodesBelow(node: PlanNode): PlanNode[] {
  const below = (node.Plans ?? []).filter((one) => one['Parent Relationship'] !== 'SubPlan');
  return [node, ...below.flatMap(withNodesBelow)];
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
  [project, 'dueDate', 'job_due_date_nulls_last_index'],
  [project, 'startDate', 'job_start_date_nulls_last_index'],
  [project, 'deadlineDate', 'job_deadline_date_nulls_last_index'],
  [project, 'completedAt', 'job_completed_at_nulls_last_index'],
  [project, 'budgetHours', 'job_budget_hours_nulls_last_index'],
  [project, 'budgetAmount', 'job_budget_amount_nulls_last_index'],
  [task, 'dueDate', 'task_due_date_nulls_last_index'],
])('the highest values first, and nulls last, come from an index: %#', async (entity, key, index) => {
  for (const direction of ['desc', 'desc_nulls_last'])
    expect(await planOf(entity, sql`true`, [{ [key]: direction }])).toEqual(['Limit', index]);
});

const [undated, dated] = [/due_date IS NULL/, /due_date IS NOT NULL/];
test.each([
  ['asc', '2026-10-28', [/due_date, .*id\) > /, undated]],
  ['asc', null, [undated]],
  ['asc_nulls_first', '2026-10-28', [/due_date, .*id\) > /]],
  ['asc_nulls_first', null, [undated, dated]],
  ['desc', '2026-10-28', [/due_date <= /, undated]],
  ['desc', null, [undated]],
  ['desc_nulls_first', '2026-10-28', [/due_date <= /]],
  ['desc_nulls_first', null, [undated, dated]],
])('a page by due date %s continues after %s where the index has it', async (direction, dueDate, conditions) => {
  for (const entity of [project, task]) {
    const orderBy = [{ dueDate: direction }];
    const after = afterClauses(entity, 'e', orderKeys(entity, orderBy), [dueDate, newId()]);
    const starts = await Promise.all(
      after.map(async (range) => (await nodesOf(entity, range, orderBy)).at(-1)?.['Index Cond']),
    );
    expect(starts).toEqual(conditions.map((condition) => expect.stringMatching(condition)));
  }
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
  // An index for the descending order serves the condition as well.
  expect(nodes.map((node) => node.replace('_nulls_last_index', '_index'))).toContain(index);
});
