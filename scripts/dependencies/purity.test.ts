import { expect, test } from 'vitest';
import { impurePlans } from './purity.ts';

const billing = 'packages/server/src/modules/billing/';
const plan = { resolved: 'packages/server/src/entity/plan.ts' };
const found = (source: string, text: string, dependencies = [plan]) =>
  impurePlans([{ source, dependencies }], () => text, /\.test\.ts$/);

test.each(['newId()', 'randomBytes(24)', 'databaseClock.now()', 'Math.random()'])(
  'a file of plans may not call %s',
  (call) => {
    expect(found(`${billing}post-draft.ts`, `const one = ${call};`)).toEqual([
      expect.stringMatching(/post-draft\.ts has plans/),
    ]);
  },
);

test('the keys of the plan are the same in each run', () => {
  expect(found(`${billing}post-draft.ts`, 'const id = plan.newId();')).toEqual([]);
});

test('files without plans, tests and the parts of plans are not restricted', () => {
  expect(found(`${billing}link-token.ts`, 'randomBytes(24)', [])).toEqual([]);
  expect(found(`${billing}post-draft.test.ts`, 'randomBytes(24)')).toEqual([]);
  expect(found('packages/server/src/entity/new-keys.ts', 'newId()')).toEqual([]);
});

test('what a file passes on is not used by it', () => {
  expect(found(`${billing}face.ts`, "export { newId } from '../new-id.ts';")).toEqual([]);
});
