import type { AnyEntity } from './model.ts';
import type { EntityType } from './row.ts';

/**
 * Every transaction locks rows in one order of their types, which prevents deadlocks. Rows that many changes update, such
 * as the balances of a client, are locked last and held for the shortest time. Types that are not listed come first, by
 * name.
 */
const lastTypes: readonly string[] = [
  'ExpenseEntry',
  'TimeEntry',
  'Staff',
  'Payment',
  'QuickPaymentLink',
  'DraftInvoice',
  'Invoice',
  'WipEntry',
  'Task',
  'Engagement',
  'Job',
  'StaffTaskAssignment',
  'StaffJobAssignment',
  'Contact',
  'Client',
  'ClientGroup',
  'ExpenseCode',
  'NonWorkCode',
  'WorkCode',
] satisfies readonly EntityType[];

/** The position of an entity in the lock order, as comparable text. */
function lockPosition({ key, type, isCustom }: AnyEntity): string {
  const listed = isCustom ? -1 : lastTypes.indexOf(type);
  return listed === -1 ? key : `~${String(listed).padStart(2, '0')}`;
}

export function compareLocks(left: AnyEntity, right: AnyEntity): number {
  const [one, other] = [lockPosition(left), lockPosition(right)];
  return one < other ? -1 : one > other ? 1 : 0;
}
