import { expect, test } from 'vitest';
import { StatementNames } from './statement-names.ts';

function nameAfter(names: StatementNames, text: string, uses: number): string | undefined {
  let name: string | undefined;
  for (let use = 1; use <= uses; use++) name = names.nameFor(text);
  return name;
}

test('a repeated text gets a name and keeps it', () => {
  const names = new StatementNames(10, 3);
  expect(nameAfter(names, 'select 1', 2)).toBeUndefined();
  const name = names.nameFor('select 1');
  expect(name).toMatch(/^.{20,63}$/);
  expect(names.nameFor('select 1')).toBe(name);
  expect(nameAfter(names, 'select 2', 3)).not.toBe(name);
});

test('the number of names is limited, however many shapes are sent', () => {
  const names = new StatementNames(10, 3);
  const given = new Set<string>();
  for (let shape = 0; shape < 1_000; shape++) {
    const name = nameAfter(names, `select ${shape}`, 5);
    if (name !== undefined) given.add(name);
  }
  expect(given.size).toBe(10);
});

test('shapes that are sent once use no names', () => {
  const names = new StatementNames(10, 3);
  for (let shape = 0; shape < 1_000; shape++) names.nameFor(`select ${shape}`);
  expect(nameAfter(names, 'select of the service itself', 3)).toBeDefined();
});

test('a very long text gets no name', () => {
  expect(nameAfter(new StatementNames(), `select ${'x'.repeat(10_000)}`, 5)).toBeUndefined();
});
