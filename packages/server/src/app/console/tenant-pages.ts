import { sql } from 'kysely';
import { checkAccess } from '../../admission/access.ts';
import { changeTenantSetting } from '../../admission/change-setting.ts';
import { parseSetting, settingSchemas, settingsOfOperator } from '../../admission/tenant-settings.ts';
import { allOperations } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { listKeys } from '../../platform/auth/api-key-store.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { badge, when } from './formats.ts';
import { isUsable } from './key-pages.ts';
import { alert, framed, keyField, table } from './layout.ts';
import { type ConsoleVisit, call } from './visit.ts';
import { fieldInWords } from './words.ts';

/** How many of the latest requests are counted. */
const latestRequests = 200;

/** What integrators look at: requests, subscriptions and keys. */
export async function integratorCards(visit: ConsoleVisit): Promise<HtmlContent> {
  const { frame, tenant, service } = visit;
  const { base } = frame;
  const requests = await service.recentRequests.of(tenant.id, { limit: latestRequests });
  const failed = requests.filter(({ status }) => status >= 400);
  const { active, failing } = await receivers(visit);
  const keys = (await service.store.read(tenant.id, (session) => listKeys(session, tenant.id))).filter(isUsable);
  const figure = (path: string, title: string, value: string, text: string) =>
    html`<section class="card"><h2><a href="${base}${path}">${title}</a></h2><p class="figure">${value}</p><p class="soft">${text}</p></section>`;
  const latest = failed
    .slice(0, 5)
    .map(({ id, receivedAt, status, operation, problem }) => [
      when(frame, receivedAt),
      badge(String(status), 'bad'),
      html`<a href="${base}/requests/${id}">${operation}</a>`,
      problem?.code ?? '',
      problem?.detail ?? '',
    ]);
  return html`<h2>For integrators</h2><div class="cards">
${figure('/requests', 'Requests', String(requests.length), `latest ones, ${failed.length} of them failed`)}
${figure('/subscriptions', 'Subscriptions', String(active), failing === 0 ? 'none is failing' : `${failing} failing`)}
${figure('/keys', 'API keys', String(keys.length), 'can be used')}
${tenant.isSandbox && figure('/clock', 'Clock', 'Sandbox', 'has a clock of its own')}
</div>
<section class="card after"><h2>Latest failed requests</h2>${
    latest.length === 0
      ? html`<p>None.</p>`
      : table('Latest failed requests', ['Time', 'Status', 'Operation', 'Problem', 'Detail'], latest)
  }</section>`;
}

/** How many subscriptions are active, and how many of them fail. */
export async function receivers(visit: ConsoleVisit): Promise<{ readonly active: number; readonly failing: number }> {
  const { data } = await call(visit, 'listEventSubscriptions', { query: { pageSize: '100' } });
  const active = data.filter((one) => one.active);
  return { active: active.length, failing: active.filter((one) => one.consecutiveFailures > 0).length };
}

/** What the service has given up, of the last 30 days: documents without a file, and other work. */
export async function failedJobs({ service: { store }, tenant, frame }: ConsoleVisit): Promise<HtmlContent> {
  const jobs = await store.read(tenant.id, (session) =>
    session.all<{ name: string; data: { invoiceId?: string }; at: string; failure: string | null }>(sql`
      select name, data, ended_at as at, failure from background_job
      where tenant_id = ${tenant.id} and status = 'DEAD' and ended_at > now() - interval '30 days'
      order by ended_at desc limit 20`),
  );
  if (jobs.length === 0) return '';
  const rows = jobs.map(({ name, data: { invoiceId }, at, failure }) => [
    when(frame, at),
    invoiceId === undefined ? name : html`${name}: <a href="${frame.base}/data/Invoice/${invoiceId}">invoice</a>`,
    failure ?? '',
  ]);
  return html`<section class="card"><h2>Work that failed for good</h2>
<p>The operator can retry it.</p>${table('Work that failed for good', ['Time', 'Work', 'Reason'], rows)}</section>`;
}

