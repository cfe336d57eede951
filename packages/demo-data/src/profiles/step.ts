import type { Plan, UnitOfWork } from '@financial-automation/server/service';
import { dayNumber, instantAt } from './calendar.ts';

/** One transaction of the load. Its operation is one that the state machines of the contract allow the changes to. */
export interface Step {
  readonly operation: string;
  readonly work: (unit: UnitOfWork) => Promise<void>;
}

const founded = instantAt(dayNumber('2020-01-01'), 17);

/** Returns the ID of a row that others refer to, a UUID of version 7: the same in every run. */
export function idOf(kind: keyof typeof kinds, number: number): string {
  const time = (founded + number).toString(16).padStart(12, '0');
  const place = kinds[kind].toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-8000-${number.toString(16).padStart(12, '0')}`;
}

/** A number for each kind of row whose ID others refer to. */
const kinds = {
  office: 1,
  department: 2,
  serviceLine: 3,
  industry: 4,
  clientType: 5,
  taxRegion: 7,
  taskType: 10,
  jobTemplate: 11,
  staffType: 12,
  staff: 13,
  clientGroup: 20,
  client: 21,
  contact: 23,
  job: 30,
  task: 31,
  timeEntry: 40,
  expenseEntry: 42,
  draft: 50,
  payment: 60,
  engagement: 70,
} as const;

/** The most rows of a step: calls of the API wait for it where the database is embedded. */
const rowsOfStep = 100;

/** One step for each hundred rows or fewer. */
export function* stepsFor<Item>(
  operation: string,
  items: readonly Item[],
  plan: (plan: Plan, item: Item) => unknown,
  size: number = rowsOfStep,
): Generator<Step> {
  for (let start = 0; start < items.length; start += size) {
    const some = items.slice(start, start + size);
    yield { operation, work: async (unit) => void (await unit.allOrNone(some, plan)) };
  }
}
