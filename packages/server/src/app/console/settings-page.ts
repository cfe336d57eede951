import { checkAccess } from '../../admission/access.ts';
import { changeTenantSetting } from '../../admission/change-setting.ts';
import { parseSetting, settingSchemas, settingsOfOperator } from '../../admission/tenant-settings.ts';
import { Rejection } from '../../contract/rejection.ts';
import { html } from '../../wire/html.ts';
import { type ConsolePage, keyField, options, table } from './layout.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldInWords, sentenceInWords } from './words.ts';

export function settingsPage({ frame, tenant }: ConsoleVisit): ConsolePage {
  const { settings, currency, timeZone } = tenant;
  const values: Readonly<Record<string, unknown>> = { currency, timeZone, ...settings };
  const rows = [...settingSchemas].map(([setting, { type, enum: choices, description }]) => {
    const value = settingText(values[setting]);
    const offered = type === 'boolean' ? ['on', 'off'] : choices;
    const attributes = html` id="${setting}" name="value" aria-label="${fieldInWords(setting)}"`;
    const input =
      offered === undefined
        ? html`<input${attributes} value="${value}" required autocomplete="off">`
        : html`<select${attributes}>${options(
            offered.map((one) => [one, one]),
            value,
          )}</select>`;
    const form = html`<details><summary>Change</summary><form method="post" action="${frame.base}/settings/${setting}">${keyField(frame)}${input}<div class="row"><button>Save</button></div></form></details>`;
    return [
      fieldInWords(setting),
      value,
      settingsOfOperator.has(setting) ? 'by the operator' : form,
      `${sentenceInWords(description)}.`,
    ];
  });
  return {
    title: 'Settings',
    lead: 'A change takes effect within seconds. Lists, series of numbers, accounts and templates of mails are among the data.',
    body: html`<section class="card">${table('Settings', ['Setting', 'Value', 'Change', 'What it is'], rows)}</section>`,
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
  const { service, exchange, tenant, caller, fields } = visit;
  if (!settingSchemas.has(setting) || settingsOfOperator.has(setting))
    throw new Rejection('NOT_FOUND', 'There is no such setting that you can change.');
  const value = fields.get('value')?.trim() ?? '';
  try {
    parseSetting(setting, value);
  } catch (error) {
    throw new Rejection('VALIDATION_ERROR', error instanceof Error ? error.message : String(error));
  }
  const store = (await service.directory.storeOf(tenant.name)) ?? service.store;
  const by = { apiUserId: caller.apiUserId, actor: caller.apiUserName, requestId: exchange.id };
  await changeTenantSetting(store, { tenant: tenant.name, setting, value, by }, (settings) =>
    checkAccess({ ...tenant, settings }, exchange),
  );
  service.directory.forget(tenant.name);
  return '/settings?done=yes';
}
