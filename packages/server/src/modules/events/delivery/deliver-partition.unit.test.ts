import { expect, test } from 'vitest';
import { eventsByRow } from './deliver-partition.ts';

const event = (entityId: string, position: number) => ({ entityId, position });
const [one, other, last] = [
  '019a0000-0000-7000-8000-00000000000a',
  '019a0000-0000-7000-8000-00010000000a',
  '019a0000-0000-7000-8000-00000000000b',
];

test('eventsByRow returns the events of each row in their order, also of rows whose IDs end alike', () => {
  const events = [event(one, 9), event(other, 3), event(last, 2), event(one, 4), event(other, 8)];
  expect(eventsByRow(events)).toEqual([
    [event(one, 4), event(one, 9)],
    [event(other, 3), event(other, 8)],
    [event(last, 2)],
  ]);
  expect(eventsByRow([])).toEqual([]);
});
