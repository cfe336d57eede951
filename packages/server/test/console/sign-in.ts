import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { WireResponse } from '../wire.ts';
import type { ConsoleFirm } from './firm.ts';
import { hiddenIn } from './visitor.ts';

/** Who gets in, and for how long. */
export function signInTests({ call, invoiceOf, newClient, newKey, visitor, stranger, audit }: ConsoleFirm): void {
  test('sets a cookie that only the console gets, and no script or other site can use', async () => {
    const response = await stranger().signIn((await newKey('ops')).key);
    expect(response).toMatchObject({ status: 303, headers: { location: '/console' } });
    expect(response.headers['set-cookie']?.[0]).toMatch(
      /^console_session=[\w.-]+; Path=\/console; Max-Age=3600; HttpOnly; SameSite=Strict$/,
    );
  });

  test('is required for every page, and rejects a key that is wrong', async () => {
    for (const path of ['', '/requests', '/data/Client', '/nothing', '/keys'])
      expect([path, (await stranger().get(path)).status]).toEqual([path, 401]);
    expect(await stranger().post('/clock/advanceSandboxClock', { advanceBy: 'P1D' })).toMatchObject({ status: 303 });
    const wrong = await stranger().signIn('not.a.key');
    expect(wrong.status).toBeGreaterThanOrEqual(400);
    expect(wrong.text).toContain('This is not a valid API key.');
  });

  test('leads to the page that was opened before, and to no other site', async () => {
    const { key: apiKey } = await newKey('ops');
    const someone = stranger();
    const page = await someone.get('/data/Client');
    const [, action = ''] = /action="\/console(\/sign-in[^"]*)"/.exec(page.text) ?? [];
    const headers = { Cookie: page.headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
    const fields = { apiKey, formKey: hiddenIn(page.text, 'formKey') };
    for (const [form, location] of [
      [action, '/console/data/Client'],
      ['/sign-in?page=%2F%2Fother.example', '/console'],
    ] as const)
      expect(await someone.post(form, fields, headers)).toMatchObject({ status: 303, headers: { location } });
  });

  test('shows a form again that was sent after the session had ended, and sends nothing by itself', async () => {
    const { id: clientId } = await newClient({ name: 'Late & Co' });
    const invoice = `/data/Invoice/${await invoiceOf(clientId, '70.00')}`;
    const { key: apiKey } = await newKey('ops');
    for (const [form, page, fields, shown] of [
      ['/data/Client/new', '/data/Client/new', { name: 'Typed & Co' }, /name="name"[^>]* value="Typed &amp; Co"/],
      [`${invoice}/VOIDED`, invoice, { voidReason: 'Typed' }, /<details open><summary>Void<[\s\S]{0,900}Typed/],
      [`${invoice}/edit`, `${invoice}/edit`, { memo: 'Typed' }, /name="memo"[\s\S]{0,200}Typed/],
    ] as const) {
      const someone = stranger();
      const sent = await someone.post(form, { ...fields, _confirmed: 'yes', formKey: 'of the former session' });
      expect(sent).toMatchObject({ status: 303, headers: { location: `/console${page}` } });
      const [cookie = ''] = sent.headers['set-cookie'] ?? [];
      expect(cookie).toMatch(/^console_entered=[\w-]+; Path=\/console; Max-Age=600; HttpOnly; SameSite=Strict$/);
      const entered = cookie.split(';')[0] ?? '';
      someone.cookie = entered;
      expect(await someone.get(page)).toMatchObject({
        status: 401,
        text: expect.stringContaining('You are signed out'),
      });
      await someone.signIn(apiKey);
      someone.cookie += `; ${entered}`;
      expect(await someone.get('')).toMatchObject({ status: 303, headers: { location: `/console${page}` } });
      const { status, text, headers } = await someone.get(page);
      expect([status, text]).toEqual([200, expect.stringMatching(shown)]);
      expect(text).toContain('Your session had ended, so nothing was changed.');
      expect(headers['set-cookie']?.[0]).toMatch(/^console_entered=; .*Max-Age=0;/);
    }
    const where = { name: { _eq: 'Typed & Co' } };
    expect((await call('POST', '/gql/v1/clients/search', { where })).body).toMatchObject({ data: [] });
    expect((await call('GET', `/gql/v1/invoice/${invoice.split('/').at(-1)}`)).body).toMatchObject({ version: 1 });
    // What is too long for a cookie, and signing out, lead to signing in.
    const lost = await stranger().post('/data/Client/new', { name: randomBytes(3_000).toString('hex') });
    expect([lost.status, lost.headers['set-cookie']]).toEqual([303, undefined]);
    // So does a form with a file, which no cookie can have.
    const file = await stranger().upload('/data/File/new', {}, new File(['%PDF'], 'a.pdf'));
    expect([file.headers.location, file.headers['set-cookie']]).toEqual(['/console/data/File/new', undefined]);
    const coded = '/data/%0D%0A%E2%82%AC';
    expect((await stranger().post(`${coded}/new`, {})).headers.location).toBe(`/console${coded}/new`);
    const out = await stranger().post('/sign-out', { a: 'b' });
    expect([out.headers.location, out.headers['set-cookie']]).toEqual(['/console', undefined]);
  });

  test('ends when the key is revoked or the session is changed', async () => {
    const { id, key } = await newKey('leaver');
    const leaver = await visitor(key);
    expect(await leaver.get('')).toMatchObject({ status: 200 });
    const changed = stranger();
    changed.cookie = leaver.cookie.replace(/.{9}$/, 'Ab0_-zZ9q');
    expect(await changed.get('')).toMatchObject({ status: 401 });
    const admin = await visitor();
    expect(await admin.submit('/keys', `/keys/${id}/revoke`)).toMatchObject({
      status: 303,
      headers: { location: '/console/keys?done=yes' },
    });
    // A page each time, for some seconds.
    await expect.poll(async () => (await leaver.get('')).status, { timeout: 20_000, interval: 500 }).toBe(401);
    const rows = await audit('api-key revoke');
    expect(rows).toEqual([{ actor: 'ops', entityId: id, requestId: expect.any(String) }]);
    expect(await admin.submit('/keys', `/keys/${id}/revoke`)).toMatchObject({ status: 404 });
  });

  test('opens what the roles of the API user allow, and no longer what it has lost', async () => {
    const former = await visitor((await newKey('former administrator')).key);
    expect(await former.get('/keys')).toMatchObject({ status: 200 });
    await newKey('former administrator', ['CLNT_R', 'FILE_R']);
    await expect.poll(async () => (await former.get('/keys')).status, { timeout: 20_000, interval: 500 }).toBe(403);
    const closed = [
      '/keys',
      '/settings',
      '/requests',
      '/requests/x',
      '/secret',
      '/data/EventSubscription',
      '/data/Invoice',
    ];
    for (const path of closed) expect([path, (await former.get(path)).status]).toEqual([path, 403]);
    for (const path of ['', '/data', '/close', '/search?q=harbor', '/data/Client', '/data/File'])
      expect([path, (await former.get(path)).status]).toEqual([path, 200]);
    const close = (await former.get('/close')).text;
    expect(close).toContain('Closing it requires the role BOOKS_CLOSE.');
    expect(close).not.toContain('<button>Close through');
    const { text } = await former.get('/data');
    const menu = [...text.matchAll(/<li><a href="\/console([^"]*)"/g)].map(([, path = '']) => path);
    expect(menu).toEqual(expect.arrayContaining(['', '/data', '/close', '/data/Client']));
    expect(menu).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/keys|settings|requests|secret|Invoice|Subscription/)]),
    );
    const forms = [
      ['/keys', { apiUser: 'own', validForDays: '1', role: 'CLNT_R' }],
      [`/keys/${(await newKey('victim')).id}/revoke`, {}],
      ['/settings/selfApproval', { selfApproval: 'on' }],
      ['/secret/rotateWebhookSecret', { overlapMinutes: '1' }],
      ['/data/Client/new', { name: 'Unwritten Ltd', _confirmed: 'yes' }],
    ] as const;
    for (const [path, fields] of forms)
      expect([path, (await former.submit('', path, fields)).status]).toEqual([path, 403]);
  });

  test('ends by signing out', async () => {
    const [one, other] = [await visitor(), await visitor()];
    const response = await one.submit('', '/sign-out');
    expect(response.headers['set-cookie']?.[0]).toMatch(/^console_session=; .*Max-Age=0;/);
    // Also for whoever has a copy of the cookie, and only this session.
    expect([(await one.get('')).status, (await other.get('')).status]).toEqual([401, 200]);
  });

  test('ends the session that the browser had before', async () => {
    const { key } = await newKey('ops');
    const one = await visitor(key);
    const former = stranger();
    former.cookie = one.cookie;
    const page = await stranger().get('');
    const form = page.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const fields = { apiKey: key, formKey: hiddenIn(page.text, 'formKey') };
    expect(await one.post('/sign-in', fields, { Cookie: `${form}; ${former.cookie}` })).toMatchObject({ status: 303 });
    expect(await former.get('')).toMatchObject({ status: 401 });
  });

  test('requires the form of this browser, so that no other site signs somebody in', async () => {
    const { key: apiKey } = await newKey('ops');
    const page = await stranger().get('');
    const formKey = hiddenIn(page.text, 'formKey');
    const other = await stranger().get('');
    const cookieOf = ({ headers }: WireResponse) => headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const attempts = [
      [{ apiKey }, { Cookie: cookieOf(page) }],
      [{ apiKey, formKey }, {}],
      [{ apiKey, formKey }, { Cookie: cookieOf(other) }],
    ] as const;
    for (const [fields, headers] of attempts)
      expect(await stranger().post('/sign-in', fields, headers)).toMatchObject({ status: 403 });
    expect(await stranger().post('/sign-in', { apiKey, formKey }, { Cookie: cookieOf(page) })).toMatchObject({
      status: 303,
    });
  });
}
