/** What administrators alone do and see, for which there are no operations: API keys, settings of the firm, and its requests. */
import { hasRole } from '@financial-automation/spec/roles';
import { checkAccess } from '../../admission/access.ts';
import { changeTenantSetting } from '../../admission/change-setting.ts';
import { createKey } from '../../admission/create-key.ts';
import { settingSchemas, settingsOfOperator } from '../../admission/tenant-settings.ts';
import { allOperations, schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { listKeys, revokeKey } from '../../platform/auth/api-key-store.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import type { RecentRequest } from '../../platform/process/recent-requests.ts';
import { faultOf } from '../../wire/body.ts';
import { html } from '../../wire/html.ts';
import { badge, count, none, when } from './formats.ts';
import { inputsFor, queryForm } from './forms.ts';
import { alert, type ConsolePage, card, keyField, pageLinks, table, urlWith } from './layout.ts';
import { fields } from './values.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldInWords, sentence, sentenceInWords } from './words.ts';

const maxDays = 3650;
const maxTextLength = 200;
const { enum: roles = [], description: described = '' } = schemaOf('Role');

/** What roles permit, and the roles of which each permits a part, from the table in their description. */
const permissions = [...described.matchAll(/^\| (`.+`) \| (.+) \|$/gm)].map(([, codes = '', text = '']) => ({
  codes: [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => code),
  text: sentence(text)
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part)),
}));

type ListedKey = Awaited<ReturnType<typeof listKeys>>[number];

function stateOf({ revokedAt, expiresAt }: ListedKey): 'Revoked' | 'Expired' | 'Active' {
  if (revokedAt !== null) return 'Revoked';
  return Date.parse(expiresAt) > databaseClock.now() ? 'Active' : 'Expired';
}

export async function keysPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { base, tenant, caller, service, query } = visit;
  const keys = await service.store.read(tenant.id, (session) => listKeys(session, tenant.id));
  const isAll = query.get('ended') === 'on';
  const shown = isAll ? keys : keys.filter((key) => stateOf(key) === 'Active');
  const rows = shown.map((key) => [
    key.user,
    badge(stateOf(key), stateOf(key) === 'Active' ? 'good' : ''),
    stateOf(key) === 'Active'
      ? html`<details><summary>Revoke</summary><form method="post" action="${base}/keys/${key.id}/revoke">${keyField(visit)}<button class="danger">Revoke this key for good</button></form></details>`
      : none(),
    html`<ul class="plain">${permissions.map(({ codes, text }) => {
      const held = codes.filter((code) => key.roles.includes(code));
      return held.length > 0 && html`<li>${text} <code>${held.join(', ')}</code></li>`;
    })}</ul>`,
    key.description ?? none(),
    when(tenant, key.lastUsedAt),
    when(tenant, key.expiresAt),
    html`<code>${key.id}</code>`,
  ]);
  const heads = ['API user', 'State', 'Change', 'Roles', 'Description', 'Last used', 'Expires', 'Key ID'];
  const chosen = new Set(visit.fields.getAll('role'));
  const choices = permissions.map(({ codes, text }) => {
    const own = codes.filter((role) => hasRole(caller.roles, [role]));
    const boxes = own.map(
      (role) =>
        html`<label class="choice"><input type="checkbox" name="role" value="${role}"${chosen.has(role) && html` checked`}><code>${role}</code></label>`,
    );
    return own.length > 0 && html`<fieldset><legend>${text}</legend>${boxes}</fieldset>`;
  });
  return {
    title: 'API keys',
    lead: 'The text of a key is shown once, when it is created, and not stored. The tokens of a revoked key end within seconds.',
    body: html`<section class="card">${table('API keys', heads, rows)}${!isAll && keys.length > shown.length && html`<p><a href="${base}/keys?ended=on">Show revoked and expired ones (${keys.length - shown.length})</a></p>`}</section>
<form class="card" method="post" action="${base}/keys">${keyField(visit)}<h2>Create a key</h2>${await inputsFor(visit, keyInputs, { validForDays: '365' })}
<h3>What it may do</h3><div class="form">${choices}</div><div class="row"><button>Create the key</button></div></form>`,
  };
}

