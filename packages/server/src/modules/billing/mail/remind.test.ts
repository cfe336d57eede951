import type { components } from '@financial-automation/spec';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startMailSink } from '../../../../test/mail-sink.ts';
import { payingFirm, tickOf } from '../../../../test/modules/pay.ts';
import { only, recordsOf } from '../../../../test/modules/records.ts';
import { testService } from '../../../../test/service.ts';
import { type Background, startBackground } from '../../../background/background.ts';
import { MailServers } from '../../../platform/mail/mail-server.ts';
import { remindClients } from './remind.ts';
import { sendMail } from './send-mail.ts';

type Mail = components['schemas']['Mail'];

const sink = await startMailSink();
const publicUrl = 'https://api.firm.example';
const mailServers = new MailServers({ url: sink.url, sandboxUrl: undefined, from: 'books@firm.example', publicUrl });
const service = await testService({ replace: () => ({ mailServers }) });
const { invoice, invoiceOf, pay, preparer, records } = await payingFirm(service);
let background: Background | undefined;
afterAll(() => background?.stop(0));
beforeEach(() => {
  sink.received.length = 0;
});

const [org] = (await preparer.call<{ data: { id: string; systemRef: string }[] }>('POST', '/gql/v1/orgs', {})).body
  .data;
const change = async (type: string, systemRef: string, attributes: object) =>
  only(await records.update([{ type, systemRef, attributes }]));
const step = (daysAfterDue: number, template = 'REMINDER') => ({ daysAfterDue, template });
expect(await change('Org', org?.systemRef ?? '', { reminderSchedule: [step(7), step(21)] })).toMatchObject({
  status: 'UPDATED',
});

/** Runs the task on a day. */
const run = (today: string) => remindClients.run({ ...tickOf(service), today: Temporal.PlainDate.from(today) });
let count = 0;
async function owing(more: object = {}) {
  const email = `client-${++count}@example.com`;
  const { id, systemRef } = await records.make('Client', { name: `Client ${count}`, email, ...more });
  return { id, systemRef: String(systemRef), email };
}
async function mailsOf(clientId: string): Promise<Mail[]> {
  const body = { where: { clientId: { _eq: clientId } }, orderBy: [{ createdAt: 'asc' }] };
  return (await preparer.call<{ data: Mail[] }>('POST', '/gql/v1/mails/search', body)).body.data;
}
const daysOf = async (id: string) =>
  (await mailsOf(id)).map(({ reminderDate, invoiceIds }) => [reminderDate, invoiceIds.length]);

