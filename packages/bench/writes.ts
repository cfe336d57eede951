/** Measures writes of contacts, time and billing beside hand-written SQL that writes the same rows; see README.md beside this file. */
import { readOptions } from '../../scripts/options.ts';
import { median, ratiosOf, spread, timed } from './figures.ts';
import { RawRows } from './raw-rows.ts';
import { createDatabase } from './service.ts';
import { openFirm } from './writing-firm.ts';

const { values } = readOptions({ options: { rounds: { type: 'string', default: '7' } } });

await using database = await createDatabase('writes');
await using firm = await openFirm(database.url);
const rows = await RawRows.open(firm.store, firm.tenantId, database.url);
const times = new Map(Object.keys(firm.writes).map((name) => [name, { raw: [] as number[], call: [] as number[] }]));
// The first round only warms up.
for (let round = 0; round <= Number(values.rounds); round++)
  for (const [name, prepare] of Object.entries(firm.writes)) {
    const call = await prepare();
    const before = await rows.snapshot();
    const called = await timed(call);
    const written = await rows.writtenSince(before);
    await rows.rewind(written);
    const raw = await timed(() => rows.write(written));
    if (round === 0) continue;
    times.get(name)?.call.push(called);
    times.get(name)?.raw.push(raw);
  }
console.log('\nWrites beside hand-written SQL, in milliseconds');
console.table(
  Object.fromEntries(
    [...times].map(([name, { raw, call }]) => [
      name,
      {
        'hand-written SQL': median(raw).toFixed(1),
        call: median(call).toFixed(1),
        ratio: spread(ratiosOf(call, raw), 2),
      },
    ]),
  ),
);
