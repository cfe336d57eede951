import type { AnyEntity } from './entity.ts';

/**
 * Every transaction locks rows in one order of their types, so that no two transactions wait for each other. What many
 * changes end in, such as the balances of a client, is locked last and held for the shortest time. Types that are not
 * listed come before these, by name.
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
];

/** Where an entity stands in the order of locks, as text that compares. */
function lockPosition({ key, type, isCustom }: AnyEntity): string {
  const listed = isCustom ? -1 : lastTypes.indexOf(type);
  return listed === -1 ? key : `~${String(listed).padStart(2, '0')}`;
}

export function compareLocks(left: AnyEntity, right: AnyEntity): number {
  const [one, other] = [lockPosition(left), lockPosition(right)];
  return one < other ? -1 : one > other ? 1 : 0;
}
