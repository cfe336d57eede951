/** What a client with very many entries, and a tenant with very many reminders, cost. */
import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { startMailSink } from '../../../test/mail-sink.ts';
import { tickOf } from '../../../test/modules/pay.ts';
import { recordsOf } from '../../../test/modules/records.ts';
import { testService } from '../../../test/service.ts';
import { type Background, startBackground } from '../../background/background.ts';
import { MailServers } from '../../platform/mail/mail-server.ts';
import { remindClients } from './mail/remind.ts';
import { sendMail } from './mail/send-mail.ts';

const sink = await startMailSink();
const publicUrl = 'https://api.firm.example';
const mailServers = new MailServers({ url: sink.url, sandboxUrl: undefined, from: 'books@firm.example', publicUrl });
const service = await testService({ isJudgedNightly: true, replace: () => ({ mailServers }) });
let background: Background | undefined;
afterAll(() => background?.stop(0));
const rowsPerCall = 100;

test('getClientStatement returns each page of 20,000 movements within the read budget', {
  timeout: 1_200_000,
}, async () => {
  const records = recordsOf(service);
  const movements = 20_000;
  const client = await records.make('Client', { name: 'Harbor & Pine LLC' });
  for (let first = 0; first < movements; first += rowsPerCall)
    await records.upsert(
      Array.from({ length: rowsPerCall }, (_, index) => ({
        type: 'Payment',
        systemRef: `payment-${first + index}`,
        attributes: {
          ...{ clientId: client.id, paymentDate: '2026-02-01', amount: '1.00', currency: 'USD' },
          ...{ method: 'CHECK', source: 'MANUAL', allocations: [] },
        },
      })),
    );
  const took: number[] = [];
  let cursor: string | null = null;
  let seen = 0;
  do {
    const query = new URLSearchParams({ from: '2026-01-01', pageSize: '1000', ...(cursor !== null && { cursor }) });
    const started = performance.now();
    const { status, body } = await service.call<components['schemas']['ClientStatementPage']>(
      'GET',
      `/api/v1/clients/${client.id}/statement?${query}`,
    );
    took.push(performance.now() - started);
    expect(status).toBe(200);
    expect(body.closingBalance).toBe('-20000.00');
    seen += body.data.length;
    expect(body.data.at(-1)?.balance).toBe(`-${seen}.00`);
    cursor = body.nextCursor;
    if (!body.hasMore) cursor = null;
  } while (cursor !== null);
  expect(seen).toBe(movements);
  const longest = Math.max(...took);
  console.log(
    `${took.length} pages; the longest took ${Math.round(longest)} ms of ${service.service.config.readBudget}`,
  );
  expect(longest).toBeLessThan(service.service.config.readBudget);
});

test('10,000 reminders of a tenant slow the requests of another one by a factor of at most 3 at the 99th percentile', {
  timeout: 2_400_000,
}, async () => {
  const clients = 10_000;
  const busy = await service.addTenant('busy');
  const admin = await service.signIn({ roles: ['API_ADMIN'], tenant: busy });
  const records = recordsOf(admin);
  const { body: orgs } = await admin.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const reminderSchedule = [{ daysAfterDue: 1, template: 'REMINDER' }];
  await records.update([{ type: 'Org', systemRef: orgs.data[0]?.systemRef, attributes: { reminderSchedule } }]);
  const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '1.00', taxable: false }];
  const dates = { invoiceDate: '2026-01-01', dueDate: '2026-01-31' };
  for (let first = 0; first < clients; first += rowsPerCall) {
    const refs = Array.from({ length: rowsPerCall }, (_, index) => `busy-${first + index}`);
    const created = refs.map((systemRef) => ({
      type: 'Client',
      systemRef,
      attributes: { name: systemRef, email: `${systemRef}@example.com` },
    }));
    const owing = refs.map((systemRef) => ({
      type: 'Invoice',
      systemRef,
      attributes: { clientId: { systemRef }, pmsRef: systemRef, ...dates, lines },
    }));
    await records.upsert(created);
    await records.upsert(owing);
  }

  // A token is valid for less time than the rows take.
  const reader = await service.signIn({ roles: ['API_ADMIN', 'CLNT_R'] });
  const quiet = recordsOf(reader);
  /** The 99th percentile of reads and writes of the other tenant, one after the other, until a condition holds. */
  const percentile = async (isDone: (seconds: number) => boolean) => {
    const took: number[] = [];
    const began = performance.now();
    for (let count = 0; !isDone((performance.now() - began) / 1000); count += 1) {
      const started = performance.now();
      if (count % 4 === 0)
        await quiet.upsert([{ type: 'Client', systemRef: 'quiet', attributes: { name: `Quiet ${count}` } }]);
      else
        await reader.call('POST', '/gql/v1/clients/search', { where: { systemRef: { _eq: 'quiet' } }, pageSize: 10 });
      took.push(performance.now() - started);
    }
    took.sort((one, other) => one - other);
    return { p99: took[Math.floor(took.length * 0.99)] ?? 0, count: took.length };
  };
  const before = await percentile((seconds) => seconds > 30);
  let hasReminded = false;
  background = await startBackground(service.service, { jobs: [sendMail], clockTasks: [] });
  const reminding = remindClients
    .run({ ...tickOf({ ...service, tenant: busy }), today: Temporal.PlainDate.from('2026-03-01') })
    .finally(() => {
      hasReminded = true;
    });
  const during = await percentile((seconds) => hasReminded && seconds > 120);
  await reminding;
  const ratio = during.p99 / before.p99;
  console.log(
    `p99 ${before.p99.toFixed(1)} ms of ${before.count} requests before, ${during.p99.toFixed(1)} ms of ${during.count} during ${sink.received.length} reminders: ${ratio.toFixed(2)}`,
  );
  const [mails] = await service.store.read(busy.id, (session) =>
    session.all<{ count: number }>(sql`select count(*)::integer as count from mail where tenant_id = ${busy.id}`),
  );
  expect(mails?.count).toBe(clients);
  const addresses = sink.received.flatMap(({ recipients }) => recipients);
  expect(new Set(addresses).size).toBe(addresses.length);
  expect(ratio).toBeLessThanOrEqual(3);
});
