/**
 * Measures contacts, time and billing beside hand-written SQL that does the same: for writes, one transaction that inserts and updates
 * the rows that the call wrote, with one statement for each table, and the same triggers; for reads, one query for the same
 * rows. Both run in one process, in turns, on PostgreSQL.
 */

import { type RawBuilder, sql } from 'kysely';
import { pino } from 'pino';
import { readOptions } from '../../scripts/options.ts';
import { median, ratioOf, timed } from './figures.ts';
import { createDatabase } from './postgres.ts';
import { rewind, type WrittenRows, writeRaw, writtenRows } from './raw-rows.ts';
import { openFirm } from './writing-firm.ts';

const { values } = readOptions({ options: { writes: { type: 'boolean' }, rounds: { type: 'string', default: '7' } } });
const rounds = Number(values.rounds);

await using database = await createDatabase('writes');
const { url } = database;
const firm = await openFirm(url, pino({ level: 'silent' }));
const { store, tenantId } = firm;

interface Figures {
  readonly raw: number[];
  readonly call: number[];
}

const figures = new Map<string, Figures>();

try {
  await firm.fill();
  for (let round = 0; round <= rounds; round++) {
    for (const count of [1, 10, 100])
      await write(round, `${count} contacts created`, async () => () => firm.createContacts(count));
    await write(round, '100 time entries upserted', async () => () => firm.upsertEntries(100));
    await write(round, '1,000 time entries upserted', async () => () => firm.upsertEntries(1_000));
    await write(round, '100 time entries approved', () => firm.submittedEntries(100));
    await write(round, 'a draft with 400 lines approved', () => firm.draftInReview(400));
    await write(round, 'a payment on 50 invoices', () => firm.paymentOn(50));
    await read(round, 'unpaid invoices of a client', () => firm.unpaid(), unpaidRows());
    await read(round, 'work in progress by age', () => firm.agedWip(), agedRows());
  }
  console.log('\nContacts, time and billing beside hand-written SQL, in milliseconds');
  console.table(Object.fromEntries([...figures].map(([name, one]) => [name, summary(one)])));
} finally {
  await firm.close();
}

/** A call, and a raw transaction that writes the same rows after the call was undone. The first round only warms up. */
async function write(round: number, name: string, prepare: () => Promise<() => Promise<unknown>>): Promise<void> {
  const call = await prepare();
  const before = await firm.snapshot();
  const called = await timed(call);
  const rows: WrittenRows = await writtenRows(store, tenantId, before);
  await rewind(url, rows);
  record(round, name, called, await timed(() => writeRaw(store, tenantId, rows)));
}

async function read(
  round: number,
  name: string,
  call: () => Promise<unknown>,
  query: RawBuilder<unknown>,
): Promise<void> {
  const called = await timed(call);
  record(round, name, called, await timed(() => store.read(tenantId, (session) => session.all(query))));
}

function record(round: number, name: string, called: number, raw: number): void {
  if (round === 0) return;
  const one = figures.get(name) ?? { raw: [], call: [] };
  figures.set(name, one);
  one.call.push(called);
  one.raw.push(raw);
}

function unpaidRows(): RawBuilder<unknown> {
  return sql`select i.*, (select json_agg(l order by l.position) from invoice_line l
      where l.tenant_id = i.tenant_id and l.invoice_id = i.id) as lines
    from invoice i join client k on k.tenant_id = i.tenant_id and k.id = i.client_id
    where i.tenant_id = ${tenantId} and k.client_ref = ${firm.clientRef} and i.status in ('POSTED', 'PARTIALLY_PAID')
    order by i.due_date, i.id limit 51`;
}

function agedRows(): RawBuilder<unknown> {
  return sql`select w.*, greatest(today() - w.work_date, 0) as age from wip_entry w
    where w.tenant_id = ${tenantId} and w.outstanding_amount <> 0 and w.work_date <= today() - 30
    order by w.work_date, w.id limit 51`;
}

function summary({ raw, call }: Figures) {
  return {
    'hand-written SQL': median(raw).toFixed(1),
    call: median(call).toFixed(1),
    ratio: ratioOf(call, raw),
  };
}
