import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { startBrowser } from '../../../../../scripts/test/browser.ts';
import { type Accounts, client, startIdentityProvider } from '../../../test/identity-provider.ts';
import { testService } from '../../../test/service.ts';
import { createApiKey } from '../../operator/api-keys.ts';

const provider = await startIdentityProvider();
const { service, store, address, tenant, addTenant } = await testService({
  config: {
    identityProvider: {
      issuer: provider.issuer,
      clientId: client.id,
      clientSecret: client.secret,
      scope: 'openid profile email',
      tenantClaim: 'tenant',
      rolesClaim: 'roles',
    },
  },
});
Object.assign(service.config, { publicUrl: address });
const other = await addTenant('other');
const accounts: Accounts = {
  anna: { name: 'Anna Smith', email: 'anna@firm.example', tenant: 'firm', roles: ['API_ADMIN', 'staff of floor 2'] },
  namesake: { name: 'Anna Smith', email: 'smith@firm.example', tenant: ['firm'], roles: 'API_ADMIN' },
  posing: { name: 'Anna Smith', email: 'anna@firm.example', email_verified: false, tenant: 'firm', roles: 'API_ADMIN' },
  both: { name: '<b>Bo</b>\u0000', email: 'bo@firm.example', tenant: ['firm', 'other'], roles: ['API_ADMIN'] },
  reader: { name: 'Rea Der', tenant: 'firm', roles: ['CLNT_R'] },
  group: { name: 'Gro Up', tenant: 'firm', roles: ['administrators'] },
  stranger: { name: 'Stran Ger', tenant: 'nowhere', roles: ['API_ADMIN'] },
  homeless: { name: 'Home Less', tenant: { firm: true }, roles: ['API_ADMIN'] },
  taken: { email: 'payroll program', tenant: 'firm', roles: ['API_ADMIN'] },
};

/** A browser that follows redirects by hand. */
class Person {
  readonly #cookies = new Map<string, Map<string, string>>();

  async send(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const own = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, own);
    const Cookie = [...own].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { Cookie, ...init.headers } });
    for (const [, name = '', value = ''] of response.headers
      .getSetCookie()
      .flatMap((text) => [/^([^=]+)=([^;]*)/.exec(text) ?? []]))
      own.set(name, value);
    return response;
  }

  /** @returns the address to which the provider sends the browser afterwards */
  async signInAt(account: string, start = '/console/sign-in/provider'): Promise<string> {
    let url = `${address}${start}`;
    for (let step = 0; step < 10; step++) {
      const isLogin = url.includes('/login/');
      const form = { method: 'POST', body: new URLSearchParams({ account }) };
      const response = await this.send(url, isLogin ? form : {});
      url = new URL(response.headers.get('location') ?? '', url).href;
      if (url.startsWith(`${address}/console/sign-in/return`)) return url;
    }
    throw new Error(`The provider did not send the browser back: ${url}`);
  }

  async signIn(account: string, start?: string): Promise<Response> {
    return this.send(await this.signInAt(account, start));
  }

  async console(path = ''): Promise<{ status: number; text: string }> {
    const response = await this.send(`${address}/console${path}`);
    return { status: response.status, text: await response.text() };
  }
}

test('sign-in says that the provider cannot be reached, and works once it can be', async () => {
  const person = new Person();
  const response = await person.send(`${address}/console/sign-in/provider`);
  expect(response.status).toBe(503);
  expect(await response.text()).toContain('cannot be reached');
  provider.open(`${address}/console/sign-in/return`, accounts);
  expect((await person.console()).text).toContain(`Sign in with your account at ${new URL(provider.issuer).host}`);
  expect((await person.signIn('anna')).status).toBe(200);
});