describe('a reminder', () => {
  test('is one mail for all overdue invoices of a client, once at each step and one a day', async () => {
    const { id } = await owing();
    const [old, young] = [await invoiceOf(id, '100.00', '2026-03-01'), await invoiceOf(id, '50.00', '2026-03-05')];
    await run('2026-03-07');
    expect(await daysOf(id)).toEqual([]);
    await run('2026-03-08');
    // Both are overdue, and one has reached the first step.
    expect(await daysOf(id)).toEqual([['2026-03-08', 2]]);
    expect([(await invoice(old)).remindedAfterDays, (await invoice(young)).remindedAfterDays]).toEqual([7, null]);
    await Promise.all([run('2026-03-09'), run('2026-03-10')]);
    expect((await daysOf(id)).length).toBe(1);
    await Promise.allSettled([run('2026-03-12'), run('2026-03-12')]);
    await run('2026-03-12');
    expect(await daysOf(id)).toEqual([
      ['2026-03-08', 2],
      ['2026-03-12', 2],
    ]);
    await pay('50.00', [{ invoiceId: young, amount: '50.00' }], { clientId: id });
    await run('2026-03-30');
    await run('2026-05-30');
    expect(await daysOf(id)).toEqual([
      ['2026-03-08', 2],
      ['2026-03-12', 2],
      ['2026-03-30', 1],
    ]);
    expect((await invoice(old)).remindedAfterDays).toBe(21);
  });

  test('is sent once for the latest of several steps that an invoice has passed', async () => {
    const { id } = await owing();
    await invoiceOf(id, '100.00', '2026-03-01');
    await run('2026-06-01');
    await run('2026-06-02');
    expect(await daysOf(id)).toEqual([['2026-06-01', 1]]);
  });

  test('leaves out disputed invoices, and clients whose reminders are off', async () => {
    const { id, systemRef } = await owing();
    const [disputed, other] = [await invoiceOf(id, '100.00', '2026-03-01'), await invoiceOf(id, '50.00', '2026-03-01')];
    expect(await change('Invoice', (await invoice(disputed)).systemRef, { isDisputed: true })).toMatchObject({
      status: 'UPDATED',
    });
    await run('2026-03-10');
    expect((await mailsOf(id)).map(({ invoiceIds }) => invoiceIds)).toEqual([[other]]);
    await change('Client', systemRef, { remindersOff: true });
    await run('2026-03-25');
    expect((await mailsOf(id)).length).toBe(1);
    await change('Client', systemRef, { remindersOff: false });
    await run('2026-03-26');
    expect((await mailsOf(id)).length).toBe(2);
  });

  test('follows the schedule of the client before that of the org, with a template of the org', async () => {
    await records.make('MailTemplate', {
      orgId: org?.id,
      name: 'LAST_CALL',
      subject: 'Last call',
      text: '{{amountDue}}',
    });
    const { id } = await owing({ reminderSchedule: [step(2, 'LAST_CALL')] });
    const never = await owing({ reminderSchedule: [] });
    for (const client of [id, never.id]) await invoiceOf(client, '100.00', '2026-03-01');
    await run('2026-03-03');
    await run('2026-03-09');
    expect((await mailsOf(id)).map(({ template, reminderDate }) => [template, reminderDate])).toEqual([
      ['LAST_CALL', '2026-03-03'],
    ]);
    expect(await mailsOf(never.id)).toEqual([]);
  });

  test('drafts the fees of the steps that invoices reach, once', async () => {
    const { id } = await owing({
      documentLanguage: 'de',
      reminderSchedule: [step(2), { ...step(10), lateFee: '40.00' }, { ...step(20), lateFee: '5.50' }],
    });
    const [old, young] = [await invoiceOf(id, '100.00', '2026-03-01'), await invoiceOf(id, '50.00', '2026-03-09')];
    const feesOf = async () => {
      const body = { where: { clientId: { _eq: id } }, orderBy: [{ createdAt: 'asc' }] };
      const { data } = (
        await preparer.call<{ data: { status: string; interestTotal: string; lines: { description: string }[] }[] }>(
          'POST',
          '/gql/v1/draft_invoices/search',
          body,
        )
      ).body;
      return data.map(({ status, interestTotal, lines }) => [
        status,
        interestTotal,
        ...lines.map((one) => one.description),
      ]);
    };
    await run('2026-03-03');
    expect(await feesOf()).toEqual([]);
    await Promise.allSettled([run('2026-03-21'), run('2026-03-21')]);
    await run('2026-03-21');
    const [oldNumber, youngNumber] = [(await invoice(old)).invoiceNumber, (await invoice(young)).invoiceNumber];
    const first = ['DRAFT', '45.50', `Verspätungszuschlag: ${oldNumber}`, `Verspätungszuschlag: ${youngNumber}`];
    expect(await feesOf()).toEqual([first]);
    await run('2026-03-29');
    await run('2026-06-01');
    expect(await feesOf()).toEqual([first, ['DRAFT', '5.50', `Verspätungszuschlag: ${youngNumber}`]]);
  });

  test('of a client without an address is a mail that has failed, once', async () => {
    const { id } = await owing({ email: null });
    await invoiceOf(id, '100.00', '2026-03-01');
    await run('2026-03-08');
    await run('2026-03-09');
    expect(await mailsOf(id)).toMatchObject([
      { status: 'FAILED', toAddresses: [], failure: expect.stringContaining('no email address') },
    ]);
  });

  test('leaves out an address that bounced', async () => {
    const { id, email } = await owing();
    await invoiceOf(id, '100.00', '2026-03-01');
    sink.behavior = { recipient: (address) => (address === email ? 550 : undefined) };
    await run('2026-03-08');
    background = await startBackground(service.service, { jobs: [sendMail], clockTasks: [] });
    await expect.poll(async () => (await mailsOf(id)).map(({ status }) => status)).toEqual(['BOUNCED']);
    await background.stop(0);
    background = undefined;
    sink.behavior = {};
    await run('2026-03-30');
    expect(await mailsOf(id)).toMatchObject([
      { toAddresses: [email], bouncedAddresses: [email] },
      { status: 'FAILED', toAddresses: [] },
    ]);
  });

  test('is not sent if nothing is due any more, and lists what is', async () => {
    const [paid, part] = [await owing(), await owing({ documentLanguage: 'fr' })];
    const [first, second, third] = [
      await invoiceOf(paid.id, '100.00', '2026-03-01'),
      await invoiceOf(part.id, '70.00', '2026-03-01'),
      await invoiceOf(part.id, '80.00', '2026-03-02'),
    ];
    await run('2026-03-20');
    await pay('100.00', [{ invoiceId: first, amount: '100.00' }], { clientId: paid.id });
    await pay('70.00', [{ invoiceId: second, amount: '70.00' }], { clientId: part.id });
    background = await startBackground(service.service, { jobs: [sendMail], clockTasks: [] });
    const stateOf = async (id: string) => (await mailsOf(id)).map(({ status }) => status);
    await expect.poll(() => stateOf(part.id), { timeout: 20_000 }).toEqual(['SENT']);
    await expect.poll(() => stateOf(paid.id), { timeout: 20_000 }).toEqual(['FAILED']);
    await background.stop(0);
    background = undefined;
    const received = sink.received.find(({ recipients }) => recipients.includes(part.email));
    expect(received?.parsed.subject).toBe(`Rappel : ${(await invoice(third)).invoiceNumber} de firm`);
    expect(received?.parsed.text).toContain('Au total : USD 80,00');
    expect(received?.parsed.attachments).toEqual([]);
    expect(sink.received.some(({ recipients }) => recipients.includes(paid.email))).toBe(false);
  });
});

