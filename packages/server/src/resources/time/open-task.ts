import type { Row } from '../../entity/row.ts';

/** Whether a task is still to be done. */
export function isOpenTask({ active, status }: Pick<Row<'Task'>, 'active' | 'status'>): boolean {
  return active && status !== 'COMPLETED' && status !== 'CANCELLED';
}
