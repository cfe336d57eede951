import { expect, test } from 'vitest';
import { startReceiver } from '../receiver.ts';
import type { ConsoleFirm } from './firm.ts';
import { hiddenIn } from './visitor.ts';

/** What nobody may do or see through a page. */
export function safetyTests({ call, subscribe, newClient, newKey, visitor, addTenant }: ConsoleFirm): void {
  test('change nothing without their key, or from another site', async () => {
    const [one, other] = [await visitor(), await visitor()];
    const { text } = await one.get('/clock');
    const formKey = hiddenIn(text, 'formKey');
    const fields = { advanceBy: 'P1D', formKey };
    expect(await one.post('/clock/advanceSandboxClock', { advanceBy: 'P1D' })).toMatchObject({ status: 403 });
    // The form key of another session.
    const foreign = await other.post('/clock/advanceSandboxClock', fields);
    expect(foreign).toMatchObject({ status: 403 });
    expect(foreign.text).toContain('Nothing was changed: the form is not of your present session.');
    expect(foreign.text).toContain('href="/console">Go to the console</a>');
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

  test('of another tenant show and change nothing of this one', async () => {
    const elsewhere = await addTenant('elsewhere');
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
    expect(await one.submit('', '/data/Client/new', { name: 'x'.repeat(100_000) })).toMatchObject({ status: 409 });
    expect(await one.submit('', '/data/Client/new', { name: 'x'.repeat(600_000) })).toMatchObject({ status: 413 });
    for (const onboardedAt of ['2026-13-99T99:99', 'T1'])
      expect(await one.submit('', '/data/Client/new', { name: 'Late', onboardedAt })).toMatchObject({ status: 409 });
    expect(await one.submit('', '/data/Invoice/selected/VOIDED', { row: '% 1 % %' })).toMatchObject({ status: 409 });
    expect(await one.submit('', '/data/EventSubscription/x/deliveries/y/retry')).toMatchObject({ status: 400 });
    expect(await one.submit('/clock', '/clock/advanceSandboxClock', { advanceBy: '\u0000' })).toMatchObject({
      status: 400,
    });
  });
}
