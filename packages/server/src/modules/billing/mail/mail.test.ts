import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { components } from '@financial-automation/spec';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { atEnd } from '../../../../test/at-end.ts';
import { startMailSink } from '../../../../test/mail-sink.ts';
import { firm } from '../../../../test/modules/billing.ts';
import { only, recordsOf } from '../../../../test/modules/records.ts';
import { failureOf } from '../../../../test/modules/staff.ts';
import { testService } from '../../../../test/service.ts';
import { startBackground } from '../../../background/background.ts';
import { MailServers } from '../../../platform/mail/mail-server.ts';
import { sendMail } from './send-mail.ts';

type Mail = components['schemas']['Mail'];
type Sent = components['schemas']['InvoiceSendResult'];

const sink = await startMailSink();
const sandboxSink = await startMailSink();
const publicUrl = 'https://api.firm.example';
const limits = { connectionTimeout: 500, greetingTimeout: 500, socketTimeout: 700 };
let servers = new MailServers(
  { url: sink.url, sandboxUrl: sandboxSink.url, from: 'books@firm.example', publicUrl },
  limits,
);
const service = await testService({
  replace: () => ({ mailServers: { of: (tenant) => servers.of(tenant) } as MailServers }),
});
const { client, draftOf, invoice, newClient, post, preparer, records } = await firm(service);
// Retries at once, so that a test of a retry takes no half minute.
const quick = {
  ...sendMail,
  settings: { ...sendMail.settings, retries: 3, retryDelaySeconds: 0, maxRetryDelaySeconds: 0 },
};
let background = await startBackground(service.service, { jobs: [quick], clockTasks: [] });
afterAll(() => background.stop(0));

const invoiceId = await post(await draftOf([{ unitAmount: '707.00' }]));
const { invoiceNumber } = await invoice(invoiceId);
beforeEach(() => {
  sink.behavior = {};
  sink.received.length = 0;
  servers = new MailServers(
    { url: sink.url, sandboxUrl: sandboxSink.url, from: 'books@firm.example', publicUrl },
    limits,
  );
});

const send = (body: object, id = invoiceId) => preparer.call<Sent>('POST', `/api/v1/invoices/${id}/send`, body);
const mailOf = async (id: string) => (await preparer.call<Mail>('GET', `/gql/v1/mail/${id}`)).body;

/** Sends an invoice, and returns the mail when nothing more happens with it. */
async function sent(body: object, id = invoiceId): Promise<Mail> {
  const { status, body: accepted } = await send(body, id);
  if (status !== 202) throw new Error(JSON.stringify(accepted));
  return ended(accepted.mailId);
}

async function ended(id: string): Promise<Mail> {
  await expect.poll(async () => (await mailOf(id)).status, { timeout: 20_000 }).not.toMatch(/QUEUED|SENDING/);
  return mailOf(id);
}

const statesOf = async (id: string) => {
  const { body } = await preparer.call<{ data: { entityId: string; data: Mail }[] }>(
    'GET',
    '/api/v1/events?entityType=Mail&pageSize=1000',
  );
  return body.data.filter(({ entityId }) => entityId === id).map(({ data }) => data.status);
};

