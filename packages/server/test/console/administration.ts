import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { settingSchemas, settingsOfOperator } from '../../src/admission/tenant-settings.ts';
import { schemaOf } from '../../src/contract/contract.ts';
import { isNightly } from '../nightly.ts';
import { startReceiver } from '../receiver.ts';
import type { WireResponse } from '../wire.ts';
import type { ConsoleFirm } from './firm.ts';

/** What administrators do for a firm. */
export function administrationTests({
  service,
  store,
  tenant,
  call,
  subscribe,
  newKey,
  visitor,
  audit,
}: ConsoleFirm): void {
  test('change settings of the firm, but for those of the operator and those that would close the console', async () => {
    const admin = await visitor();
    const { text } = await admin.get('/settings');
    expect([...text.matchAll(/action="\/console\/settings\/(\w+)"/g)].map(([, name]) => name)).toEqual(
      [...settingSchemas.keys()].filter((name) => !settingsOfOperator.has(name)),
    );
    const set = (name: string, value: string) => admin.submit('/settings', `/settings/${name}`, { [name]: value });
    expect(await set('selfApproval', 'on')).toMatchObject({ status: 303 });
    expect((await service.directory.tenant(tenant.name))?.settings.selfApproval).toBe(true);
    expect((await admin.get('/settings?done=yes')).text).toMatch(/Self approval<\/th><td[^>]*>on</);
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
    const rejected = await set('allowedClientIds', 'till');
    expect(rejected.status).toBe(403);
    expect(rejected.text).toMatch(
      /role="alert"[\s\S]*<details open>[^\n]*settings\/allowedClientIds"[^\n]*value="till"/,
    );
    expect(await set('allowedAddresses', '127.0.0.0/8, 203.0.113.7')).toMatchObject({ status: 303 });
    expect(await set('allowedAddresses', 'none')).toMatchObject({ status: 303 });
    expect(await set('selfApproval', 'off')).toMatchObject({ status: 303 });
  });

  test('create a key that is shown once, with roles that whoever creates it has', async () => {
    const admin = await visitor((await newKey('key admin', ['API_ADMIN'])).key);
    const fields = { apiUser: 'sync', validForDays: '30', role: 'CLNT_R', description: 'Nightly <sync>' };
    const create = (changed: object = {}) => admin.submit('/keys', '/keys', { ...fields, ...changed });
    expect((await admin.get('/keys')).text).not.toContain('value="PYMT_EVNT_ALL"');
    expect(await create({ role: 'PYMT_EVNT_ALL' })).toMatchObject({ status: 403 });
    for (const wrong of [
      { apiUser: ' ' },
      { validForDays: '0' },
      { validForDays: '1e9' },
      { role: '' },
      { apiUser: '\u0000' },
      { staffRef: 'nobody' },
    ])
      expect([wrong, (await create(wrong)).status]).toEqual([wrong, expect.toBeOneOf([400, 403])]);
    // What was entered is in the form again.
    const rejected = (await create({ validForDays: '0' })).text;
    for (const part of ['role="alert"', 'value="sync"', 'value="0"', 'value="CLNT_R" checked', 'Nightly &lt;sync&gt;'])
      expect(rejected).toContain(part);
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
    expect(await admin.submit(page, end, { _confirmed: 'yes' })).toMatchObject({ status: 303 });
    const lists = ['', '?inactive=on'].map((query) => admin.get(`/data/EventSubscription${query}`));
    expect((await Promise.all(lists)).map(({ text: list }) => list.includes(subscription.id))).toEqual([false, true]);
    const secretIn = (page: WireResponse) => /whsec_[\w+/=]+/.exec(page.text)?.[0];
    const secret = secretIn(await admin.get('/secret'));
    expect(secret).toBeDefined();
    const rotated = secretIn(await admin.submit('/secret', '/secret/rotateWebhookSecret', { overlapMinutes: '120' }));
    expect([rotated === secret, secretIn(await admin.get('/secret'))]).toEqual([false, rotated]);
  });

  test('create a subscription by the form of its own operation', async () => {
    const receiver = await startReceiver();
    const admin = await visitor();
    const page = '/data/EventSubscription/new';
    expect((await admin.get('/data/EventSubscription')).text).toContain(`href="/console${page}">New subscription`);
    expect((await admin.get(page)).text).toContain('<option>Draft invoice</option>');
    const fields = { deliveryUrl: receiver.url, entityType: 'draft invoice', operations: 'Create, update' };
    const create = (more: object = {}) => admin.submit(page, page, { ...fields, ...more });
    expect(await create({ deliveryUrl: 'nowhere' })).toMatchObject({ status: 400 });
    const rehearsal = await create();
    expect(rehearsal.text).toContain('Nothing has changed yet');
    const { headers } = await create({ _confirmed: 'yes' });
    const [, created = ''] = /\/console(.*)\?done/.exec(headers.location ?? '') ?? [];
    const { text } = await admin.get(created);
    expect(text).toContain('Create, Update');
    expect(text).toContain('<dt>Entity type</dt><dd>Draft invoice</dd>');
  });

  // Everybody may read reference data, so each role opens a few pages at least.
  const roles = isNightly ? (schemaOf('Role').enum ?? []).map(String) : ['STAFF_W', 'CUSTOM_TYPE_R', 'EVNT_SUB_R'];
  test.each(roles)('see no link to a page that %s does not open', async (role) => {
    const user = await visitor((await newKey(`only ${role}`, [role])).key);
    const shapes = new Set<string>();
    const closed: string[] = [];
    const waiting = [{ path: '', from: '' }];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { path, from } = next;
      const { status, text } = await user.get(path);
      if (status !== 200) closed.push(`${status} ${path} from ${from}`);
      for (const [, link = ''] of text.matchAll(/href="\/console([^"]*)"/g)) {
        const to = link.replaceAll('&amp;', '&');
        // One page of each kind: with any row, and with any values of the same parameters.
        const [route = '', query = ''] = to.split('?');
        const shape = `${route.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID')} ${[...new URLSearchParams(query).keys()]}`;
        if (shapes.has(shape) || /\.csv$/.test(route)) continue;
        shapes.add(shape);
        waiting.push({ path: to, from: path });
      }
    }
    expect(closed).toEqual([]);
    expect(shapes.size).toBeGreaterThan(10);
  });
}
