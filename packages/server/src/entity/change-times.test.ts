import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { moveClock, startClock } from '../../test/clock.ts';
import { testService } from '../../test/service.ts';

/** Hours of the process's clock during successive writes. It runs ahead at first, is corrected, and then stops. */
const hours = [12, 11, 10, 10, 13];
const start = Temporal.Now.instant();
const at = (hour: number) => start.add({ hours: hour });

startClock(start);
const { handle, store, tenant } = await testService();

const write = (type: 'Industry' | 'JobTemplate' | 'Client', systemRef: string, attributes: object) =>
  handle('upsertRecords', { body: { records: [{ type, systemRef, attributes: { name: systemRef, ...attributes } }] } });

/** Each returns nothing, and changes rows in another way at each hour. */
const writes: Readonly<Record<string, (hour: number, index: number) => Promise<unknown>>> = {
  'upserts of a row': (hour, index) => write('Industry', 'row', { name: `Row ${hour} ${index}` }),
  'changes of the rows that a row owns': (_, index) =>
    write('JobTemplate', 'owner', {
      billingType: 'NON_BILLABLE',
      tasks: Array.from({ length: index + 1 }, (__, task) => ({ name: `Task ${task}`, sequence: task + 1 })),
    }),
  'changes of a value that other rows include': async (hour, index) => {
    const { body } = await write('Industry', 'included', { name: `Included ${hour} ${index}` });
    const industryId = body.records[0]?.id;
    await write('Client', 'includes', { name: index < 2 ? `Includes ${hour}` : 'Includes', industryId });
  },
  'removal and creation': async (_, index) => {
    const records = [{ type: 'Industry' as const, systemRef: 'removed' }];
    if (index % 2 === 0) await write('Industry', 'removed', {});
    else await handle('deleteRecords', { body: { records } });
  },
};

test.each(Object.keys(writes))(
  '%s › updatedAt and the times of audit and events increase, even if the clock goes back',
  async (kind) => {
    for (const [index, hour] of hours.entries()) {
      moveClock(at(hour));
      await writes[kind]?.(hour, index);
    }
    const times = await store.read(tenant.id, (session) =>
      session.all<{ id: string; at: string; updatedAt: string }>(sql`
      select entity_id as id, occurred_at as at, after ->> 'updatedAt' as "updatedAt" from audit_log
      where tenant_id = ${tenant.id} and after ? 'updatedAt'
      order by entity_id, (after ->> 'version')::integer`),
    );
    const events = await store.read(tenant.id, (session) =>
      session.all<{ id: string; at: string; updatedAt: string }>(sql`
      select entity_id as id, occurred_at as at, data ->> 'updatedAt' as "updatedAt" from recorded_event
      where tenant_id = ${tenant.id} and data ? 'updatedAt' order by entity_id, sequence`),
    );
    for (const rows of [times, events]) {
      for (const ofRow of Map.groupBy(rows, ({ id }) => id).values()) {
        const instants = ofRow.map(({ at }) => Date.parse(at));
        expect(instants).toEqual([...new Set(instants)].sort((one, other) => one - other));
        for (const { at: occurredAt, updatedAt } of ofRow) expect(Date.parse(updatedAt)).toBe(Date.parse(occurredAt));
      }
    }
    const most = Math.max(...[...Map.groupBy(times, ({ id }) => id).values()].map((ofRow) => ofRow.length));
    expect(most).toBeGreaterThanOrEqual(hours.length);
  },
);