describe('sendInvoice', () => {
  test('sends the PDF with a text and HTML, and records it with an event of each state', async () => {
    const mail = await sent({ to: ['Ines@Example.com'], cc: ['tomas@example.com'], message: 'Thank you <all>.' });
    expect(mail).toMatchObject({
      status: 'SENT',
      subject: `${invoiceNumber} from firm`,
      attempts: 1,
      toAddresses: ['ines@example.com'],
      acceptedAddresses: ['ines@example.com', 'tomas@example.com'],
      failure: null,
    });
    const [received] = sink.received;
    expect(sink.received.length).toBe(1);
    expect(received?.recipients).toEqual(['ines@example.com', 'tomas@example.com']);
    const { parsed } = received ?? {};
    expect(parsed?.from).toMatchObject({ name: 'firm', address: 'books@firm.example' });
    expect(parsed?.messageId).toMatch(new RegExp(`^<${mail.id}\\.firm\\.[\\w-]{43}@firm\\.example>$`));
    // An invoice is owed to its recipient.
    expect(parsed?.headers.map(({ key }) => key)).not.toContain('list-unsubscribe');
    expect(parsed?.text).toContain(`${invoiceNumber} · March 2, 2026 · USD 707.00`);
    expect(parsed?.text).toContain('Thank you <all>.');
    expect(parsed?.text).not.toContain('You can pay');
    expect(parsed?.html).toContain('<p dir="auto">Thank you &lt;all&gt;.</p>');
    const [attachment] = parsed?.attachments ?? [];
    expect(attachment).toMatchObject({ filename: `Invoice ${invoiceNumber}.pdf`, mimeType: 'application/pdf' });
    expect(
      Buffer.from(attachment?.content as ArrayBuffer)
        .subarray(0, 5)
        .toString(),
    ).toBe('%PDF-');
    expect(await statesOf(mail.id)).toEqual(['QUEUED', 'SENDING', 'SENT']);
    expect((await invoice(invoiceId)).sentAt).toBe(mail.sentAt);
    const { body: found } = await preparer.call<{ data: Mail[] }>('POST', '/gql/v1/mails/search', {
      where: { invoiceIds: { _contains: invoiceId }, status: { _eq: 'SENT' } },
    });
    expect(found.data).toEqual([mail]);
  });

  test.each(['en', 'de', 'fr', 'es'])(
    'sends an imported invoice in %s without a PDF, and promises none',
    async (documentLanguage) => {
      const owner = await newClient({ documentLanguage, email: 'ines@example.com' });
      const line = { lineType: 'OTHER', description: 'Advice', quantity: '1', unitAmount: '10.00', taxable: false };
      const dates = { invoiceDate: '2026-03-02', dueDate: '2026-04-01' };
      const number = `OLD-${documentLanguage}`;
      const own = { clientId: owner.id, pmsRef: number, invoiceNumber: number, ...dates, lines: [line] };
      const imported = await records.make('Invoice', own);
      expect(await sent({}, imported.id)).toMatchObject({ status: 'SENT' });
      const { parsed } = sink.received[0] ?? {};
      expect(parsed?.attachments).toEqual([]);
      expect(parsed?.text).toContain(number);
      expect(parsed?.text).not.toMatch(/attach|anbei|joint|adjunt/i);
    },
  );

  test('creates a payment link for the amount due, whose URL only the mail has', async () => {
    const mail = await sent({ to: ['ines@example.com'], withPaymentLink: true });
    const { body: link } = await preparer.call<{ url: string; amount: string }>(
      'GET',
      `/gql/v1/quick_payment_link/${mail.quickPaymentLinkId}`,
    );
    expect(link.amount).toBe('707.00');
    expect(sink.received[0]?.parsed.text).toContain(`You can pay on this page: ${link.url}`);
    expect(sink.received[0]?.parsed.html).toContain(`<a href="${link.url}">`);
  });

  test('creates no payment link for a caller who may not create links', async () => {
    const writer = await service.signIn({ roles: ['INVC_W'] });
    const call = () =>
      writer.call('POST', `/api/v1/invoices/${invoiceId}/send`, { to: ['ines@example.com'], withPaymentLink: true });
    expect(await failureOf(call())).toEqual([403, 'FORBIDDEN', '/withPaymentLink']);
  });

  test('returns the first mail to a repetition with the same key, and sends one', async () => {
    const again = () =>
      preparer.call<Sent>(
        'POST',
        `/api/v1/invoices/${invoiceId}/send`,
        { to: ['ines@example.com'] },
        { 'Idempotency-Key': 'send-once' },
      );
    const [one, other] = [await again(), await again()];
    expect(other.body.mailId).toBe(one.body.mailId);
    await ended(one.body.mailId);
    expect(sink.received.length).toBe(1);
    const rehearsed = await preparer.call<Sent>(
      'POST',
      `/api/v1/invoices/${invoiceId}/send`,
      { to: ['ines@example.com'] },
      { 'Dry-Run': 'true' },
    );
    expect(rehearsed.status).toBe(202);
    expect((await preparer.call('GET', `/gql/v1/mail/${rehearsed.body.mailId}`)).status).toBe(404);
  });

  test('rejects what cannot be sent', async () => {
    const other = await post(await draftOf([{ unitAmount: '1.00' }]));
    const { systemRef } = await invoice(other);
    await records.update([{ type: 'Invoice', systemRef, attributes: { status: 'VOIDED', voidReason: 'Wrong' } }]);
    expect(await send({ to: ['a@example.com'] }, other)).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE' },
    });
    expect(await send({ to: ['a@example.com'] }, client.id)).toMatchObject({ status: 404 });
    expect(await send({})).toMatchObject({ status: 400, body: { errors: [{ pointer: '/to', code: 'REQUIRED' }] } });
    servers = new MailServers(undefined);
    expect(await send({ to: ['a@example.com'] })).toMatchObject({ status: 409, body: { code: 'MAIL_NOT_CONFIGURED' } });
  });

  test('no name, address or text can add a header or a recipient', async () => {
    const evil = 'Evil\r\nBcc: victim@example.com\r\n\r\nBody';
    const owner = await preparer.call<{ clientId: string }>('POST', '/api/v1/clients/v1/onboard', {
      name: 'Comma, "Quote" <x@example.com>',
      address: { country: 'US' },
    });
    const own = await post(await draftOf([{ unitAmount: '1.00' }], { clientId: owner.body.clientId }));
    expect((await send({ to: ['a@example.com\r\nBcc: victim@example.com'] }, own)).status).toBe(400);
    expect((await send({ to: ['a@example.com, victim@example.com'] }, own)).status).toBe(400);
    const org = (await preparer.call<{ data: { id: string; systemRef: string }[] }>('POST', '/gql/v1/orgs', {})).body
      .data[0];
    await recordsOf(preparer).update([
      { type: 'Org', systemRef: org?.systemRef ?? '', attributes: { legalName: evil } },
    ]);
    const mail = await sent({ to: ['a@example.com'], message: evil }, own);
    await recordsOf(preparer).update([
      { type: 'Org', systemRef: org?.systemRef ?? '', attributes: { legalName: 'firm' } },
    ]);
    const [received] = sink.received;
    expect(mail.subject).not.toMatch(/[\r\n]/);
    expect(received?.recipients).toEqual(['a@example.com']);
    expect(received?.parsed.to).toEqual([expect.objectContaining({ address: 'a@example.com' })]);
    expect([received?.parsed.bcc ?? [], received?.parsed.cc ?? []]).toEqual([[], []]);
    expect(received?.parsed.headers.map(({ key }) => key)).not.toContain('bcc');
    expect(received?.parsed.from).toEqual({ address: 'books@firm.example', name: 'Evil Bcc: victim@example.com Body' });
  });
});

