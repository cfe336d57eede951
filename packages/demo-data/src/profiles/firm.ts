import type { Plan } from '@financial-automation/server/entity/plan';
import type { UnitOfWork } from '@financial-automation/server/entity/unit-of-work';
import { dayNumber, instantAt, type Span } from './calendar.ts';
import { type ClientSeed, createClients } from './clients.ts';
import { createJobs, type JobSeed } from './jobs.ts';
import { createPeople, type Person } from './people.ts';
import type { Size } from './profile.ts';
import { rowId } from './row-id.ts';

/**
 * What is decided about a firm before any of it is written: who works for whom, and when. What that comes to in money is up to
 * the service.
 */
export interface Firm {
  readonly span: Span;
  readonly size: Size;
  readonly people: readonly Person[];
  readonly clients: readonly ClientSeed[];
  readonly jobs: readonly JobSeed[];
  /** Whether people look at it: then its names are such as they are used to. */
  readonly isForPeople: boolean;
}

/** One transaction of the load. Its operation is one that the state machines of the contract allow the changes to. */
export interface Step {
  readonly operation: string;
  readonly work: (unit: UnitOfWork) => Promise<void>;
}

export function createFirm(span: Span, size: Size, isForPeople: boolean): Firm {
  const people = createPeople(span);
  const clients = createClients(size, isForPeople);
  return { span, size, people, clients, jobs: createJobs(span, size, people, clients), isForPeople };
}

const founded = instantAt(dayNumber('2020-01-01'), 17);

/** Returns the ID of a row of a list or a table of the template, which is the same in every run. */
export function idOf(kind: keyof typeof kinds, number: number): string {
  return rowId(kinds[kind], number, founded + number);
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
  subscription: 92,
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
