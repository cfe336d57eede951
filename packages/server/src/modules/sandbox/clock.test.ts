import { sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { deliveringService } from '../../../test/delivery.ts';
import { agingFirm, type Clock, clockPath as path } from '../../../test/modules/sandbox.ts';
import { isNightly } from '../../../test/nightly.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { backgroundWork } from '../../app/jobs.ts';
import { laterBy } from '../../background/advance-clock.ts';
import { startBackground } from '../../background/background.ts';
import { runCommand } from '../../operator/commands.ts';

const service = await deliveringService();
// Each step waits for the jobs of the tenant, such as the documents of its invoices.
const background = await startBackground(service.service, { jobs: backgroundWork.jobs, clockTasks: [] });
afterAll(() => background.stop(0));
const sandbox = (name: string) => agingFirm(service, name, { sandbox: true, runsJobs: true });

const distance = (left: string, right: Temporal.Instant) =>
  Math.abs(Temporal.Instant.from(left).since(right).total('seconds'));
const ahead = (days: number) => Temporal.Now.instant().add({ hours: 24 * days });

describe('advanceSandboxClock', () => {
  test('moves every rule and every instant of the tenant, and leaves those of others', async () => {
    const { call, advance, books, invoiceId, link } = await sandbox('rules');
    expect(link.status).toBe(201);
    expect((await call<Clock>('GET', path)).body).toMatchObject({ offsetSeconds: 0 });
    expect(await books.invoice(invoiceId)).toMatchObject({ overdueAt: null, isOverdue: false });
    const { status, body } = await advance({ advanceBy: 'P40D' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ offsetSeconds: 40 * 86_400, ranTasks: expect.any(Number) });
    expect(distance(body.now, ahead(40))).toBeLessThan(60);
    // The invoice was found overdue at the midnight after its due date, in the time zone of the firm.
    const { overdueAt } = await books.invoice(invoiceId);
    const midnight = Temporal.Now.plainDateISO('America/New_York').add({ days: 2 }).toZonedDateTime('America/New_York');
    expect(distance(overdueAt ?? '', midnight.toInstant())).toBeLessThan(60);
    const expired = await call<{ data: { status: string; updatedAt: string }[] }>(
      'GET',
      `/api/v1/events?entityType=QuickPaymentLink&operation=UPDATE`,
    );
    const [expiry] = expired.body.data.map(
      (event) => event as unknown as { occurredAt: string; data: { status: string } },
    );
    expect(expiry?.data.status).toBe('EXPIRED');
    expect(distance(expiry?.occurredAt ?? '', Temporal.Instant.from(link.body.expiresAt))).toBeLessThan(120);
    // A new row is of the tenant's time.
    const group = await books.records.make('ClientGroup', { name: 'Later' });
    const created = await call<{ data: { id: string; createdAt: string }[] }>('POST', '/gql/v1/client_groups', {});
    expect(distance(created.body.data.find(({ id }) => id === group.id)?.createdAt ?? '', ahead(40))).toBeLessThan(60);
    const real = await service.call<{ data: { createdAt: string }[] }>('POST', '/gql/v1/orgs', {});
    expect(distance(real.body.data[0]?.createdAt ?? '', Temporal.Now.instant())).toBeLessThan(600);
  });

  test('leaves the same changes in one step as in many', async () => {
    const [once, often] = [await sandbox('once'), await sandbox('often')];
    // More than a month, so that what happens once a month does.
    const months = isNightly ? 3 : 1;
    const before = Temporal.Now.instant();
    const { body } = await once.advance({ advanceBy: `P${months}M4D` });
    const days = body.offsetSeconds / 86_400;
    // Months are those of the calendar, whose day may have changed meanwhile.
    const expected = [before, Temporal.Now.instant()].map((start) =>
      laterBy(start, Temporal.Duration.from({ months, days: 4 }))
        .since(start)
        .total('hours'),
    );
    expect(expected).toContain(days * 24);
    // By day in longer steps, which still end within each month.
    const step = isNightly ? 1 : 12;
    for (let day = 0; day < days; day += step)
      expect((await often.advance({ advanceBy: `P${Math.min(step, days - day)}D` })).status).toBe(200);
    // Jobs write documents in the background, before the first step or later.
    const changesOf = async (firm: typeof once) => (await firm.changes()).filter((line) => !line.includes(' job '));
    const changes = await changesOf(once);
    for (const kind of ['DraftInvoice', 'QuickPaymentLink', 'Invoice'])
      expect(changes.some((line) => line.startsWith(`${kind} clock `))).toBe(true);
    expect(changes).toEqual(await changesOf(often));
  });

  test('delivers every event in its order, also those that are older than events are kept', async () => {
    const { advance, call, changes, tenant } = await sandbox('delivered');
    const receiver = await startReceiver();
    for (const entityType of ['Invoice', 'QuickPaymentLink', 'DraftInvoice'])
      await service.subscribe(receiver, { entityType, operations: ['CREATE', 'UPDATE'] }, { call });
    // Until the invoice is overdue.
    expect((await advance({ advanceBy: 'P3D' })).status).toBe(200);
    // Events have positions when they are too old, and were not sent, as if all processes were busy.
    await call('GET', '/api/v1/events');
    expect((await advance({ advanceBy: 'P40D' })).status).toBe(200);
    const delivery = await service.start();
    const expected = (await changes()).filter((line) => /^(Invoice|QuickPaymentLink|DraftInvoice) /.test(line));
    await expect.poll(() => receiver.arrivals.length).toBe(expected.length);
    await delivery.stop(0);
    expect(receiver.faults).toEqual([]);
    const dayOf = (instant: string) =>
      Temporal.Instant.from(instant).toZonedDateTimeISO(tenant.timeZone).toPlainDate().toString();
    const received = receiver.arrivals
      .map(({ event }) => event)
      .toSorted((left, right) => left.occurredAt.localeCompare(right.occurredAt));
    expect(received.map(({ entityType, occurredAt }) => `${entityType} ${dayOf(occurredAt)}`)).toEqual(
      expected.map((line) => line.replace(/ .* /, ' ')),
    );
    // 43 days have passed, and events are kept for 32.
    expect(dayOf(received[0]?.occurredAt ?? '') < dayOf(ahead(11).toString())).toBe(true);
    // Once they are delivered, they are removed as always.
    await advance({ advanceBy: 'P1D' });
    const kept = await service.store.read(tenant.id, (session) =>
      session.all(
        sql`select from recorded_event where tenant_id = ${tenant.id} and recorded_at < tenant_now() - interval '32 days'`,
      ),
    );
    expect(kept).toEqual([]);
  });

  test('only goes forward, by at most 366 days, one call at a time', async () => {
    const { advance, call, tenant } = await sandbox('limits');
    const rejected = { status: 400, body: { errors: [{ code: 'OUT_OF_RANGE' }] } };
    for (const body of [
      { advanceTo: ahead(-1).toString() },
      { advanceTo: ahead(400).toString() },
      { advanceBy: 'P367D' },
      { advanceBy: 'P1Y2M' },
      { advanceBy: 'P11M5W3DT4H' },
      { advanceBy: 'PT0S' },
    ])
      expect(await advance(body)).toMatchObject(rejected);
    for (const body of [
      {},
      { advanceBy: '40d' },
      { advanceBy: 'P' },
      { advanceBy: 'P1DT' },
      { advanceBy: 'P1D1M' },
      { advanceBy: 'P1D', advanceTo: ahead(1).toString() },
    ])
      expect((await advance(body)).status).toBe(400);
    expect((await call('POST', path, { advanceBy: 'P1D' }, { 'Dry-Run': 'true' })).status).toBe(400);
    await service.store.ownerStatements('update tenant set clock_offset = $2 where id = $1', [
      tenant.id,
      36_500 * 86_400_000,
    ]);
    expect(await advance({ advanceBy: 'P30D' })).toMatchObject(rejected);
    await service.store.ownerStatements('update tenant set clock_offset = 0 where id = $1', [tenant.id]);
    // On a slow machine, one may have ended when the other one comes.
    const both = await Promise.all([advance({ advanceBy: 'P5D' }), advance({ advanceBy: 'P5D' })]);
    const statuses = both.map(({ status }) => status).toSorted();
    expect([
      [200, 409],
      [200, 200],
    ]).toContainEqual(statuses);
    const days = statuses[1] === 409 ? 5 : 10;
    expect((await call<Clock>('GET', path)).body.offsetSeconds).toBe(days * 86_400);
    expect((await advance({ advanceTo: ahead(days + 1).toString() })).status).toBe(200);
  });

  test('takes over from a call that has died', async () => {
    const { advance, tenant } = await sandbox('died');
    const leaseUntil = (instant: string) =>
      service.store.ownerStatements(
        `update tenant set clock_leased_by = '0199a3c4-7d10-7b2e-9c41-6f0a8e5d2b17', clock_leased_until = ${instant} where id = $1`,
        [tenant.id],
      );
    await leaseUntil(`now() + interval '1 minute'`);
    expect(await advance({ advanceBy: 'P1D' })).toMatchObject({ status: 409, body: { code: 'REQUEST_IN_PROGRESS' } });
    await leaseUntil(`now() - interval '1 second'`);
    expect((await advance({ advanceBy: 'P1D' })).status).toBe(200);
  });

  test('is rejected for other tenants and other roles', async () => {
    expect((await service.call('GET', path)).status).toBe(404);
    expect((await service.call('POST', path, { advanceBy: 'P1D' })).status).toBe(404);
    const { signIn } = await sandbox('roles');
    const reader = await signIn({ roles: ['CLNT_R'] });
    expect((await reader.call('GET', path)).status).toBe(200);
    expect((await reader.call('POST', path, { advanceBy: 'P1D' })).status).toBe(403);
  });

  test('clock advance › does the same for the operator', async () => {
    const { tenant, call } = await sandbox('operated');
    const result = await runCommand(service, 'clock advance', { tenant: tenant.name, by: '3d' });
    expect(result).toMatchObject({ offsetSeconds: 3 * 86_400 });
    expect((await call<Clock>('GET', path)).body).toMatchObject({ offsetSeconds: 3 * 86_400 });
    for (const by of ['3', '-3d', 'P', 'P99999999999D', 'soon'])
      await expect(runCommand(service, 'clock advance', { tenant: tenant.name, by })).rejects.toThrow('duration');
    for (const by of ['-P3D', '0d', '400d', '999999d'])
      await expect(runCommand(service, 'clock advance', { tenant: tenant.name, by })).rejects.toThrow('forward');
    await expect(runCommand(service, 'clock advance', { tenant: service.tenant.name, by: '1d' })).rejects.toThrow(
      'no clock',
    );
  });
});
