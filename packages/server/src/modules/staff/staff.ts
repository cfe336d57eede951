import { Rejection } from '../../contract/rejection.ts';
import { checkDateOrder } from '../../entity/date-order.ts';
import { defineEntity, one } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { checkNothingUnfinished, unapprovedEntries, unfinishedRows } from '../../entity/unfinished-rows.ts';
import { currentRates, writeRates } from './rates.ts';

const unfinishedOfStaff = unfinishedRows('Staff', unapprovedEntries('staff_id'));

/** A person who works for the firm. */
export const staff = defineEntity('Staff', {
  table: 'staff',
  relations: {
    staffType: one('StaffType', 'staffTypeId'),
    department: one('Department', 'departmentId'),
    office: one('Office', 'officeId'),
  },
  computed: { rateCardAssignment: currentRates },
  rules: {
    complete(change, plan) {
      const { values, input, previous } = change;
      values.email = values.email.toLowerCase();
      values.displayName = `${values.firstName} ${values.lastName}`;
      if (previous === undefined && input.pmsRef === undefined) values.pmsRef = values.staffRef;
      checkDateOrder(change, 'hireDate', 'terminationDate');
      writeRates(change, plan);
    },
    beforeRemoval({ id }, plan) {
      checkNothingUnfinished(plan, unfinishedOfStaff, id, 'staff member');
    },
  },
});

/** Whether a staff member can be assigned to work, which includes staff on leave. */
export function isEmployed(person: Row<'Staff'> | undefined): boolean {
  return person?.active === true && person.status !== 'TERMINATED';
}

/**
 * Checks that a person who is assigned to work is not terminated. The reference itself is checked with all others.
 *
 * @throws Rejection `INVALID_STATE`
 */
export function checkEmployed(plan: Plan, staffId: string, pointer: string): void {
  if (plan.get(staff, staffId)?.status !== 'TERMINATED') return;
  throw new Rejection('INVALID_STATE', 'The staff member is TERMINATED and cannot be assigned to work.', pointer);
}
