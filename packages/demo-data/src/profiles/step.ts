import {
  type EntityType,
  entityNamed,
  type Plan,
  type RowInput,
  type UnitOfWork,
} from '@financial-automation/server/service';

/** One transaction of the load. Its operation is one that the state machines of the contract allow the changes to. */
export interface Step {
  readonly operation: string;
  readonly work: (unit: UnitOfWork) => Promise<void>;
}

const founded = Date.parse('2020-01-01T17:00:00Z');

/** Returns the ID of a row that others refer to, a UUID of version 7: the same in every run. */
export function idOf(kind: Kind, number: number): string {
  const time = (founded + number).toString(16).padStart(12, '0');
  const place = kinds[kind].toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-8000-${number.toString(16).padStart(12, '0')}`;
}

type Kind = keyof typeof kinds;

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

/** Steps that create a row for each item, with the ID of its number if others refer to it. */
export function rowSteps<Type extends EntityType, Item>(
  type: Type,
  kind: Kind | undefined,
  items: readonly Item[],
  fieldsOf: (item: Item, index: number) => RowInput<Type>,
  { operation = 'upsertRecords', size }: { readonly operation?: string; readonly size?: number } = {},
): Iterable<Step> {
  const create = (plan: Plan, { item, index }: { readonly item: Item; readonly index: number }) =>
    plan.create(entityNamed(type), fieldsOf(item, index), kind === undefined ? {} : { id: idOf(kind, index) });
  return stepsFor(
    operation,
    items.map((item, index) => ({ item, index })),
    create,
    size,
  );
}