const keyInputs = [
  {
    path: 'apiUser',
    schema: { description: 'A program or a person; one that exists gets these roles.' },
    isRequired: true,
  },
  { path: 'description', schema: { description: 'What the key is for, in a few words.' } },
  {
    path: 'validForDays',
    schema: { type: 'integer', description: `A number of at most ${maxDays} days.` },
    isRequired: true,
  },
  { path: 'staffRef', schema: { description: 'If the API user is a staff member.' } },
];

/** Creates a key with roles of which the caller has each, and shows it once. @throws Rejection `VALIDATION_ERROR`, `FORBIDDEN` */
export async function createdKeyPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { base, fields: entered, service, tenant, caller, exchange } = visit;
  const [user, description, staff] = ['apiUser', 'description', 'staffRef'].map((name) => textIn(entered, name));
  const days = Number(entered.get('validForDays'));
  const chosen = entered.getAll('role');
  if (user === undefined) throw new Rejection('VALIDATION_ERROR', 'Enter the name of the API user.');
  if (chosen.length === 0) throw new Rejection('VALIDATION_ERROR', 'Choose at least one role.');
  if (!Number.isInteger(days) || days < 1 || days > maxDays)
    throw new Rejection('VALIDATION_ERROR', `A key is valid for 1 to ${maxDays} days.`);
  const foreign = chosen.find((role) => !roles.includes(role) || !hasRole(caller.roles, [role]));
  if (foreign !== undefined)
    throw new Rejection('FORBIDDEN', `You cannot give the role ${foreign}: you do not have it.`);
  const origin = { apiUserId: caller.apiUserId, actor: caller.apiUserName, requestId: exchange.id };
  const newKey = { user, roles: chosen, staff, days, description };
  const { key, expiresAt } = await createKey(service, tenant, newKey, origin);
  const until = when(tenant, expiresAt);
  return {
    title: `Key of ${user}`,
    lead: html`<a href="${base}/keys">All keys</a>`,
    notice: alert('good', html`The key is created, and valid until ${until}. Copy it now: it is not shown again.`),
    body: card('API key', html`<pre id="key">${key}</pre>`),
  };
}

function textIn(entered: URLSearchParams, name: string): string | undefined {
  const text = entered.get(name)?.trim() ?? '';
  if (text.length > maxTextLength || faultOf(text) !== undefined)
    throw new Rejection('VALIDATION_ERROR', `Enter at most ${maxTextLength} plain characters.`);
  return text === '' ? undefined : text;
}

/** @throws Rejection `NOT_FOUND` */
export async function revoke({ service, tenant, caller, exchange }: ConsoleVisit, id: string): Promise<string> {
  const { apiUserId, apiUserName: actor } = caller;
  const origin = { tenantId: tenant.id, apiUserId, actor, requestId: exchange.id };
  const isRevoked = await service.store.write(tenant.id, (transaction) => revokeKey(transaction, origin, id));
  if (!isRevoked) throw new Rejection('NOT_FOUND', 'Your tenant has no active key with this ID.');
  return '/keys?done=yes';
}

export async function settingsPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { base, tenant, formPath } = visit;
  const { settings, currency, timeZone } = tenant;
  const values: Readonly<Record<string, unknown>> = { currency, timeZone, ...settings };
  const rows = [...settingSchemas].map(async ([setting, { type, enum: choices, description }]) => {
    const value = settingText(values[setting]);
    const schema = type === 'boolean' ? { enum: ['on', 'off'] } : { ...(choices && { enum: choices }) };
    const input = await inputsFor(visit, [{ path: setting, schema, isRequired: true }], { [setting]: value });
    const isSent = formPath === `/settings/${setting}`;
    const form = html`<details${isSent && html` open`}><summary>Change</summary><form method="post" action="${base}/settings/${setting}">${keyField(visit)}${input}<div class="row"><button>Save</button></div></form></details>`;
    const change = settingsOfOperator.has(setting) ? 'by the operator' : form;
    return [fieldInWords(setting), value, change, `${sentenceInWords(description)}.`];
  });
  return {
    title: 'Settings',
    lead: 'A change takes effect within seconds. Lists, series of numbers, accounts and templates of mails are among the data.',
    body: html`<section class="card">${table('Settings', ['Setting', 'Value', 'Change', 'What it is'], await Promise.all(rows))}</section>`,
  };
}

/** A value as it is entered. */
function settingText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  return String(value);
}

