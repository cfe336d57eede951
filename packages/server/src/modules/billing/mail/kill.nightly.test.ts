/** A process that is killed while it sends: no mail is sent twice, and none is lost in silence. */
import { expect, test } from 'vitest';
import { startMailSink } from '../../../../test/mail-sink.ts';
import type { WriteResult } from '../../../../test/modules/records.ts';
import { processEnvironment, runCli, startServer, type TestProcess } from '../../../../test/process.ts';

const sink = await startMailSink();
const environment = { ...(await processEnvironment()), SMTP_URL: sink.url, MAIL_FROM: 'books@firm.example' };
const tenant = 'hartwell';
await runCli(environment, 'tenant', 'create', tenant);
const { out } = await runCli(environment, 'api-key', 'create', tenant, 'clerk', '--roles', 'API_ADMIN');
const apiKey = out.trim();
const mailsPerKill = 5;

/** Calls the server. @throws Error if it rejects the call, or is down */
async function call<Body>({ address }: TestProcess, path: string, body: object): Promise<Body> {
  const send = (headers: object, to: string, sent: object) =>
    fetch(`${address}${to}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(sent),
    });
  const { access_token: token } = (await (await send({}, '/v1/auth/token', { apiKey })).json()) as {
    access_token: string;
  };
  const response = await send({ Tenant: tenant, Authorization: `Bearer ${token}` }, path, body);
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
