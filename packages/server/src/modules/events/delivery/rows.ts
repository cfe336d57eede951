import type { DueEvent } from './load.ts';

type OfRow = Pick<DueEvent, 'entityId' | 'position'>;

/** The events of each row in their order. */
export function eventsByRow<Event extends OfRow>(events: readonly Event[]): Event[][] {
  // By a number first: V8 keeps a table of all texts that are keys, and adding one costs as much as the rest of preparing an event.
  return [...Map.groupBy(events, ({ entityId }) => endOf(entityId)).values()].flatMap((some) =>
    some.length === 1
      ? [some]
      : [...Map.groupBy(some, ({ entityId }) => entityId).values()].map((ofRow) =>
          ofRow.sort((left, right) => left.position - right.position),
        ),
  );
}

/** The last digits of a UUID, which different rows rarely share. */
function endOf(id: string): number {
  return Number.parseInt(id.slice(-7), 16);
}