/** Changes a setting, unless the console could no longer be reached afterwards. @throws Rejection */
export async function changeSetting(visit: ConsoleVisit, setting: string): Promise<string> {
  const { service, exchange, tenant, caller, fields: entered } = visit;
  if (!settingSchemas.has(setting) || settingsOfOperator.has(setting))
    throw new Rejection('NOT_FOUND', 'There is no such setting that you can change.');
  const value = entered.get(setting)?.trim() ?? '';
  const store = (await service.directory.storeOf(tenant.name)) ?? service.store;
  const by = { apiUserId: caller.apiUserId, actor: caller.apiUserName, requestId: exchange.id };
  await changeTenantSetting(store, { tenant: tenant.name, setting, value, by }, (settings) =>
    checkAccess({ ...tenant, settings }, exchange),
  );
  service.directory.forget(tenant.name);
  return '/settings?done=yes';
}

const pageSize = 50;
const maxOffset = 10_000;
const requestInputs = [
  { path: 'requestId', schema: { description: 'That of the header X-Request-Id of the response.' } },
  { path: 'onlyFailed', schema: { type: 'boolean' }, isRequired: true },
];

const summaries: ReadonlyMap<string, string> = new Map(allOperations.map(({ id, summary }) => [id, summary]));

function summaryOf({ operation }: RecentRequest): string {
  return summaries.get(operation) ?? operation;
}

export async function requestsPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { base, query, service, tenant } = visit;
  const id = query.get('requestId')?.trim() || undefined;
  const onlyFailed = query.get('onlyFailed') === 'yes';
  const offset = Math.min(Math.max(0, Math.trunc(Number(query.get('first'))) || 0), maxOffset);
  const found = await service.recentRequests.of(tenant.id, { id, onlyFailed, offset, limit: pageSize + 1 });
  const rows = found
    .slice(0, pageSize)
    .map((request) => [
      when(tenant, request.receivedAt),
      status(request),
      html`<a href="${base}/requests/${request.id}">${summaryOf(request)}</a>`,
      request.problem?.code ?? none(),
      request.user,
      `${count(request.milliseconds)} ms`,
    ]);
  const heads = ['Time', 'Status', 'Operation', 'Problem', 'API user', { text: 'Took', isNumber: true }];
  const shown = { requestId: id, onlyFailed };
  const filter = { requestId: id, onlyFailed: onlyFailed ? 'yes' : 'no' };
  const older = urlWith(`${base}/requests`, { ...filter, first: offset + pageSize });
  return {
    title: 'Requests',
    lead: 'Requests of your firm in the last day, and a sample of them while there are many per second. What was sent is not kept.',
    body: html`${await queryForm(visit, '/requests', shown, requestInputs, 'Filter')}
<section class="card">${rows.length === 0 ? html`<p>No requests.</p>` : table('Requests', heads, rows)}${pageLinks(undefined, found.length > pageSize ? older : undefined)}</section>`,
  };
}

function status({ status: code }: RecentRequest) {
  return badge(String(code), code >= 400 ? 'bad' : 'good');
}

export async function requestPage(visit: ConsoleVisit, id: string): Promise<ConsolePage> {
  const { base, service, tenant } = visit;
  const [request] = await service.recentRequests.of(tenant.id, { id, limit: 1 });
  if (request === undefined)
    throw new Rejection('NOT_FOUND', 'This request is not among those of the last day. The log has all of them.');
  const { problem, receivedAt, method, path, user, milliseconds } = request;
  const errors = problem?.errors.map(({ pointer, detail }) => [html`<code>${pointer}</code>`, detail]) ?? [];
  const view = { visit, names: new Map<string, string>() };
  const about = {
    requestId: request.id,
    time: receivedAt,
    methodAndPath: `${method} ${path}`,
    apiUser: user,
    durationMs: milliseconds,
  };
  return {
    title: summaryOf(request),
    lead: html`<a href="${base}/requests">All requests</a>`,
    body: html`${card(['Request ', status(request)], fields(view, about, new Map([['requestId', { format: 'uuid' }]])))}
${problem !== null && card('Problem', [html`<p><strong>${problem.code}</strong>: ${problem.detail}</p>`, errors.length > 0 && table('Errors', ['Pointer', 'Detail'], errors)])}`,
  };
}
