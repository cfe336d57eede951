import type { AnyEntity } from '../entity/model.ts';
import type { Plan } from '../entity/plan.ts';
import type { DataOf, DataShape, Job } from './job.ts';

/**
 * Adds a job with the changes of a plan, as a side effect of a rule.
 *
 * @param entity the entity whose rule requires it.
 */
export function planJob<Shape extends DataShape>(
  plan: Plan,
  entity: AnyEntity,
  job: Job<Shape>,
  data: DataOf<Shape>,
): void {
  plan.insertPlain({ entity, table: 'background_job', key: { id: plan.newId() }, columns: { name: job.name, data } });
}
