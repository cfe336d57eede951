import { mkdirSync } from 'node:fs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../../../../../scripts/test/browser.ts';
import { violationsIn } from '../../../../../scripts/test/violations.ts';
import { deliveringService } from '../../../test/delivery.ts';
import { filesOf } from '../../../test/modules/files.ts';
import { payingFirm } from '../../../test/modules/pay.ts';
import { isNightly } from '../../../test/nightly.ts';
import { nightlyTest } from '../../../test/nightly-test.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { type WireResponse, wire } from '../../../test/wire.ts';
import { settingSchemas, settingsOfOperator } from '../../admission/tenant-settings.ts';
import { schemaOf } from '../../contract/contract.ts';
import { createApiKey } from '../../operator/api-keys.ts';
import type { Tenant } from '../../platform/auth/caller.ts';
import { dataLists, referencesTo } from './catalog.ts';

const server = await deliveringService({ sandbox: true });
const { service, store, address, tenant, call, subscribe, deliveries } = server;
const { invoiceOf, newClient } = await payingFirm(server);
await server.start();

/** With `SCREENSHOTS=<folder>`, stores a picture of each page there. */
const folder = process.env.SCREENSHOTS;
if (folder !== undefined) mkdirSync(folder, { recursive: true });

function newKey(user: string, roles: readonly string[] = ['API_ADMIN', 'PYMT_EVNT_ALL'], of: Tenant = tenant) {
  return createApiKey({ service }, { tenant: of.name, user, roles, days: 1, description: `Key of ${user}` });
}

/** A browser without JavaScript that is signed in, or not yet. */
class Visitor {
  cookie = '';