describe('a recipient of a reminder', () => {
  test('stops reminders by one request of the mail program, or on a page', async () => {
    const { id, systemRef, email } = await owing();
    await invoiceOf(id, '100.00', '2026-03-01');
    await run('2026-03-08');
    background = await startBackground(service.service, { jobs: [sendMail], clockTasks: [] });
    const received = () => sink.received.find(({ recipients }) => recipients.includes(email))?.parsed;
    await expect.poll(received, { timeout: 20_000 }).toBeDefined();
    await background.stop(0);
    background = undefined;
    const header = (name: string) => received()?.headers.find(({ key }) => key === name)?.value ?? '';
    expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    const url = /^<https:\/\/api\.firm\.example(.+)>$/.exec(header('list-unsubscribe'))?.[1] ?? '';
    const visit = (path: string, method = 'GET') => fetch(`${service.address}${path}`, { method });
    const isOff = async () =>
      (await preparer.call<{ remindersOff: boolean }>('GET', `/gql/v1/client/${id}`)).body.remindersOff;
    const page = await visit(url);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<form method="post">')]);
    expect(await isOff()).toBe(false);
    for (const wrong of [url.replace(/\.firm\./, '.other.'), url.replace(/.{5}\/unsubscribe$/, 'xxxxx/unsubscribe')])
      expect((await visit(wrong, 'POST')).status).toBe(404);
    expect(await isOff()).toBe(false);
    const oneClick = await fetch(`${service.address}${url}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    expect([oneClick.status, await oneClick.text()]).toEqual([200, expect.stringContaining('Reminders are stopped')]);
    expect(await isOff()).toBe(true);
    expect((await visit(url, 'POST')).status).toBe(200);
    expect((await visit(url, 'DELETE')).status).toBe(405);
    await run('2026-03-25');
    expect((await mailsOf(id)).length).toBe(1);
    await change('Client', systemRef, { remindersOff: false });
    await run('2026-03-26');
    expect((await mailsOf(id)).length).toBe(2);
  });
});

test('a schedule with steps out of order, or an unknown template, is rejected', async () => {
  const failing = async (reminderSchedule: object[]) =>
    (await change('Org', org?.systemRef ?? '', { reminderSchedule })).error?.code;
  expect(await failing([step(7), step(7)])).toBe('VALIDATION_ERROR');
  expect(await failing([step(8), step(7)])).toBe('VALIDATION_ERROR');
  expect(await failing([step(7, 'NONE')])).toBe('VALIDATION_ERROR');
});

test('a template that is deleted while schedules name it rejects no other change of their clients and org', async () => {
  const template = { orgId: org?.id, name: 'GONE', subject: 'Gone', text: '{{amountDue}}' };
  const { systemRef } = await records.make('MailTemplate', template);
  const reminderSchedule = [step(2, 'GONE')];
  const owner = await owing({ reminderSchedule });
  const orgRef = org?.systemRef ?? '';
  expect(await change('Org', orgRef, { reminderSchedule })).toMatchObject({ status: 'UPDATED' });
  expect(only(await records.remove([{ type: 'MailTemplate', systemRef: String(systemRef) }]))).toMatchObject({
    status: 'DELETED',
  });
  expect(await change('Client', owner.systemRef, { name: 'Renamed' })).toMatchObject({ status: 'UPDATED' });
  expect(await change('Org', orgRef, { settleWithin: '0.05' })).toMatchObject({ status: 'UPDATED' });
  await invoiceOf(owner.id, '100.00', '2026-05-01');
  await run('2026-05-03');
  expect(await daysOf(owner.id)).toEqual([['2026-05-03', 1]]);
});

test('the reminders of one tenant do not keep the mail of another one waiting', async () => {
  const busy = await service.addTenant('busy');
  const admin = await service.signIn({ roles: ['API_ADMIN'], tenant: busy });
  const others = recordsOf(admin);
  const { body: orgs } = await admin.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  await others.update([
    { type: 'Org', systemRef: orgs.data[0]?.systemRef, attributes: { reminderSchedule: [step(1)] } },
  ]);
  const clients = Array.from({ length: 60 }, (_, index) => ({
    type: 'Client',
    systemRef: `busy-${index}`,
    attributes: { name: `Busy ${index}`, email: `busy-${index}@example.com` },
  }));
  const created = await others.upsert(clients);
  const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '1.00', taxable: false }];
  await others.upsert(
    created.map(({ id }, index) => ({
      type: 'Invoice',
      systemRef: `busy-${index}`,
      attributes: { clientId: id, pmsRef: `busy-${index}`, invoiceDate: '2026-01-01', dueDate: '2026-01-31', lines },
    })),
  );
  await remindClients.run({ ...tickOf({ ...service, tenant: busy }), today: Temporal.PlainDate.from('2026-03-01') });
  const { id } = await owing();
  await invoiceOf(id, '1.00', '2026-02-20');
  await run('2026-03-01');
  background = await startBackground(service.service, { jobs: [sendMail], clockTasks: [] });
  // Mails of the tests before may still wait.
  const own = `client-${count}@example.com`;
  const addresses = () =>
    sink.received.flatMap(({ recipients }) => recipients).filter((one) => one === own || one.startsWith('busy-'));
  await expect.poll(() => addresses().length, { timeout: 60_000 }).toBe(61);
  const position = addresses().indexOf(own);
  // The tenants take turns.
  expect(position).toBeLessThan(12);
});