describe('a mail server', () => {
  test('that defers a recipient gets the mail again, with the same Message-ID and nobody twice', async () => {
    let deferrals = 0;
    sink.behavior = { recipient: (address) => (address === 'slow@example.com' && ++deferrals < 3 ? 451 : undefined) };
    const mail = await sent({ to: ['quick@example.com', 'slow@example.com'] });
    expect(mail).toMatchObject({
      status: 'SENT',
      attempts: 3,
      acceptedAddresses: ['quick@example.com', 'slow@example.com'],
    });
    expect(sink.received.map(({ recipients }) => recipients)).toEqual([['quick@example.com'], ['slow@example.com']]);
    expect(new Set(sink.received.map(({ parsed }) => parsed.messageId)).size).toBe(1);
    expect(await statesOf(mail.id)).toEqual(['QUEUED', 'SENDING', 'QUEUED', 'SENDING', 'QUEUED', 'SENDING', 'SENT']);
  });

  test('that defers a mail each time fails it, with its response', async () => {
    sink.behavior = { message: () => 451 };
    const mail = await sent({ to: ['ines@example.com'] });
    expect(mail).toMatchObject({
      status: 'FAILED',
      attempts: 4,
      failure: expect.stringContaining('Try again later'),
      sentAt: null,
    });
    expect(sink.received.length).toBe(4);
  });

  test('that rejects an address makes it bounce, and later mails leave it out unless it is named', async () => {
    const owner = await records.make('Client', { name: 'Bounces', email: 'gone@example.com' });
    const own = await post(await draftOf([{ unitAmount: '1.00' }], { clientId: owner.id }));
    sink.behavior = { recipient: (address) => (address === 'gone@example.com' ? 550 : undefined) };
    const bounced = await sent({}, own);
    expect(bounced).toMatchObject({
      status: 'BOUNCED',
      toAddresses: ['gone@example.com'],
      bouncedAddresses: ['gone@example.com'],
    });
    expect(bounced.failure).toContain('No such mailbox');
    expect((await invoice(own)).sentAt).toBeNull();
    expect(await send({}, own)).toMatchObject({ status: 400 });
    expect(await sent({ to: ['ines@example.com', 'gone@example.com'] }, own)).toMatchObject({
      status: 'SENT',
      acceptedAddresses: ['ines@example.com'],
      bouncedAddresses: ['gone@example.com'],
    });
    sink.behavior = {};
    expect(await sent({ to: ['gone@example.com'] }, own)).toMatchObject({ status: 'SENT' });
    expect(await sent({}, own)).toMatchObject({ status: 'SENT', toAddresses: ['gone@example.com'] });
  });

  test('that hangs after it has got the mail leaves it UNKNOWN, and does not get it again', async () => {
    sink.behavior = { beforeResponse: () => new Promise(() => undefined) };
    const mail = await sent({ to: ['ines@example.com'] });
    expect(mail).toMatchObject({ status: 'UNKNOWN', attempts: 1, acceptedAddresses: [] });
    expect(sink.received.length).toBe(1);
  });

  test('that hangs at the greeting, closes the connection or cannot be reached is tried again', async () => {
    const silent = createServer(() => undefined);
    const closing = createServer((socket) => socket.end());
    for (const server of [silent, closing]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      servers = new MailServers(
        { url: `smtp://127.0.0.1:${port}`, sandboxUrl: undefined, from: 'books@firm.example', publicUrl },
        { ...limits, greetingTimeout: 100 },
      );
      const mail = await sent({ to: ['ines@example.com'] });
      expect(mail).toMatchObject({ status: 'FAILED', attempts: 4, failure: expect.any(String) });
      server.close();
    }
    atEnd(async () => void silent.close());
    servers = new MailServers(
      { url: 'smtp://127.0.0.1:1', sandboxUrl: undefined, from: 'books@firm.example', publicUrl },
      limits,
    );
    expect(await sent({ to: ['ines@example.com'] })).toMatchObject({ status: 'FAILED', attempts: 4 });
    expect(sink.received).toEqual([]);
  });

  test('that does not offer TLS gets no password', async () => {
    let heard = '';
    const plain = createServer((socket) => {
      socket.write('220 mail\r\n');
      socket.on('data', (data) => {
        heard += data;
        socket.write(String(data).startsWith('EHLO') ? '250-mail\r\n250 AUTH PLAIN\r\n' : '502 Unknown\r\n');
      });
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    atEnd(async () => void plain.close());
    const url = `smtp://books:secret@127.0.0.1:${(plain.address() as AddressInfo).port}`;
    servers = new MailServers({ url, sandboxUrl: undefined, from: 'books@firm.example', publicUrl }, limits);
    expect(await sent({ to: ['ines@example.com'] })).toMatchObject({ status: 'FAILED', attempts: 4 });
    expect(heard).toMatch(/^EHLO[^\n]+\nSTARTTLS/);
    expect(heard).not.toContain('AUTH');
  });
});

describe('a process that ends', () => {
  test('while a mail is handed over leaves it UNKNOWN, and no other one sends it again', async () => {
    const arrived = Promise.withResolvers<void>();
    sink.behavior = {
      beforeResponse: () => {
        arrived.resolve();
        return new Promise(() => undefined);
      },
    };
    servers = new MailServers(
      { url: sink.url, sandboxUrl: undefined, from: 'books@firm.example', publicUrl },
      { socketTimeout: 60_000 },
    );
    const { body } = await send({ to: ['ines@example.com'] });
    await arrived.promise;
    await background.stop(0);
    expect((await mailOf(body.mailId)).status).toBe('SENDING');
    background = await startBackground(service.service, { jobs: [quick], clockTasks: [] });
    expect(await ended(body.mailId)).toMatchObject({
      status: 'UNKNOWN',
      failure: 'The service ended while it was sent.',
    });
    expect(sink.received.length).toBe(1);
  });
});

describe('a mail template', () => {
  const template = (attributes: object) => records.make('MailTemplate', attributes);

  test('has numbers and days as in the country of the client', async () => {
    const address = { line1: 'Quai 1', city: 'Basel', country: 'CH' };
    const owner = await newClient({ name: 'Mühle AG', email: 'muehle@example.com', address });
    await records.update([{ type: 'Client', systemRef: owner.id, attributes: { documentLanguage: 'de' } }]);
    await sent({}, await post(await draftOf([{ unitAmount: '1234.50' }], { clientId: owner.id })));
    expect(sink.received[0]?.parsed.text).toMatch(/USD 1\D234\.50/);
  });

  test('has the texts of its org and language, and a line without values is left out', async () => {
    const { orgId } = await invoice(invoiceId);
    const owner = await records.make('Client', {
      name: 'Müller & Söhne',
      email: 'post@example.com',
      documentLanguage: 'de',
    });
    const own = await post(await draftOf([{ unitAmount: '1234.50' }], { clientId: owner.id }));
    await sent({}, own);
    expect(sink.received[0]?.parsed.subject).toMatch(/ von firm$/);
    expect(sink.received[0]?.parsed.text).toContain('USD 1.234,50');
    await template({
      orgId,
      name: 'INVOICE',
      language: 'de',
      subject: 'Rechnung {{documentNumber}}',
      text: 'Hallo {{clientName}}\nLink: {{paymentUrl}}\nBis {{dueOn}}',
      html: '<b>{{ clientName }}</b>',
      replyTo: 'antwort@firm.example',
    });
    await sent({}, own);
    const { parsed } = sink.received[1] ?? {};
    expect(parsed?.text?.trim()).toBe('Hallo Müller & Söhne\nBis 2. März 2026');
    expect(parsed?.html?.trim()).toBe('<b>Müller &amp; Söhne</b>');
    expect(parsed?.replyTo).toEqual([expect.objectContaining({ address: 'antwort@firm.example' })]);
  });

  test('with an unknown variable or a second one of a name and language is rejected', async () => {
    const { orgId } = await invoice(invoiceId);
    const fields = { orgId, name: 'OTHER', subject: 'Hello', text: 'Text' };
    const failing = async (attributes: object) =>
      only(await records.upsert([{ type: 'MailTemplate', attributes }])).error;
    expect(await failing({ ...fields, text: 'Pay {{amuontDue}}' })).toMatchObject({
      code: 'VALIDATION_ERROR',
      pointer: expect.stringMatching(/\/text$/),
    });
    expect(await failing({ ...fields, html: '{{constructor}}' })).toMatchObject({ code: 'VALIDATION_ERROR' });
    await template(fields);
    expect(await failing(fields)).toMatchObject({ code: 'DUPLICATE_REF' });
  });
});

describe('a report of a mail server on a mail that it had accepted', () => {
  /** A report in the form of RFC 3464, with the headers of the mail. */
  const reportOn = (mail: string, ...failed: readonly string[]) =>
    [
      'From: MAILER-DAEMON@example.com',
      'Message-ID: <report@example.com>',
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'Your mail could not be delivered.',
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example.com',
      '',
      ...failed.flatMap((address) => [
        `Original-Recipient: rfc822;${address}`,
        `Final-Recipient: rfc822; other-${address}`,
        'Action: failed',
        'Status: 5.1.1',
        'Diagnostic-Code: smtp; 550 5.1.1 mailbox',
        ' unknown',
        '',
      ]),
      'Final-Recipient: rfc822; slow@example.com',
      'Action: delayed',
      '',
      '--b',
      'Content-Type: message/rfc822',
      '',
      mail,
      '--b--',
      '',
    ].join('\r\n');
  const report = async (body: string) =>
    (
      await fetch(`${service.address}/mail/bounces`, {
        method: 'POST',
        headers: { 'Content-Type': 'message/rfc822' },
        body,
      })
    ).status;

  test('moves recipients to the bounced ones, and later mails leave them out', async () => {
    const owner = await records.make('Client', { name: 'Late bounce', email: 'late@example.com' });
    const own = await post(await draftOf([{ unitAmount: '1.00' }], { clientId: owner.id }));
    const mail = await sent({ cc: ['slow@example.com', 'ines@example.com'] }, own);
    expect(mail).toMatchObject({ status: 'SENT', toAddresses: ['late@example.com'] });
    const raw = sink.received[0]?.raw ?? '';
    expect(await report(reportOn(raw, 'Late@example.com', 'stranger@example.com'))).toBe(200);
    const partly = await mailOf(mail.id);
    expect(partly).toMatchObject({
      status: 'SENT',
      acceptedAddresses: ['slow@example.com', 'ines@example.com'],
      bouncedAddresses: ['late@example.com'],
      failure: 'smtp; 550 5.1.1 mailbox unknown',
    });
    expect(await report(reportOn(raw, 'late@example.com'))).toBe(200);
    expect((await mailOf(mail.id)).version).toBe(partly.version);
    expect(await send({}, own)).toMatchObject({ status: 400, body: { errors: [{ pointer: '/to' }] } });
    expect(await report(reportOn(raw, 'slow@example.com', 'ines@example.com'))).toBe(200);
    expect(await mailOf(mail.id)).toMatchObject({ status: 'BOUNCED', acceptedAddresses: [], sentAt: null });
    expect(await statesOf(mail.id)).toEqual(['QUEUED', 'SENDING', 'SENT', 'SENT', 'BOUNCED']);
  });

  test('is rejected if it is on no mail of the service', async () => {
    const mail = await sent({ to: ['ines@example.com'] });
    const raw = sink.received[0]?.raw ?? '';
    const forged = raw.replace(/\.firm\.[\w-]{43}@/, `.firm.${'x'.repeat(43)}@`);
    expect(forged).not.toBe(raw);
    const own = reportOn(raw, 'ines@example.com');
    // Only the beginning is read, and few IDs of mails are tried.
    const long = own.replace('Your mail', `${'x\r\n'.repeat(50_000)}Your mail`);
    const many = own.replace(raw, `${'Message-ID: <x@y>\r\n'.repeat(50)}${raw}`);
    for (const body of [reportOn(forged, 'ines@example.com'), raw, '', 'x'.repeat(1_000), long, many])
      expect(await report(body)).toBe(400);
    expect((await mailOf(mail.id)).bouncedAddresses).toEqual([]);
    expect((await fetch(`${service.address}/mail/bounces`)).status).toBe(405);
  });
});

test('a sandbox sends to the mail server of sandboxes only', async () => {
  const tenant = { isSandbox: true };
  servers = new MailServers({ url: sink.url, sandboxUrl: undefined, from: 'books@firm.example', publicUrl });
  expect(servers.of(tenant)).toBeUndefined();
  const delivery = await new MailServers({
    url: sink.url,
    sandboxUrl: sandboxSink.url,
    from: 'books@firm.example',
    publicUrl,
  })
    .of(tenant)
    ?.deliver(
      {
        id: 'x',
        senderName: 'Sandbox',
        replyTo: null,
        to: ['a@example.com'],
        cc: [],
        recipients: ['a@example.com'],
        subject: 'S',
        text: 'T',
        html: 'H',
        unsubscribeUrl: null,
        attachments: [],
      },
      AbortSignal.timeout(5_000),
    );
  expect(delivery?.outcome).toBe('accepted');
  expect([sink.received.length, sandboxSink.received.length]).toEqual([0, 1]);
});