  get(path: string): Promise<WireResponse> {
    return wire(address, { path: `/console${path}`, headers: { Cookie: this.cookie } });
  }

  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<WireResponse> {
    return wire(address, {
      method: 'POST',
      path: `/console${path}`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: this.cookie, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  /** Submits a form of a page, with its hidden fields. */
  async submit(page: string, path: string, fields: Record<string, string> = {}): Promise<WireResponse> {
    const { text } = await this.get(page);
    const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(text)?.[1] ?? '';
    return this.post(path, { formKey: hidden('formKey'), version: hidden('version'), ...fields });
  }

  async signIn(apiKey: string): Promise<WireResponse> {
    const page = await this.get('');
    const formKey = /name="formKey" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const cookie = page.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const response = await this.post('/sign-in', { apiKey, formKey }, { Cookie: cookie });
    const [session = ''] = response.headers['set-cookie']?.[0]?.split(';') ?? [];
    this.cookie = session.startsWith('console_session=') ? session : '';
    return response;
  }
}

async function visitor(key?: string): Promise<Visitor> {
  const one = new Visitor();
  await one.signIn(key ?? (await newKey('ops')).key);
  return one;
}

const audit = (operation: string) =>
  store.read(tenant.id, (session) =>
    session.all<{ actor: string; entityId: string; requestId: string | null }>(sql`
      select actor, entity_id as "entityId", request_id as "requestId" from audit_log
      where tenant_id = ${tenant.id} and operation = ${operation}`),
  );

describe('signing in', () => {
  test('sets a cookie that only the console gets, and no script or other site can use', async () => {
    const response = await new Visitor().signIn((await newKey('ops')).key);
    expect(response).toMatchObject({ status: 303, headers: { location: '/console' } });
    expect(response.headers['set-cookie']?.[0]).toMatch(
      /^console_session=[\w.-]+; Path=\/console; Max-Age=3600; HttpOnly; SameSite=Strict$/,
    );
  });

  test('is required for every page, and rejects a key that is wrong, or has not the role', async () => {
    for (const path of ['', '/requests', '/data/Client', '/nothing', '/keys'])
      expect([path, (await new Visitor().get(path)).status]).toEqual([path, 401]);
    expect(await new Visitor().post('/clock/advanceSandboxClock', { advanceBy: 'P1D' })).toMatchObject({ status: 303 });
    const wrong = await new Visitor().signIn('not.a.key');
    expect(wrong.status).toBeGreaterThanOrEqual(400);
    expect(wrong.text).toContain('This is not a valid API key.');
    const { key } = await newKey('reader', ['CLNT_R']);
    const reader = new Visitor();
    expect(await reader.signIn(key)).toMatchObject({ status: 403 });
    expect(reader.cookie).toBe('');
  });

  test('ends when the key is revoked or the session is changed', async () => {
    const { id, key } = await newKey('leaver');
    const leaver = await visitor(key);
    expect(await leaver.get('')).toMatchObject({ status: 200 });
    const changed = new Visitor();
    changed.cookie = leaver.cookie.replace(/.{9}$/, 'Ab0_-zZ9q');
    expect(await changed.get('')).toMatchObject({ status: 401 });
    const admin = await visitor();
    expect(await admin.submit('/keys', `/keys/${id}/revoke`)).toMatchObject({
      status: 303,
      headers: { location: '/console/keys?done=revoked' },
    });
    await expect.poll(async () => (await leaver.get('')).status, { timeout: 20_000 }).toBe(401);
    const rows = await audit('api-key revoke');
    expect(rows).toEqual([{ actor: 'ops', entityId: id, requestId: expect.any(String) }]);
    expect(await admin.submit('/keys', `/keys/${id}/revoke`)).toMatchObject({ status: 404 });
  });

  test('ends by signing out', async () => {
    const [one, other] = [await visitor(), await visitor()];
    const response = await one.submit('', '/sign-out');
    expect(response.headers['set-cookie']?.[0]).toMatch(/^console_session=; .*Max-Age=0;/);
    // Also for whoever has a copy of the cookie, and only this session.
    expect([(await one.get('')).status, (await other.get('')).status]).toEqual([401, 200]);
  });

  test('requires the form of this browser, so that no other site signs somebody in', async () => {
    const { key: apiKey } = await newKey('ops');
    const page = await new Visitor().get('');
    const formKey = /name="formKey" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const other = await new Visitor().get('');
    const cookieOf = ({ headers }: WireResponse) => headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const attempts = [
      [{ apiKey }, { Cookie: cookieOf(page) }],
      [{ apiKey, formKey }, {}],
      [{ apiKey, formKey }, { Cookie: cookieOf(other) }],
    ] as const;
    for (const [fields, headers] of attempts)
      expect(await new Visitor().post('/sign-in', fields, headers)).toMatchObject({ status: 403 });
    expect(await new Visitor().post('/sign-in', { apiKey, formKey }, { Cookie: cookieOf(page) })).toMatchObject({
      status: 303,
    });
  });
});

describe('forms', () => {
  test('change nothing without their key, or from another site', async () => {
    const [one, other] = [await visitor(), await visitor()];
    const { text } = await one.get('/clock');
    const formKey = /name="formKey" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const fields = { advanceBy: 'P1D', formKey };
    expect(await one.post('/clock/advanceSandboxClock', { advanceBy: 'P1D' })).toMatchObject({ status: 403 });
    // The form key of another session.
    expect(await other.post('/clock/advanceSandboxClock', fields)).toMatchObject({ status: 403 });
    expect(await one.post('/clock/advanceSandboxClock', fields, { 'Sec-Fetch-Site': 'cross-site' })).toMatchObject({
      status: 403,
    });
    expect(await one.post('/clock/advanceSandboxClock', fields, { Origin: 'https://evil.example' })).toMatchObject({
      status: 403,
    });
    expect(await one.post('/clock/advanceSandboxClock', fields, { 'Content-Type': 'application/json' })).toMatchObject({
      status: 403,
    });
    expect((await call('GET', '/api/v1/sandbox/clock')).body).toMatchObject({ offsetSeconds: 0 });
  });
});

describe('pages', () => {
  test('forbid scripts, frames and everything from elsewhere', async () => {
    const { headers } = await (await visitor()).get('/data');
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  test('show names as text', async () => {
    const { id } = await newClient({ name: '<script>alert(1)</script> & "Sons"' });
    const { text } = await (await visitor()).get(`/data/Client/${id}`);
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;Sons&quot;');
    expect(text).not.toContain('<script');
  });

  test('show lists with the newest first, sorted by a column, with names for references', async () => {
    const [one, other] = [await newClient({ name: 'Zinc & Sons' }), await newClient({ name: 'Amber Ltd' })];
    await invoiceOf(one.id, '1234567.50');
    await invoiceOf(other.id, '9.00');
    const admin = await visitor();
    const { text } = await admin.get('/data/Invoice');
    expect(text).toContain(`href="/console/data/Client/${one.id}">Zinc &amp; Sons</a>`);
    expect(text).toMatch(
      /<td class="number" data-label="Total"><span class="amount">1,234,567.50 <span class="soft">USD<\/span>/,
    );
    expect(text).toContain('aria-sort="descending"');
    const sorted = (await admin.get('/data/Invoice?sort=-total')).text;
    expect(sorted.indexOf('1,234,567.50')).toBeLessThan(sorted.indexOf('>9.00'));
    const reversed = (await admin.get('/data/Invoice?sort=total')).text;
    expect(reversed.indexOf('>9.00')).toBeLessThan(reversed.indexOf('1,234,567.50'));
    const clients = (await admin.get('/data/Client')).text;
    expect(clients.indexOf('Amber Ltd')).toBeLessThan(clients.indexOf('Zinc &amp; Sons'));
  });

  test('show the overview as of any day, of an office, in pictures that are no scripts, with a link to the rows of each figure', async () => {
    const { id } = await newClient({ name: 'Pictured <b> & Co' });
    await invoiceOf(id, '7654321.00');
    const admin = await visitor();
    const { text } = await admin.get('');
    expect(text.match(/<svg /g)?.length).toBeGreaterThan(2);
    expect(text.match(/<style/g)?.length).toBe(1);
    expect(text).not.toMatch(/ style="|<script|Pictured <b>/);
    expect(text).toContain('Pictured &lt;b&gt;');
    const [, row = ''] =
      /Pictured &lt;b&gt; &amp; Co<\/th>.*?href="\/console([^"]+)"[^>]*>7,654,321\.00/s.exec(text) ?? [];
    const rows = await admin.get(row.replaceAll('&amp;', '&').replaceAll('&quot;', '"'));
    expect(rows.text).toMatch(/Account is <strong>Receivable<\/strong>/);
    expect(rows.text).toMatch(/Client is <strong><a [^>]+>Pictured &lt;b&gt; &amp; Co<\/a>/);
    expect(rows.text).toContain('7,654,321.00');
    expect((await admin.get('?asOf=2020-01-31')).text).not.toContain('7,654,321.00');
    expect((await admin.get(`?office=${id}`)).text).not.toContain('7,654,321.00');
    for (const query of ['?asOf=soon', '?office=x', '/data/Invoice?where=x', '/data/Invoice?where=[]'])
      expect([query, (await admin.get(query)).text.includes('role="alert"')]).toEqual([query, true]);
  });

  test('filter lists by names and words, and save them as files for spreadsheets', async () => {
    const { id } = await newClient({ name: '=Formula Ltd' });
    const invoiceId = await invoiceOf(id, '15.00');
    await invoiceOf((await newClient({ name: 'Unasked Ltd' })).id, '16.00');
    const admin = await visitor();
    const where = encodeURIComponent(JSON.stringify({ clientId: { _eq: id } }));
    const list = async (query: string) => (await admin.get(`/data/Invoice?where=${where}&${query}`)).text;
    const named = (await admin.get('/data/Invoice?filter=clientId&op=is&value=formula+ltd')).text;
    expect(named).toContain(invoiceId);
    expect(named).not.toContain('Unasked');
    expect(named).toMatch(/Client is <strong><a [^>]+>=Formula Ltd/);
    expect(await list('filter=clientId&op=is&value=Nobody')).toContain('None of the clients is called “Nobody”.');
    expect(await list('filter=status&op=is&value=posted')).toContain(invoiceId);
    expect(await list('filter=status&op=is&value=paid')).not.toContain(invoiceId);
    expect(await list('filter=total&op=least&value=1,000.00')).not.toContain(invoiceId);
    expect(await list('filter=total&op=has&value=15')).toContain(invoiceId);
    expect(await list('filter=isOverdue&op=is&value=yes')).toContain(invoiceId);
    expect(await list('filter=sentAt&op=empty&value=')).toContain(invoiceId);
    const file = await admin.get(`/data/Invoice.csv?where=${where}`);
    expect(file.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    const [head = '', ...lines] = file.text.trim().split('\r\n');
    expect(head).toContain('Client,');
    expect(lines).toEqual([expect.stringMatching(/,'=Formula Ltd,.*,15\.00/)]);
  });

  test('show the statement of a client, also as a file', async () => {
    const { id } = await newClient({ name: 'Stated & Co' });
    await invoiceOf(id, '321.00');
    const admin = await visitor();
    expect((await admin.get(`/data/Client/${id}`)).text).toContain(`href="/console/statements/${id}"`);
    const { text } = await admin.get(`/statements/${id}`);
    expect(text).toContain('Statement of account: Stated &amp; Co');
    expect(text).toMatch(/Balance at the end<\/h2><p class="figure"><span class="amount">321\.00/);
    expect((await admin.get(`/statements/${id}.csv`)).text).toContain(',321.00');
    expect(await admin.get('/statements/x')).toMatchObject({ status: 400 });
  });

  test('show the document of an invoice beside it, and frame nothing else', async () => {
    const { id } = await newClient({ name: 'Framed & Co' });
    const invoiceId = await invoiceOf(id, '77.00');
    const { id: documentId } = await filesOf(server)();
    await store.write(tenant.id, (transaction) =>
      transaction.all(
        sql`update invoice set pdf_file_id = ${documentId} where tenant_id = ${tenant.id} and id = ${invoiceId}`,
      ),
    );
    const path = `/files/${documentId}/document`;
    const admin = await visitor();
    const page = await admin.get(`/data/Invoice/${invoiceId}`);
    expect(page.text).toContain(`<iframe src="/console${path}"`);
    expect(page.headers['content-security-policy']).toContain("frame-src 'self'");
    expect((await admin.get(`/data/Client/${id}`)).headers['content-security-policy']).not.toContain('frame-src');
    const document = await admin.get(path);
    expect(document.text).toMatch(/^%PDF/);
    expect(document.headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition': 'inline',
      'content-security-policy': "frame-ancestors 'self'",
      'x-content-type-options': 'nosniff',
    });
    expect(await new Visitor().get(path)).toMatchObject({ status: 401 });
    const upload = await filesOf(server)({ fileName: 'page.html', mimeType: 'text/html' });
    expect(await admin.get(`/files/${upload.id}/document`)).toMatchObject({ status: 409 });
  });

  test('offer an invoice as a document in each format of the contract, or say what it lacks for it', async () => {
    const { id } = await newClient({ name: 'Written & Co' });
    const invoiceId = await invoiceOf(id, '78.00');
    const admin = await visitor();
    const path = `/data/Invoice/${invoiceId}`;
    const { text } = await admin.get(path);
    for (const format of schemaOf('InvoiceDocumentFormat').properties?.format?.enum ?? []) {
      const isOffered = text.includes(`href="/console${path}/documents/${format}"`);
      const document = await admin.get(`${path}/documents/${format}`);
      expect([format, document.status]).toEqual([format, isOffered ? 200 : 409]);
      if (isOffered)
        expect(document.headers['content-disposition']).toMatch(/^attachment; filename="[\w-]+\.(pdf|xml)"$/);
    }
    expect((await admin.get(`${path}/documents/pdf`)).text).toMatch(/^%PDF/);
    expect(text).toContain('The client has no electronic address.');
    expect(await admin.get(`${path}/documents/json`)).toMatchObject({ status: 404 });
    expect(await admin.get(`/data/Client/${id}/documents/pdf`)).toMatchObject({ status: 404 });
    expect((await admin.get(`/data/Client/${id}`)).text).not.toContain('/documents/');
  });

  test('merge a client into one that is named, after a rehearsal, and offer nothing of the merged one', async () => {
    const [from, into] = [await newClient({ name: 'Twice Ltd' }), await newClient({ name: 'Once Ltd' })];
    await invoiceOf(from.id, '79.00');
    const admin = await visitor();
    const page = `/data/Client/${from.id}`;
    const fields = { into: 'Once Ltd', reason: 'Created twice.' };
    expect((await admin.get(page)).text).toContain('Merge into another client');
    const rehearsal = await admin.submit(page, `${page}/mergeClients`, fields);
    expect(rehearsal.text).toContain('Nothing has changed yet.');
    expect(await admin.submit(page, `${page}/mergeClients`, { ...fields, into: 'Nobody' })).toMatchObject({
      status: 400,
    });
    const confirmed = await admin.submit(page, `${page}/mergeClients`, { ...fields, confirmed: 'yes' });
    expect(confirmed).toMatchObject({ status: 303, headers: { location: `/console${page}?done=yes` } });
    const { text } = await admin.get(page);
    expect(text).toContain(`href="/console/data/Client/${into.id}"`);
    expect(text).not.toContain('Merge into another client');
    expect((await admin.get(`/data/Client/${into.id}`)).text).toContain('79.00');
  });

  test('find rows of every kind by a part of a name or number, in any case', async () => {
    const { id } = await newClient({ name: 'Quill 100% & Reed' });
    await newClient({ name: 'Quill 1000 Ltd' });
    const invoiceId = await invoiceOf(id, '70.00');
    const { invoiceNumber } = (await call<{ invoiceNumber: string }>('GET', `/gql/v1/invoice/${invoiceId}`)).body;
    const admin = await visitor();
    const search = async (text: string) => (await admin.get(`/search?q=${encodeURIComponent(text)}`)).text;
    const clients = await search('qUILL 100%');
    expect(clients).toContain(`href="/console/data/Client/${id}">Quill 100% &amp; Reed</a>`);
    expect(clients).not.toContain('Quill 1000');
    expect(await search(invoiceNumber.slice(4))).toContain(`href="/console/data/Invoice/${invoiceId}"`);
    const { data } = (await call<{ data: { displayName: string }[] }>('POST', '/gql/v1/staff', {})).body;
    for (const { displayName } of data.slice(0, 1)) expect(await search(displayName)).toContain('/console/data/Staff/');
    expect(await search('no such thing')).toContain('Nothing has this name or number.');
    expect(await search('a')).toContain('Enter at least 3 characters.');
  });

  test('offer what the state of a row allows, rehearse it, and do it once for the version that was shown', async () => {
    const { id: clientId } = await newClient({ name: 'Voided & Co' });
    const invoiceId = await invoiceOf(clientId, '80.00');
    const path = `/data/Invoice/${invoiceId}`;
    const status = async () => (await call('GET', `/gql/v1/invoice/${invoiceId}`)).body;
    const admin = await visitor();
    const { text } = await admin.get(path);
    expect([...text.matchAll(/<summary>([^<]+)<\/summary>/g)].map(([, label]) => label)).toEqual([
      'Void',
      'Write off',
      'Settle the rest',
      'Send',
      'For integrators',
      'Events',
    ]);
    const fields = { version: '1', voidReason: 'Wrong client' };
    const rehearsal = await admin.submit(path, `${path}/VOIDED`, fields);
    expect(rehearsal).toMatchObject({ status: 200 });
    expect(rehearsal.text).toContain('Nothing has changed yet');
    expect(rehearsal.text).toMatch(/Amount due<\/td>.*80\.00.*0\.00/);
    expect(await status()).toMatchObject({ status: 'POSTED', version: 1 });
    const done = { ...fields, confirmed: 'yes' };
    expect(await admin.submit(path, `${path}/VOIDED`, { ...done, voidReason: '' })).toMatchObject({ status: 409 });
    expect(await admin.submit(path, `${path}/PARTIALLY_PAID`, done)).toMatchObject({ status: 412 });
    expect(await admin.post(`${path}/VOIDED`, done)).toMatchObject({ status: 403 });
    expect(await admin.submit(path, `${path}/VOIDED`, done)).toMatchObject({ status: 303 });
    expect(await status()).toMatchObject({ status: 'VOIDED', voidReason: 'Wrong client' });
    expect(await admin.submit(path, `${path}/VOIDED`, done)).toMatchObject({ status: 412 });
    expect((await admin.get(path)).text).not.toMatch(/<summary>(Void|Write off)/);
  });

  test('create and change rows by forms of what operations write, after a rehearsal, in the version that was shown', async () => {
    const { id } = await newClient({ name: 'Formed & Co' });
    const invoiceId = await invoiceOf(id, '90.00');
    const admin = await visitor();
    const { invoiceNumber } = (await call<{ invoiceNumber: string }>('GET', `/gql/v1/invoice/${invoiceId}`)).body;
    const form = (await admin.get(`/data/Payment/new?clientId=${id}`)).text;
    expect(form).toContain('Client: <strong>Formed &amp; Co</strong>');
    expect(form).toMatch(/<input id="amount" name="amount"[^>]* required/);
    expect(form).not.toContain('name="changeReason"');
    const entered = {
      clientId: id,
      amount: '50.00',
      paymentDate: '2026-03-02',
      method: 'CHECK',
      source: 'MANUAL',
      'allocations.0.invoiceId': invoiceNumber,
      'allocations.0.amount': '40.00',
      newRef: 'console-test-1',
    };
    const rehearsal = await admin.submit('', '/data/Payment/new', entered);
    expect(rehearsal.text).toContain('Nothing has changed yet');
    expect(rehearsal.text).toMatch(/Amount due<\/td>.*90\.00.*50\.00/);
    const done = await admin.submit('', '/data/Payment/new', { ...entered, confirmed: 'yes' });
    expect(done).toMatchObject({
      status: 303,
      headers: { location: expect.stringContaining('/console/data/Payment/') },
    });
    const [, path = ''] = /\/console(.*)\?/.exec(done.headers.location ?? '') ?? [];
    expect((await admin.get(path)).text).toContain('10.00');
    const change = { version: '1', note: 'Seen by 7781', confirmed: 'yes' };
    expect(await admin.submit(path, `${path}/edit`, { ...change, version: '7' })).toMatchObject({ status: 412 });
    expect(await admin.submit(path, `${path}/edit`, { version: '1' })).toMatchObject({ status: 409 });
    expect(await admin.submit(path, `${path}/edit`, change)).toMatchObject({ status: 303 });
    expect((await admin.get(path)).text).toContain('7781');
    expect((await admin.get(`/data/Invoice/${invoiceId}`)).text).toContain(`creditedInvoiceId=${invoiceId}`);
    for (const type of dataLists.keys())
      expect([type, (await admin.get(`/data/${type}/new`)).status]).toEqual([type, expect.toBeOneOf([200, 403])]);
  });

  test('do one thing with several rows of a list, with the sums of a rehearsal', async () => {
    const { id } = await newClient({ name: 'Drafted & Co' });
    const line = { lineType: 'OTHER', description: 'Advice', quantity: '1', unitAmount: '10.00', taxable: false };
    const drafts = [1, 2, 3].map((number) => ({
      type: 'DraftInvoice',
      systemRef: `bulk draft ${number}`,
      attributes: {
        clientId: id,
        billThroughDate: '2026-03-01',
        proposedInvoiceDate: '2026-03-01',
        dueDate: '2026-03-31',
        lines: [line],
      },
    }));
    expect((await call('POST', '/api/v1/records', { records: drafts })).body).toMatchObject({ summary: { failed: 0 } });
    const admin = await visitor();
    const list = `/data/DraftInvoice?where=${encodeURIComponent(JSON.stringify({ clientId: { _eq: id } }))}`;
    const { text } = await admin.get(`${list}&selected=all`);
    const rows = [...text.matchAll(/name="row" value="([^"]+)"[^>]* checked/g)].map(([, value = '']) =>
      value.replaceAll('&amp;', '&'),
    );
    expect(rows).toHaveLength(3);
    const formKey = /name="formKey" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const submit = (selected: readonly string[], to: string, confirmed = '') =>
      wire(address, {
        method: 'POST',
        path: `/console/data/DraftInvoice/selected/${to}`,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: admin.cookie },
        body: new URLSearchParams([
          ['formKey', formKey],
          ['confirmed', confirmed],
          ...selected.map((row) => ['row', row]),
        ]).toString(),
      });
    expect(await submit([], 'IN_REVIEW')).toMatchObject({ status: 409 });
    const stale = rows.map((row, index) => (index === 0 ? row.replace(/ 1 /, ' 9 ') : row));
    const rehearsal = await submit(stale, 'IN_REVIEW');
    expect(rehearsal.text).toContain('in 2 of 3 rows');
    expect(rehearsal.text).toContain('What would not change');
    expect((await admin.get(list)).text).not.toContain('In review');
    expect(await submit(rows, 'IN_REVIEW', 'yes')).toMatchObject({ status: 303 });
    expect((await admin.get(list)).text.match(/In review<\/span>/g)).toHaveLength(3);
    expect(await submit(rows, 'IN_REVIEW', 'yes')).toMatchObject({ status: 409 });
  });

  test('close a month after a check list, and open it again with a reason', async () => {
    const admin = await visitor();
    const { data } = (await call<{ data: { id: string; version: number }[] }>('POST', '/gql/v1/orgs', {})).body;
    const [org] = data;
    const path = `/data/Org/${org?.id}/edit`;
    expect((await admin.get('/close?through=2026-03-31')).text).toMatch(
      /Draft invoices that are not posted: <strong>\d+/,
    );
    expect((await admin.get('/close?through=2020-01-31')).text).toContain('Nothing. The period is complete.');
    const fields = { version: String(org?.version), booksClosedThrough: '2020-01-31' };
    const closed = async () =>
      (await admin.get('/close')).text.includes('Closed through <time class="when" datetime="2020-01-31">');
    expect((await admin.submit('/close', path, fields)).text).toMatch(/Books closed through<\/td>.*none.*2020/s);
    expect(await closed()).toBe(false);
    expect(await admin.submit('/close', path, { ...fields, confirmed: 'yes' })).toMatchObject({ status: 303 });
    expect(await closed()).toBe(true);
    const open = { version: String(Number(org?.version) + 1), booksClosedThrough: '', confirmed: 'yes' };
    expect(await admin.submit('/close', path, { ...open, changeReason: '' })).toMatchObject({ status: 409 });
    expect(await admin.submit('/close', path, { ...open, changeReason: 'A late statement' })).toMatchObject({
      status: 303,
    });
    expect(await closed()).toBe(false);
  });

  test('change settings of the firm, but for those of the operator and those that would close the console', async () => {
    const admin = await visitor();
    const { text } = await admin.get('/settings');
    expect([...text.matchAll(/action="\/console\/settings\/(\w+)"/g)].map(([, name]) => name)).toEqual(
      [...settingSchemas.keys()].filter((name) => !settingsOfOperator.has(name)),
    );
    const set = (name: string, value: string) => admin.submit('/settings', `/settings/${name}`, { value });
    expect(await set('selfApproval', 'on')).toMatchObject({ status: 303 });
    expect((await service.directory.tenant(tenant.name))?.settings.selfApproval).toBe(true);
    expect((await admin.get('/settings?done=changed')).text).toMatch(/Self approval<\/th><td[^>]*>on</);
    const log = await store.system((transaction) =>
      transaction.all<{ details: object }>(sql`
        select details from operator_log where operation = 'tenant set' and subject = ${tenant.name}`),
    );
    expect(log.map(({ details }) => details)).toEqual([
      { setting: 'selfApproval', before: false, value: true, by: expect.objectContaining({ actor: 'ops' }) },
    ]);
    expect(await set('selfApproval', 'maybe')).toMatchObject({ status: 400 });
    for (const name of settingsOfOperator) expect(await set(name, 'none')).toMatchObject({ status: 404 });
    expect(await set('allowedAddresses', '203.0.113.7')).toMatchObject({ status: 403 });
    expect(await set('allowedClientIds', 'till')).toMatchObject({ status: 403 });
    expect(await set('allowedAddresses', '127.0.0.0/8, 203.0.113.7')).toMatchObject({ status: 303 });
    expect(await set('allowedAddresses', 'none')).toMatchObject({ status: 303 });
    expect(await set('selfApproval', 'off')).toMatchObject({ status: 303 });
  });

  test('send an invoice by mail, after a rehearsal that sends nothing', async () => {
    const { id } = await newClient({ name: 'Mailed & Co' });
    const invoiceId = await invoiceOf(id, '33.00');
    const path = `/data/Invoice/${invoiceId}`;
    const where = { invoiceIds: { _contains: invoiceId } };
    const mails = async () => (await call<{ data: unknown[] }>('POST', '/gql/v1/mails/search', { where })).body.data;
    const admin = await visitor();
    expect((await admin.get(path)).text).toContain('<summary>Send</summary>');
    const fields = { to: 'ines@example.com, lee@example.com', message: 'Thank <you>' };
    const send = (entered: Record<string, string>) => admin.submit(path, `${path}/sendInvoice`, entered);
    expect((await send(fields)).text).toMatch(/New Mail|New mail/);
    expect(await mails()).toEqual([]);
    expect(await send({ ...fields, to: 'nobody' })).toMatchObject({ status: 400 });
    expect(await send({ ...fields, confirmed: 'yes' })).toMatchObject({ status: 303 });
    expect(await mails()).toHaveLength(1);
    expect(await admin.submit(path, `${path}/deleteRecords`, {})).toMatchObject({ status: 412 });
  });

  test('create a key that is shown once, with roles that whoever creates it has', async () => {
    const admin = await visitor((await newKey('key admin', ['API_ADMIN'])).key);
    const fields = { user: 'sync', days: '30', role: 'CLNT_R', description: 'Nightly <sync>' };
    const create = (changed: object = {}) => admin.submit('/keys', '/keys', { ...fields, ...changed });
    expect((await admin.get('/keys')).text).not.toContain('value="PYMT_EVNT_ALL"');
    expect(await create({ role: 'PYMT_EVNT_ALL' })).toMatchObject({ status: 403 });
    for (const wrong of [
      { user: ' ' },
      { days: '0' },
      { days: '1e9' },
      { role: '' },
      { user: '\u0000' },
      { staff: 'nobody' },
    ])
      expect([wrong, (await create(wrong)).status]).toEqual([wrong, expect.toBeOneOf([400, 403])]);
    const { status, text } = await create();
    expect(status).toBe(200);
    const [, apiKey = ''] = /<pre id="key">([^<]+)<\/pre>/.exec(text) ?? [];
    const token = await call<{ access_token: string }>('POST', '/v1/auth/token', { apiKey });
    expect(token.status).toBe(200);
    const payload = Buffer.from(token.body.access_token.split('.')[1] ?? '', 'base64url').toString();
    expect(JSON.parse(payload)).toMatchObject({ roles: ['CLNT_R'] });
    const list = (await admin.get('/keys')).text;
    expect(list).toContain('Nightly &lt;sync&gt;');
    expect(list).not.toContain(apiKey);
    expect((await audit('api-key create')).filter(({ actor }) => actor === 'key admin')).toHaveLength(2);
  });

  test('send a test event with the response of the receiver, show the secret and rotate it', async () => {
    const receiver = await startReceiver();
    receiver.respond = (_arrival, response) => void response.writeHead(418).end('A <teapot>');
    const subscription = await subscribe(receiver);
    const admin = await visitor();
    const page = `/data/EventSubscription/${subscription.id}`;
    const { text } = await admin.submit(page, `${page}/sendTestEvent`);
    expect(text).toMatch(/Outcome<\/dt><dd>(?!Success)\w/);
    expect(text).toContain('A &lt;teapot&gt;');
    const end = `${page}/deactivateEventSubscription`;
    expect((await admin.submit(page, end)).text).toContain('Nothing has changed yet');
    expect(await admin.submit(page, end, { confirmed: 'yes' })).toMatchObject({ status: 303 });
    const lists = ['', '?inactive=on'].map((query) => admin.get(`/data/EventSubscription${query}`));
    expect((await Promise.all(lists)).map(({ text: list }) => list.includes(subscription.id))).toEqual([false, true]);
    const secretIn = (page: WireResponse) => /whsec_[\w+/=]+/.exec(page.text)?.[0];
    const secret = secretIn(await admin.get('/secret'));
    expect(secret).toBeDefined();
    const rotated = secretIn(await admin.submit('/secret', '/secret/rotateWebhookSecret', { overlapMinutes: '120' }));
    expect([rotated === secret, secretIn(await admin.get('/secret'))]).toEqual([false, rotated]);
  });

  test('list work that failed for good, with its reason', async () => {
    const admin = await visitor();
    expect((await admin.get('')).text).not.toContain('Work that failed for good');
    const { id: clientId } = await newClient({ name: 'Unwritten & Co' });
    const invoiceId = await invoiceOf(clientId, '10.00');
    await store.ownerStatements(
      `insert into background_job (tenant_id, id, name, data, status, failures, ended_at, failure)
       values ($1, gen_random_uuid(), 'write-invoice', $2, 'DEAD', 6, now(), 'The disk is <full>.')`,
      [tenant.id, JSON.stringify({ invoiceId })],
    );
    const { text } = await admin.get('');
    expect(text).toContain('Work that failed for good');
    expect(text).toContain('The disk is &lt;full&gt;.');
    expect(text).toContain(`/console/data/Invoice/${invoiceId}`);
  });

  test('of another tenant show and change nothing of this one', async () => {
    const elsewhere = await server.addTenant('elsewhere');
    const stranger = await visitor((await newKey('stranger', ['API_ADMIN'], elsewhere)).key);
    const client = await newClient({ name: 'Only here LLC' });
    const receiver = await startReceiver();
    const subscription = await subscribe(receiver);
    const { id: keyId } = await newKey('mine');
    const { headers } = await call('GET', '/gql/v1/client/unknown');
    const requestId = headers.get('x-request-id');
    expect((await stranger.get('/data/Client')).text).not.toContain('Only here');
    for (const path of [
      `/data/Client/${client.id}`,
      `/data/EventSubscription/${subscription.id}`,
      `/requests/${requestId}`,
    ])
      expect([path, (await stranger.get(path)).status]).toEqual([path, 404]);
    expect((await stranger.get('/keys')).text).not.toContain(keyId);
    expect(await stranger.submit('/keys', `/keys/${keyId}/revoke`)).toMatchObject({ status: 404 });
    const deactivation = `/data/EventSubscription/${subscription.id}/deactivateEventSubscription`;
    expect(await stranger.submit('', deactivation)).toMatchObject({ status: 404 });
    // It is no sandbox.
    expect((await stranger.get('')).text).not.toContain('/console/clock');
    expect(await stranger.get('/clock')).toMatchObject({ status: 404 });
  });

  test('find a request by its ID, with its problem and without what was sent', async () => {
    const rejected = await call('POST', '/gql/v1/clients/search', { where: { nme: { _eq: 'secret-value' } } });
    const id = rejected.headers.get('x-request-id');
    const one = await visitor();
    const { text } = await one.get(`/requests?id=${id}`);
    expect(text).toContain(`/console/requests/${id}`);
    expect(text).toMatch(/<th scope="row"><time class="when" datetime="20\d\d-/);
    const detail = (await one.get(`/requests/${id}`)).text;
    expect(detail).toMatch(/<dt>Time<\/dt><dd><time class="when" datetime="20\d\d-\d\d-\d\dT/);
    expect(detail).toContain('VALIDATION_ERROR');
    expect(detail).toContain('/where/nme');
    expect(detail).not.toContain('secret-value');
  });

  test('reject what is no address and no input', async () => {
    const one = await visitor();
    for (const path of [
      '/keys/%00',
      '/data/Client/%00',
      '/data/%',
      '/data/__proto__',
      '/data/Nothing',
      '/requests/x',
      '/a/b/c/d',
    ])
      expect([path, (await one.get(path)).status]).toEqual([path, 404]);
    expect(await one.submit('/keys', '/keys/%00/revoke')).toMatchObject({ status: 404 });
    for (const path of ['/data/Client/x', '/data/EventSubscription/x', '/data/Client?page=x'])
      expect([path, (await one.get(path)).status]).toEqual([path, path.includes('page') ? 200 : 400]);
    expect((await one.get('/data/File?filter=fileName&value=%00a')).text).toContain('role="alert"');
    expect(await one.submit('', '/data/EventSubscription/x/deliveries/y/retry')).toMatchObject({ status: 400 });
    expect(await one.submit('/clock', '/clock/advanceSandboxClock', { advanceBy: '\u0000' })).toMatchObject({
      status: 400,
    });
  });

  test('show every list of the contract', async () => {
    const one = await visitor();
    const nobody = '0199a1c2-0000-7000-8000-000000000000';
    for (const type of dataLists.keys()) {
      expect([type, (await one.get(`/data/${type}`)).status]).toEqual([type, 200]);
      for (const { list, field, conditionOn } of referencesTo(type)) {
        const where = encodeURIComponent(JSON.stringify(conditionOn(nobody)));
        expect([
          list.type,
          field,
          (await one.get(`/data/${list.type}?where=${where}`)).text.includes('No rows.'),
        ]).toEqual([list.type, field, true]);
      }
    }
    expect(dataLists.size).toBeGreaterThan(25);
    expect(referencesTo('Invoice').map(({ list, field }) => `${list.type}.${field}`)).toContain(
      'LedgerEntry.invoiceId',
    );
  });
});

test('rows of a custom type have their fields, references and events', async () => {
  const client = await newClient({ name: 'Referred LLC' });
  const fields = [
    { name: 'id', displayName: 'Number', type: 'TEXT' },
    { name: 'stage', displayName: 'Stage', type: 'TEXT' },
    { name: 'client', displayName: 'Client', type: 'REFERENCE', referencedEntityType: 'Client' },
  ];
  const defined = await call('POST', '/api/v1/records/custom', { name: 'Lead', displayName: 'Sales lead', fields });
  expect(defined.status).toBe(201);
  const record = { type: 'Lead', systemRef: 'L-1', attributes: { id: 'N-1', stage: 'new', client: client.id } };
  expect((await call('POST', '/api/v1/records', { records: [record] })).status).toBe(200);
  const one = await visitor();
  expect((await one.get('/data')).text).toContain('href="/console/data/Lead">Sales lead</a>');
  const list = (await one.get('/data/Lead')).text;
  const [, row = ''] = /href="\/console(\/data\/Lead\/[^"]+)">L-1</.exec(list) ?? [];
  const { text } = await one.get(row);
  expect(text).toContain(`href="/console/data/Client/${client.id}"`);
  expect(text).toContain('Create');
});

const browser = await startBrowser();
afterAll(() => browser.close());
const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const;

/** On a desktop each day: on its pages, the size of a phone is checked too. */
const shown = Object.entries(sizes).filter(([name]) => isNightly || name === 'desktop');

describe.each(shown)('in a browser, on a %s', (name, viewport) => {
  async function open(options: object = {}): Promise<Page> {
    const context = await browser.newContext({ viewport, ...options });
    const page = await context.newPage();
    page.on('console', (message) => {
      if (!message.text().startsWith('Failed to load resource: the server responded with'))
        throw new Error(message.text());
    });
    return page;
  }

  async function check(page: Page, what: string): Promise<void> {
    // A page that a click leads to begins without any element.
    await page.waitForLoadState();
    for (const size of isNightly ? [viewport] : [sizes.phone, sizes.desktop]) {
      await page.setViewportSize(size);
      if (folder !== undefined) await page.screenshot({ path: `${folder}/${size.width}-${what}.png`, fullPage: true });
      const root = 'document.documentElement';
      expect(await page.evaluate(`${root}.scrollWidth <= ${root}.clientWidth`), what).toBe(true);
      // One call for all of them: a page has many.
      const heights = await page.evaluate<number[]>(`[...document.querySelectorAll('button, .button')]
        .filter((one) => one.checkVisibility({ visibilityProperty: true }))
        .map((one) => one.getBoundingClientRect().height)`);
      expect(Math.min(...heights, 44), what).toBeGreaterThanOrEqual(44);
    }
    expect(await violationsIn(page), what).toEqual([]);
  }

  test('an administrator follows an invoice, replays a delivery, advances the clock, and signs out', async () => {
    const client = await newClient({ name: `Harbor & Pine on a ${name}` });
    const invoiceId = await invoiceOf(client.id, '1250.00');
    const receiver = await startReceiver();
    receiver.respond = (_arrival, response) => void response.writeHead(500).end('No room');
    const subscription = await subscribe(receiver, { entityType: 'Client' });
    await newClient({ name: 'Fails to arrive' });
    await expect.poll(async () => (await deliveries(subscription.id)).length).toBeGreaterThan(0);
    await call('GET', '/gql/v1/client/unknown');

    const page = await open();
    await page.goto(`${address}/console`);
    await check(page, 'sign-in');
    await page.getByLabel('API key').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await check(page, 'sign-in-failed');
    await page.getByLabel('API key').fill((await newKey('ops')).key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await check(page, 'overview');

    await page.getByRole('searchbox').fill(`pine on a ${name}`);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('region', { name: 'Clients' }).waitFor();
    await check(page, 'search');

    const menu = page.getByRole('navigation');
    await menu.getByRole('link', { name: 'Data' }).click();
    await check(page, 'data');
    await page.getByRole('link', { name: 'Invoices', exact: true }).click();
    await page.getByLabel('Show rows where').selectOption({ label: 'Client' });
    await page.getByLabel('With').fill('harbor & pine ON A');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('table').waitFor();
    await check(page, 'list');
    await page.locator(`a[href="/console/data/Invoice/${invoiceId}"]`).click();
    await page.getByRole('heading', { name: 'Ledger entries' }).waitFor();
    expect(await page.getByRole('region', { name: 'Ledger entries' }).textContent()).toContain('Receivable');
    await page.locator('summary').filter({ hasText: 'Events' }).click();
    expect(await page.getByRole('region', { name: 'Events' }).textContent()).toContain('Create');
    await check(page, 'row');
    await page.getByText('Write off', { exact: true }).click();
    const form = page.locator('form', { has: page.locator('#WRITTEN_OFF-writeOffReason') });
    await form.getByLabel('Write off reason').fill('Not collectable');
    await form.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('button', { name: 'Write off now' }).waitFor();
    await check(page, 'rehearsal');
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.locator(`a[href="/console/data/Client/${client.id}"]`).first().click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(`Harbor & Pine on a ${name}`);
    await page.goto(`${address}/console/data/Invoice?filter=total&op=least&value=much`);
    expect(await page.getByRole('alert').textContent()).toMatch(/\w{5}/);
    await check(page, 'list-rejected');

    await menu.getByRole('link', { name: 'Subscriptions' }).click();
    await page.locator(`a[href="/console/data/EventSubscription/${subscription.id}"]`).waitFor();
    await check(page, 'subscriptions');
    await page.locator(`a[href="/console/data/EventSubscription/${subscription.id}"]`).click();
    await check(page, 'subscription');
    await page.getByRole('link', { name: 'Create' }).first().click();
    await page.getByRole('heading', { name: 'Sent' }).waitFor();
    expect(await page.getByRole('main').textContent()).toContain('"name": "Fails to arrive"');
    expect(await page.getByRole('region', { name: 'Attempts' }).textContent()).toContain('No room');
    await check(page, 'sent-event');
    receiver.respond = () => undefined;
    await page.getByRole('button', { name: 'Deliver again' }).click();
    await page.getByText('Done.').waitFor();
    await expect
      .poll(async () => (await deliveries(subscription.id)).map(({ outcome }) => outcome))
      .toContain('SUCCESS');
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('button', { name: 'Deactivate now' }).click();
    await page.getByRole('button', { name: 'Reactivate' }).waitFor();
    expect(await audit('deactivateEventSubscription')).toContainEqual(
      expect.objectContaining({ actor: 'ops', entityId: subscription.id }),
    );

    await menu.getByRole('link', { name: 'Requests' }).click();
    await check(page, 'requests');
    await page.getByRole('link', { name: 'getClient' }).first().click();
    await page.getByRole('heading', { name: 'Problem' }).waitFor();
    await check(page, 'request');
    for (const part of ['Secret of deliveries', 'API keys', 'Settings', 'Clock']) {
      await menu.getByRole('link', { name: part }).click();
      await check(page, part.toLowerCase().replace(' ', '-'));
    }
    const clock = await call<{ offsetSeconds: number }>('GET', '/api/v1/sandbox/clock');
    await page.locator('summary').filter({ hasText: 'Advance the clock' }).click();
    await page.getByLabel('Advance by').fill('P2D');
    await page.getByRole('button', { name: 'Advance the clock' }).click();
    await page.getByRole('heading', { name: 'Done' }).waitFor();
    expect((await call('GET', '/api/v1/sandbox/clock')).body).toMatchObject({
      offsetSeconds: clock.body.offsetSeconds + 2 * 86_400,
    });
    await menu.getByRole('link', { name: 'Clock' }).click();
    await page.locator('summary').filter({ hasText: 'Advance the clock' }).click();
    await page.getByLabel('Advance by').fill('soon');
    await page.getByRole('button', { name: 'Advance the clock' }).click();
    await page.getByRole('alert').waitFor();
    await check(page, 'clock-rejected');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await page.context().close();
  });

  // The colors do not depend on the size.
  if (name === 'desktop')
    nightlyTest?.('has no accessibility violations in dark colors', async () => {
      const page = await open({ colorScheme: 'dark' });
      await page.goto(`${address}/console`);
      await page.getByLabel('API key').fill((await newKey('ops')).key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      for (const path of ['/data/EventSubscription', '/requests', '/keys', '/data/Client']) {
        await page.goto(`${address}/console${path}`);
        await check(page, `dark${path.replaceAll('/', '-')}`);
      }
      await page.context().close();
    });
});
