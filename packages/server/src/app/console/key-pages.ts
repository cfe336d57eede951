import { hasRole } from '@financial-automation/spec/roles';
import { createKey } from '../../admission/create-key.ts';
import { schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { listKeys, revokeKey } from '../../platform/auth/api-key-store.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import { faultOf } from '../../wire/body.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { badge, none, when } from './formats.ts';
import { alert, type ConsolePage, keyField, table } from './layout.ts';
import type { ConsoleVisit } from './visit.ts';
import { sentence } from './words.ts';

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
  const { frame, tenant, service, query } = visit;
  const keys = await service.store.read(tenant.id, (session) => listKeys(session, tenant.id));
  const isAll = query.get('ended') === 'on';
  const shown = isAll ? keys : keys.filter((key) => stateOf(key) === 'Active');
  const rows = shown.map((key) => [
    key.user,
    badge(stateOf(key), stateOf(key) === 'Active' ? 'good' : ''),
    stateOf(key) === 'Active'
      ? html`<details><summary>Revoke</summary><form method="post" action="${frame.base}/keys/${key.id}/revoke">${keyField(frame)}<button class="danger">Revoke this key for good</button></form></details>`
      : none(),
    html`<ul class="plain">${permissions.map(({ codes, text }) => {
      const held = codes.filter((code) => key.roles.includes(code));
      return held.length > 0 && html`<li>${text} <code>${held.join(', ')}</code></li>`;
    })}</ul>`,
    key.description ?? none(),
    when(frame, key.lastUsedAt),
    when(frame, key.expiresAt),
    html`<code>${key.id}</code>`,
  ]);
  const heads = ['API user', 'State', 'Change', 'Roles', 'Description', 'Last used', 'Expires', 'Key ID'];
  return {
    title: 'API keys',
    lead: 'The text of a key is shown once, when it is created, and not stored. The tokens of a revoked key end within seconds.',
    body: html`<section class="card">${table('API keys', heads, rows)}${!isAll && keys.length > shown.length && html`<p><a href="${frame.base}/keys?ended=on">Show revoked and expired ones (${keys.length - shown.length})</a></p>`}</section>${creationForm(visit)}`,
  };
}

function creationForm({ frame, caller }: ConsoleVisit): HtmlContent {
  const field = (name: string, label: string, hint: string, attributes: HtmlContent = '') =>
    html`<div><label for="${name}">${label} <span class="hint">${hint}</span></label><input id="${name}" name="${name}" autocomplete="off" maxlength="${maxTextLength}"${attributes}></div>`;
  const choices = permissions.map(({ codes, text }) => {
    const own = codes.filter((role) => hasRole(caller.roles, [role]));
    return (
      own.length > 0 &&
      html`<fieldset><legend>${text}</legend>${own.map((role) => html`<label class="choice"><input type="checkbox" name="role" value="${role}"><code>${role}</code></label>`)}</fieldset>`
    );
  });
  return html`<form class="card" method="post" action="${frame.base}/keys">${keyField(frame)}<h2>Create a key</h2><div class="form">
${field('user', 'API user', 'a program or a person; one that exists gets these roles', html` required`)}
${field('description', 'Description', 'what the key is for')}
${field('days', 'Valid for days', `at most ${maxDays}`, html` value="365" inputmode="numeric" required`)}
${field('staff', 'Staff number', 'if the API user is a staff member')}</div>
<h3>What it may do</h3><div class="form">${choices}</div><div class="row"><button>Create the key</button></div></form>`;
}

/** Creates a key with roles of which the caller has each, and shows it once. @throws Rejection `VALIDATION_ERROR`, `FORBIDDEN` */
export async function createdKeyPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { frame, fields, service, tenant, caller, exchange } = visit;
  const [user, description, staff] = ['user', 'description', 'staff'].map((name) => entered(fields, name));
  const days = Number(fields.get('days'));
  const chosen = fields.getAll('role');
  if (user === undefined) throw new Rejection('VALIDATION_ERROR', 'Enter the name of the API user.');
  if (chosen.length === 0) throw new Rejection('VALIDATION_ERROR', 'Choose at least one role.');
  if (!Number.isInteger(days) || days < 1 || days > maxDays)
    throw new Rejection('VALIDATION_ERROR', `A key is valid for 1 to ${maxDays} days.`);
  const foreign = chosen.find((role) => !roles.includes(role) || !hasRole(caller.roles, [role]));
  if (foreign !== undefined)
    throw new Rejection('FORBIDDEN', `You cannot give the role ${foreign}: you do not have it.`);
  const origin = { apiUserId: caller.apiUserId, actor: caller.apiUserName, requestId: exchange.id };
  const { key, expiresAt } = await createKey(
    service,
    tenant,
    { user, roles: chosen, staff, days, description },
    origin,
  );
  return {
    title: `Key of ${user}`,
    lead: html`<a href="${frame.base}/keys">All keys</a>`,
    notice: alert(
      'good',
      html`The key is created, and valid until ${when(frame, expiresAt)}. Copy it now: it is not shown again.`,
    ),
    body: html`<section class="card"><h2>API key</h2><pre id="key">${key}</pre></section>`,
  };
}

function entered(fields: URLSearchParams, name: string): string | undefined {
  const text = fields.get(name)?.trim() ?? '';
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
