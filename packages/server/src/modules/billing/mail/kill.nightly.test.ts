/** A process that is killed while it sends or reminds: no mail is sent twice, and none is lost in silence. */
import { expect, test } from 'vitest';
import { startMailSink } from '../../../../test/mail-sink.ts';
import type { WriteResult } from '../../../../test/modules/records.ts';
import { processEnvironment, runCli, startServer, type TestProcess } from '../../../../test/process.ts';

const sink = await startMailSink();
const environment = {
  ...(await processEnvironment()),
  SMTP_URL: sink.url,
  SANDBOX_SMTP_URL: sink.url,
  MAIL_FROM: 'books@firm.example',
};
const apiKeys = new Map<string, string>();
for (const [tenant, options] of Object.entries({ hartwell: [], rehearsal: ['--sandbox'] })) {
  await runCli(environment, 'tenant', 'create', tenant, ...options);
  const { out } = await runCli(environment, 'api-key', 'create', tenant, 'clerk', '--roles', 'API_ADMIN');
  apiKeys.set(tenant, out.trim());
}
const mailsPerKill = 5;

/** Calls the server. @throws Error if it rejects the call, or is down */
async function call<Body>(
  { address }: TestProcess,
  path: string,
  body: object,
  { method = 'POST', tenant = 'hartwell' } = {},
): Promise<Body> {
  const apiKey = apiKeys.get(tenant);
  const send = (headers: object, to: string, sent: object, method = 'POST') =>
    fetch(`${address}${to}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(sent),
    });
  const { access_token: token } = (await (await send({}, '/v1/auth/token', { apiKey })).json()) as {
    access_token: string;
  };
  const response = await send({ Tenant: tenant, Authorization: `Bearer ${token}` }, path, body, method);
  if (response.status >= 300) throw new Error(await response.text());
  return (await response.json()) as Body;
}

/** Imports invoices, and returns their IDs. */
async function invoicesOf(server: TestProcess, name: string): Promise<string[]> {
  const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '1.00', taxable: false }];
  const { records } = await call<WriteResult>(server, '/api/v1/records', {
    records: [
      { type: 'Client', systemRef: name, attributes: { name } },
      ...Array.from({ length: mailsPerKill }, (_, index) => ({
        type: 'Invoice',
        systemRef: `${name}-${index}`,
        attributes: {
          clientId: { systemRef: name },
          pmsRef: `${name}-${index}`,
          invoiceDate: '2026-03-01',
          dueDate: '2026-03-31',
          lines,
        },
      })),
    ],
  });
  return records.slice(1).map(({ id }) => String(id));
}

/** When the process is killed, by what it sends to the mail server. */
const kills = {
  'before the message is handed over': (kill: () => void) => ({ recipient: () => void kill() }),
  'after the message is handed over': (kill: () => void) => ({ message: () => void kill() }),
  'as the mail server confirms it': (kill: () => void) => ({ beforeResponse: async () => void setImmediate(kill) }),
};

test.each(Object.entries(kills))(
  'a process that is killed %s: each mail arrives at most once, and its status says so',
  async (when, behaviorOf) => {
    sink.received.length = 0;
    let server = await startServer(environment);
    const invoiceIds = await invoicesOf(server, when);
    let isKilled = false;
    const { finished, kill } = server;
    sink.behavior = behaviorOf(() => {
      if (!isKilled) kill('SIGKILL');
      isKilled = true;
    });
    for (const id of invoiceIds)
      await call(server, `/api/v1/invoices/${id}/send`, { to: ['ines@example.com'] }).catch((error) => {
        if (!isKilled) throw error;
      });
    await finished;
    sink.behavior = {};
    server = await startServer(environment);
    const mailsOf = async () =>
      (
        await call<{ data: { id: string; status: string }[] }>(server, '/gql/v1/mails/search', {
          where: { _or: invoiceIds.map((id) => ({ invoiceIds: { _contains: id } })) },
        })
      ).data;
    await expect
      .poll(async () => (await mailsOf()).filter(({ status }) => /QUEUED|SENDING/.test(status)), { timeout: 120_000 })
      .toEqual([]);
    const mails = await mailsOf();
    const received = Map.groupBy(sink.received, ({ parsed }) => parsed.messageId?.slice(1, 37));
    for (const { id, status } of mails) {
      expect(['SENT', 'UNKNOWN']).toContain(status);
      expect(received.get(id)?.length ?? 0).toBeLessThanOrEqual(1);
      if (status === 'SENT') expect(received.get(id)?.length).toBe(1);
    }
    expect(mails.length).toBeGreaterThan(0);
    if (when !== 'as the mail server confirms it') expect(mails.some(({ status }) => status === 'UNKNOWN')).toBe(true);
    server.kill('SIGKILL');
    await server.finished;
  },
  300_000,
);

test('a process that is killed while it reminds: each client has one mail for each step', async () => {
  sink.received.length = 0;
  let server = await startServer(environment);
  const sandbox = { tenant: 'rehearsal' };
  const clients = Array.from({ length: 30 }, (_, index) => `client-${index}`);
  const [org] = (await call<{ data: { systemRef: string }[] }>(server, '/gql/v1/orgs', {}, sandbox)).data;
  const reminderSchedule = [7, 14].map((daysAfterDue) => ({ daysAfterDue, template: 'REMINDER' }));
  const schedule = { records: [{ type: 'Org', systemRef: org?.systemRef, attributes: { reminderSchedule } }] };
  await call(server, '/api/v1/records', schedule, { ...sandbox, method: 'PUT' });
  const today = Temporal.Now.plainDateISO();
  const lines = [{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '1.00', taxable: false }];
  const created = clients.flatMap((name) => {
    const days = { invoiceDate: today.subtract({ days: 30 }).toString(), dueDate: today.toString() };
    const attributes = { clientId: { systemRef: name }, pmsRef: name, ...days, lines };
    return [
      { type: 'Client', systemRef: name, attributes: { name, email: `${name}@example.com` } },
      { type: 'Invoice', systemRef: name, attributes },
    ];
  });
  await call(server, '/api/v1/records', { records: created }, sandbox);

  // Killed again and again: as mails are handed over, and at any time in the transactions of the task.
  const maxKills = 6;
  let kills = 0;
  // Mails are also sent between two calls, so a process can be killed there.
  let isKilled = false;
  const kill = () => {
    if (isKilled || kills === maxKills) return;
    isKilled = true;
    server.kill('SIGKILL');
  };
  for (let days = 0; days < 20 || kills < maxKills; ) {
    const timer = setTimeout(kill, 60 * (kills + 1));
    sink.behavior = kills % 2 === 0 ? { message: () => void kill() } : {};
    const failure = await call(server, '/api/v1/sandbox/clock', { advanceBy: 'P5D' }, sandbox).then(
      () => undefined,
      (error: unknown) => error,
    );
    clearTimeout(timer);
    if (failure === undefined) days += 5;
    if (isKilled) {
      await server.finished;
      kills += 1;
      server = await startServer(environment);
      isKilled = false;
      // What the process that was killed had locked is free after a while.
    } else if (failure !== undefined) await new Promise((done) => setTimeout(done, 1_000));
  }
  sink.behavior = {};
  interface Reminder {
    readonly id: string;
    readonly status: string;
    readonly clientId: string;
    readonly reminderDate: string;
  }
  const search = { where: { kind: { _eq: 'REMINDER' } }, pageSize: 200 };
  const mailsOf = async () => (await call<{ data: Reminder[] }>(server, '/gql/v1/mails/search', search, sandbox)).data;
  await expect
    .poll(async () => (await mailsOf()).filter(({ status }) => /QUEUED|SENDING/.test(status)), { timeout: 120_000 })
    .toEqual([]);
  const mails = await mailsOf();
  const ofClients = Map.groupBy(mails, ({ clientId }) => clientId);
  expect(ofClients.size).toBe(clients.length);
  for (const all of ofClients.values()) expect(new Set(all.map(({ reminderDate }) => reminderDate)).size).toBe(2);
  expect(mails.length).toBe(2 * clients.length);
  const received = Map.groupBy(sink.received, ({ parsed }) => parsed.messageId?.slice(1, 37));
  for (const { id } of mails) expect(received.get(id)?.length ?? 0).toBeLessThanOrEqual(1);
  expect(kills).toBe(maxKills);
  server.kill('SIGKILL');
  await server.finished;
}, 600_000);