export function limitsPage({ frame, tenant, service }: ConsoleVisit): string {
  const factor = service.config.rateLimitFactor;
  const policies = Map.groupBy(allOperations, ({ rateLimit }) => rateLimit.policy);
  const rows = [...policies].flatMap(([policy, operations]) => {
    const [first] = operations;
    if (first === undefined) return [];
    const { limit, window } = first.rateLimit;
    const most = factor === 0 ? 'unlimited' : Math.max(1, Math.round(limit * factor)).toLocaleString('en');
    return [[html`<code>${policy}</code>`, most, `${window} s`, String(operations.length)]];
  });
  const { shares } = service.admission;
  const { units, waiting, average, most } = shares.usageOf(tenant.name);
  const used = [String(units), String(waiting), average.toFixed(2), String(most), String(shares.limits.units)];
  return framed(frame, {
    title: 'Limits',
    part: '/limits',
    lead: 'Each process of the service counts separately.',
    body: html`<section class="card"><h2>Requests per API user</h2>${table('Rate limits', ['Policy', ...['Requests', 'Within', 'Operations'].map((text) => ({ text, isNumber: true }))], rows)}</section>
<section class="card"><h2>Requests at the same time</h2><p class="soft">A costly search, a bulk write or a large body counts as ${String(shares.limits.heavy)}.</p>${table(
      'Shares',
      ['In progress', 'Waiting', 'Average in a minute', 'Most per tenant now', 'Most in all'],
      [used],
    )}</section>`,
  });
}

export function settingsPage({ frame, tenant, query }: ConsoleVisit): string {
  const { settings, currency, timeZone } = tenant;
  const values: Readonly<Record<string, unknown>> = { currency, timeZone, ...settings };
  const rows = [...settingSchemas].map(([setting, { type, enum: choices, description }]) => {
    const value = settingText(values[setting]);
    const options = type === 'boolean' ? ['on', 'off'] : choices;
    const attributes = html` id="${setting}" name="value" aria-label="${fieldInWords(setting)}"`;
    const input =
      options === undefined
        ? html`<input${attributes} value="${value}" required autocomplete="off">`
        : html`<select${attributes}>${options.map((option) => html`<option${option === value && html` selected`}>${option}</option>`)}</select>`;
    const form = html`<details><summary>Change</summary><form method="post" action="${frame.base}/settings/${setting}">${keyField(frame)}${input}<div class="row"><button>Save</button></div></form></details>`;
    return [fieldInWords(setting), value, settingsOfOperator.has(setting) ? 'by the operator' : form, description];
  });
  return framed(frame, {
    title: 'Settings',
    part: '/settings',
    lead: 'A change takes effect within seconds. Lists, series of numbers, accounts and templates of mails are among the data.',
    notice: query.get('done') === 'changed' && alert('good', html`<p>The setting is changed.</p>`),
    body: html`<section class="card">${table('Settings', ['Setting', 'Value', 'Change', 'What it is'], rows)}</section>`,
  });
}

/** A value as it is entered. */
function settingText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  return String(value);
}

/** Changes a setting, unless the console could no longer be reached afterwards. @throws Rejection */
export async function changeSetting(visit: ConsoleVisit, setting: string): Promise<void> {
  const { service, exchange, tenant, caller, fields } = visit;
  const { apiUserId, apiUserName: actor } = caller;
  if (!settingSchemas.has(setting) || settingsOfOperator.has(setting))
    throw new Rejection('NOT_FOUND', 'There is no such setting that you can change.');
  const change = { tenant: tenant.name, setting, value: fields.get('value')?.trim() ?? '' };
  try {
    parseSetting(setting, change.value);
  } catch (error) {
    throw new Rejection('VALIDATION_ERROR', error instanceof Error ? error.message : String(error));
  }
  const store = await service.directory.storeOf(tenant.name);
  const by = { apiUserId, actor, requestId: exchange.id };
  await changeTenantSetting(store ?? service.store, { ...change, by }, (settings) =>
    checkAccess({ ...tenant, settings }, exchange),
  );
  service.directory.forget(tenant.name);
}

export async function clockPage(visit: ConsoleVisit): Promise<string> {
  const { frame, query } = visit;
  const { now, offsetSeconds } = await call(visit, 'getSandboxClock');
  const days = offsetSeconds / 86_400;
  return framed(frame, {
    title: 'Clock',
    part: '/clock',
    lead: 'This tenant is a sandbox with a clock of its own. It only moves forward, and runs everything that is due on the way.',
    notice: query.get('done') === 'advanced' && alert('good', html`<p>The clock is advanced.</p>`),
    body: html`<section class="card"><h2>Now</h2><p class="figure">${when(frame, now)}</p><p class="soft">${days === 0 ? 'The real time.' : `${days.toFixed(1)} days ahead of the real time.`}</p></section>
<form class="card" method="post" action="${frame.base}/clock"><h2>Advance the clock</h2>${keyField(frame)}
<label for="advanceBy">By <span class="hint">a duration of ISO 8601: P40D is 40 days, P1M is a month, PT12H is 12 hours</span></label><input id="advanceBy" name="advanceBy" value="P1D" required autocomplete="off"><div class="row"><button>Advance</button></div></form>`,
  });
}

export async function advanceClock(visit: ConsoleVisit): Promise<void> {
  const advanceBy = visit.fields.get('advanceBy')?.trim() ?? '';
  await call(visit, 'advanceSandboxClock', { body: { advanceBy } });
}
