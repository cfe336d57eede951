import { CompiledQuery } from 'kysely';
import { compiler, type Query, type Session } from '../src/platform/store/session.ts';

/** A node of a plan of PostgreSQL, with what the plan measured. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Parent Relationship'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

type Explained = CompiledQuery<{ readonly 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>;

/** Returns the plans of the statements that a read sends. They are executed, and return no rows to the read. */
export async function plansOf(session: Session, read: (session: Session) => Promise<unknown>): Promise<PlanNode[]> {
  const plans: PlanNode[] = [];
  const all = async <Row>(query: Query<Row>): Promise<Row[]> => {
    const { sql: text, parameters } = query.compile(compiler);
    const statement = `explain (analyze, timing off, buffers off, format json) ${text}`;
    const explained = CompiledQuery.raw(statement, [...parameters]) as Explained;
    const [row] = await session.all({ compile: () => explained });
    if (row !== undefined) plans.push(row['QUERY PLAN'][0].Plan);
    return [];
  };
  await read({ clockOffset: undefined, all, first: async (query) => (await all(query))[0] });
  return plans;
}
