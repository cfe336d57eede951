import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recordsOf } from '../../../test/modules/records.ts';
import { isNightly } from '../../../test/nightly.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
const { define, upsert } = recordsOf(service);
await define('Note', [
  { name: 'title', type: 'STRING', required: true, maxLength: 5 },
  { name: 'amount', type: 'DECIMAL', scale: 1 },
  { name: 'at', type: 'DATETIME' },
  { name: 'free', type: 'JSON' },
]);

/** `__proto__` is rejected with the whole body, before records are processed. */
const jsonValues = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('__proto__'));

/** Few keys and many errors, so that items interact and fail. */
const systemRefs = fc.constantFrom('a', 'b', 'c', 'd');
const notes = fc.record({
  type: fc.constantFrom('Note', 'Note', 'Note', 'Unknown'),
  systemRef: systemRefs,
  attributes: fc.record(
    {
      title: fc.oneof(fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme-ascii' }), fc.constant(null)),
      amount: fc.constantFrom('1', '1.0', '2.55', null, 3),
      at: fc.constantFrom('2026-10-01T00:00:00Z', '2026-10-01T02:00:00+02:00', 'today'),
      free: jsonValues,
    },
    { requiredKeys: [] },
  ),
});
const industries = fc.record({
  type: fc.constant('Industry'),
  systemRef: systemRefs,
  attributes: fc.record(
    { name: fc.constantFrom('One', 'Two', 'Three', ''), code: fc.constantFrom('11', '22', null, 'x') },
    { requiredKeys: [] },
  ),
});
const calls = fc.array(fc.oneof(notes, industries), { minLength: 1, maxLength: 12 });

test('results contain each item once, in its position, and their counts are correct', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (records) => {
      const items = await upsert(records);
      expect(items.map(({ index, type, systemRef }) => ({ index, type, systemRef }))).toEqual(
        records.map(({ type, systemRef }, index) => ({ index, type, systemRef })),
      );
      for (const item of items) {
        const failed = item.status === 'FAILED';
        expect([item.error !== null, item.version === null, item.attributes === null]).toEqual([
          failed,
          failed,
          failed,
        ]);
      }
    }),
    { numRuns: isNightly ? 40 : 8 },
  );
});

test('repeating accepted items changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (records) => {
      // The last accepted item of each record: earlier ones would be changed back and forth.
      const first = await upsert(records);
      const taken = new Map(
        records
          .filter((_, index) => first[index]?.error === null)
          .map((record) => [`${record.type}/${record.systemRef}`, record]),
      );
      if (taken.size === 0) return;
      const second = await upsert([...taken.values()]);
      expect(second.map((item) => item.status)).toEqual(second.map(() => 'UNCHANGED'));
    }),
    { numRuns: isNightly ? 40 : 8 },
  );
});
