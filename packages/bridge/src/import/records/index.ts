import type { RecordKind } from '../form.ts';
import type { RecordPlan } from '../plan.ts';
import { clients } from './clients.ts';
import { invoices } from './invoices.ts';
import { jobs } from './jobs.ts';
import { payments } from './payments.ts';
import { staff } from './staff.ts';
import { time } from './time.ts';

/** How the rows of each kind of file become records. */
export const recordPlans: Readonly<Record<RecordKind, RecordPlan<string>>> = {
  clients,
  jobs,
  staff,
  time,
  invoices,
  payments,
};
