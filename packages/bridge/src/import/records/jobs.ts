import { given, keyFrom, recordPlan, systemRefOf } from '../plan.ts';

const statuses = [
  'PLANNED',
  'READY',
  'IN_PROGRESS',
  'ON_HOLD',
  'IN_REVIEW',
  'COMPLETED',
  'CLOSED',
  'CANCELLED',
] as const;
const billingTypes = ['TIME_AND_MATERIALS', 'FIXED_FEE', 'RECURRING', 'NON_BILLABLE'] as const;

export const jobs = recordPlan({
  fields: [
    'key',
    'number',
    'name',
    'client',
    'status',
    'billingType',
    'fee',
    'start',
    'due',
    'fiscalYear',
    'budgetHours',
    'description',
  ],
  required: ['name', 'client'],
  references: { client: 'client' },
  plan([row], context) {
    const client = keyFrom(row, 'client');
    const key =
      row.has('key') || row.has('number') ? keyFrom(row, 'key', 'number') : `${client}:${keyFrom(row, 'name')}`;
    const fiscalYear = row.decimal('fiscalYear');
    const attributes = given({
      name: row.required('name', 200),
      jobRef: row.text('number', 64),
      clientId: context.idOf('client', client),
      status: row.choice('status', statuses),
      billingType: row.choice('billingType', billingTypes) ?? 'TIME_AND_MATERIALS',
      feeAmount: row.decimal('fee')?.toFixed(2),
      startDate: row.day('start'),
      dueDate: row.day('due'),
      fiscalYear: fiscalYear?.toNumber(),
      budgetHours: row.hours('budgetHours')?.toFixed(2),
      description: row.text('description', 4000),
    });
    return { record: { type: 'Job', systemRef: systemRefOf(context.form, 'job', key), source: 'IMPORT', attributes } };
  },
});