test('a person is one API user under any name, with the roles of the claims, whom the audit log names', async () => {
  const anna = new Person();
  const response = await anna.signIn('anna');
  expect(response.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^console_session=[\w.-]+; Path=\/console; Max-Age=3600; HttpOnly; SameSite=Strict$/),
  ]);
  expect(response.headers.get('refresh')).toBe('0; url=/console');
  const { text } = await anna.console('/data/Org');
  expect(text).toContain('signed in as Anna Smith (anna@firm.example)');
  const [, id = ''] = /\/console\/data\/Org\/([\da-f-]{36})"/.exec(text) ?? [];
  const page = (await anna.console(`/data/Org/${id}/edit`)).text;
  const fieldValue = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';
  const fields = {
    formKey: fieldValue('formKey'),
    _version: fieldValue('_version'),
    name: 'Smith & Co',
    _confirmed: 'yes',
  };
  const form = { method: 'POST', body: new URLSearchParams(fields) };
  expect((await anna.send(`${address}/console/data/Org/${id}/edit`, form)).status).toBe(303);
  const users = () =>
    store.read(tenant.id, (session) =>
      session.all<{ id: string; name: string; roles: string[] }>(sql`
        select id, name, roles from api_user where tenant_id = ${tenant.id} and identity = ${`${provider.issuer} anna`}`),
    );
  const [user] = await users();
  expect(user).toMatchObject({ name: 'Anna Smith (anna@firm.example)', roles: ['API_ADMIN'] });
  const rows = await store.read(tenant.id, (session) =>
    session.all<{ actor: string; apiUserId: string }>(sql`
      select actor, api_user_id as "apiUserId" from audit_log where tenant_id = ${tenant.id} and entity_type = 'Org' and entity_id = ${id} and api_user_id = ${user?.id}`),
  );
  expect(rows).toEqual([{ actor: 'Anna Smith (anna@firm.example)', apiUserId: user?.id }]);
  // Married.
  accounts.anna = { ...accounts.anna, name: 'Anna Jones' };
  await anna.signIn('anna');
  expect(await users()).toEqual([{ id: user?.id, name: 'Anna Jones (anna@firm.example)', roles: ['API_ADMIN'] }]);
  const namesake = new Person();
  await namesake.signIn('namesake');
  expect((await namesake.console()).text).toContain('signed in as Anna Smith (smith@firm.example)');
});

test('a session ends by signing out, and when an administrator revokes its key', async () => {
  const [one, admin] = [new Person(), new Person()];
  await one.signIn('anna');
  await admin.signIn('namesake');
  const keys = (await admin.console('/keys')).text;
  const [, id = ''] = /Anna Jones \(anna@firm\.example\).*?\/console\/keys\/([\da-f-]{36})\/revoke/s.exec(keys) ?? [];
  const [, formKey = ''] = /name="formKey" value="([^"]+)"/.exec(keys) ?? [];
  const submit = (path: string) =>
    admin.send(`${address}/console${path}`, { method: 'POST', body: new URLSearchParams({ formKey }) });
  expect((await submit(`/keys/${id}/revoke`)).status).toBe(303);
  await expect.poll(async () => (await one.console()).status, { timeout: 20_000, interval: 500 }).toBe(401);
  const url = `${address}/console/sign-in/provider`;
  const isAsked = async () => {
    const start = await admin.send(url);
    return (await admin.send(start.headers.get('location') ?? '')).headers.get('location')?.includes('/login/');
  };
  expect(await isAsked()).toBe(false);
  const response = await submit('/sign-out');
  expect([response.status, (await admin.console()).status]).toEqual([200, 401]);
  const [, end = ''] = /^0; url=(.+)$/.exec(response.headers.get('refresh') ?? '') ?? [];
  expect(await response.text()).toContain(`href="${end.replaceAll('&', '&amp;')}"`);
  const question = await (await admin.send(end)).text();
  const [, action = ''] = /action="([^"]+)"/.exec(question) ?? [];
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(question) ?? [];
  const ended = await admin.send(action, { method: 'POST', body: new URLSearchParams({ xsrf, logout: 'yes' }) });
  expect(ended.headers.get('location')).toBe(`${address}/console`);
  expect(await isAsked()).toBe(true);
});

