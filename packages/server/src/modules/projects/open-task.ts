import type { Row } from '../../entity/row.ts';

/** Whether a task is active and not completed or cancelled. */
export function isOpenTask({ active, status }: Pick<Row<'Task'>, 'active' | 'status'>): boolean {
  return active && status !== 'COMPLETED' && status !== 'CANCELLED';
}
