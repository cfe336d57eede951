import { RowError } from '../../errors.ts';
import { given, keyFrom, recordPlan, systemRefOf } from '../plan.ts';
import type { Row } from '../row.ts';

const statuses = ['ACTIVE', 'ON_LEAVE', 'TERMINATED'] as const;

export const staff = recordPlan({
  fields: [
    'key',
    'number',
    'name',
    'firstName',
    'lastName',
    'email',
    'phone',
    'title',
    'staffType',
    'billable',
    'hired',
    'left',
    'status',
  ],
  required: ['number', 'email', 'staffType'],
  references: { staffType: 'staffType' },
  plan([row], context) {
    const key = keyFrom(row, 'key', 'number');
    const { firstName, lastName } = namesOf(row);
    const attributes = given({
      staffRef: row.required('number', 64),
      firstName,
      lastName,
      email: row.required('email', 254).toLowerCase(),
      phone: row.phone('phone'),
      title: row.text('title', 100),
      staffTypeId: context.idOf('staffType', keyFrom(row, 'staffType')),
      isBillable: row.yes('billable') ?? true,
      hireDate: row.day('hired'),
      terminationDate: row.day('left'),
      status: row.choice('status', statuses),
    });
    return {
      record: { type: 'Staff', systemRef: systemRefOf(context.form, 'staff', key), source: 'IMPORT', attributes },
    };
  },
});

function namesOf(row: Row<'name' | 'firstName' | 'lastName'>): { firstName: string; lastName: string } {
  if (row.has('firstName'))
    return { firstName: row.required('firstName', 100), lastName: row.required('lastName', 100) };
  const name = row.required('name', 200);
  const [, last, first] = /^([^,]+), *([^,]+)$/.exec(name) ?? [];
  if (first !== undefined && last !== undefined) return { firstName: first, lastName: last };
  const space = name.lastIndexOf(' ');
  if (space < 0) throw new RowError(`${row.nameOf('name')} “${name}” has no first and last name.`);
  return { firstName: name.slice(0, space), lastName: name.slice(space + 1) };
}