test.each([
  ['group', 'has no role'],
  ['stranger', 'belongs to no firm'],
  ['homeless', 'belongs to no firm'],
])('claims that allow nothing are rejected: %s', async (account, reason) => {
  const person = new Person();
  const response = await person.signIn(account);
  expect([response.status, response.headers.getSetCookie().join()]).toEqual([
    403,
    expect.not.stringContaining('session'),
  ]);
  expect(await response.text()).toContain(reason);
});

test('a person whose claims have few roles does with them what the API allows', async () => {
  const person = new Person();
  await person.signIn('reader');
  for (const [path, status] of [
    ['', 200],
    ['/data/Client', 200],
    ['/data/Invoice', 403],
    ['/keys', 403],
  ] as const)
    expect([path, (await person.console(path)).status]).toEqual([path, status]);
});

test('a person is not called by an email address that the provider has not verified', async () => {
  const posing = new Person();
  await posing.signIn('posing');
  expect((await posing.console()).text).toContain('signed in as Anna Smith (posing)');
});

test('a person does not become an API user of a program that has its name', async () => {
  const program = { tenant: tenant.name, user: 'payroll program', roles: ['CLNT_R'], days: 1, description: undefined };
  await createApiKey({ service }, program);
  expect((await new Person().signIn('taken')).status).toBe(409);
  const rows = await store.read(tenant.id, (session) =>
    session.all(sql`select roles, identity from api_user where tenant_id = ${tenant.id} and name = 'payroll program'`),
  );
  expect(rows).toEqual([{ roles: ['CLNT_R'], identity: null }]);
});

test('a person of several tenants chooses one of them, and no other', async () => {
  const person = new Person();
  const choice = await (await person.signIn('both')).text();
  const [, link = ''] = /href="([^"]+tenant=other)"/.exec(choice) ?? [];
  expect((await person.signIn('both', link)).status).toBe(200);
  const { text } = await person.console();
  expect(text).toContain(`<code>${other.name}</code>`);
  expect(text).toContain('signed in as bo@firm.example');
  const foreign = await new Person().signIn('anna', '/console/sign-in/provider?tenant=other');
  expect(foreign.status).toBe(403);
});

test('a response of the provider is accepted once, from the browser that asked for it, and unchanged', async () => {
  const person = new Person();
  const url = await person.signInAt('anna');
  expect((await new Person().send(url)).status).toBe(401);
  const changed = (name: string, value: string) => {
    const one = new URL(url);
    one.searchParams.set(name, value);
    return one.href;
  };
  for (const [name, value] of [
    ['state', 'x'],
    ['code', 'x'],
    ['iss', 'https://elsewhere.example'],
    ['error', 'access_denied'],
  ] as const)
    expect([name, (await person.send(changed(name, value))).status]).toEqual([name, 401]);
  const another = new Person();
  const stolen = new URL(await another.signInAt('anna'));
  const mixed = new URL(await person.signInAt('anna'));
  // The code of another sign-in: it has neither the nonce nor the code challenge of this one.
  mixed.searchParams.set('code', stolen.searchParams.get('code') ?? '');
  expect((await person.send(mixed.href)).status).toBe(401);
  const own = await person.signInAt('anna');
  expect((await person.send(own)).status).toBe(200);
  expect((await person.send(own)).status).toBe(401);
  expect((await person.send(`${address}/console/sign-in/return`)).status).toBe(401);
});

test('a browser that signs in again ends the session that it had', async () => {
  const person = new Person();
  const cookieOf = (response: Response) => response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const former = { Cookie: cookieOf(await person.signIn('anna')) };
  const read = () => fetch(`${address}/console`, { headers: former });
  expect((await read()).status).toBe(200);
  expect((await person.signIn('anna')).status).toBe(200);
  expect((await read()).status).toBe(401);
});

const browser = await startBrowser();
afterAll(() => browser.close());

test('a browser is signed in after the redirects between both sites', async () => {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(`${address}/console`);
  await page.getByRole('link', { name: 'Sign in with your account' }).click();
  await page.getByLabel('Account').fill('anna');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('signed in as Anna Jones').waitFor();
  expect(new URL(page.url()).pathname).toBe('/console');
});
