import { expect, test } from 'vitest';
import { TenantBound } from './tenant-bound.ts';

/** The parts of a tenant that is busy in some of several processes, in each of them. */
function parts(bound: number, processes: number, busyIn: number): number[] {
  return Array.from({ length: processes }, (_, index) => {
    const one = new TenantBound(bound);
    const isBusy = index < busyIn;
    const busy = new Map(isBusy ? [['firm', { others: busyIn - 1, before: index }]] : []);
    one.learn({ others: processes - 1, busy });
    return one.of('firm');
  });
}

test('a tenant has the whole bound in a single process, and equal parts of it in those where it is busy', () => {
  expect(new TenantBound(50).of('firm')).toBe(50);
  expect(parts(50, 1, 1)).toEqual([50]);
  expect(parts(50, 4, 3)).toEqual([17, 17, 16, 12]);
});

test('the parts of processes where a tenant is busy add up to the bound, unless there are more processes than that', () => {
  for (const bound of [1, 7, 50]) {
    for (let processes = 1; processes <= bound; processes++) {
      const sum = parts(bound, processes, processes).reduce((total, part) => total + part, 0);
      expect(sum).toBe(bound);
    }
  }
  expect(parts(3, 5, 5)).toEqual([1, 1, 1, 1, 1]);
});

test('a tenant that is not known to be busy has the part that it would have if it were busy everywhere', () => {
  expect(parts(50, 50, 0)).toEqual(Array.from({ length: 50 }, () => 1));
  expect(parts(50, 10, 0)).toEqual(Array.from({ length: 10 }, () => 5));
});
