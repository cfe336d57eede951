import { hasRole } from '@financial-automation/spec/roles';
import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import { visibleTo } from '../../entity/field-access.ts';
import { entityOf } from '../../entity/registry.ts';
import type { AnyStoredRow } from '../../entity/row.ts';
import { newId } from '../../platform/store/new-id.ts';
import type { Transaction } from '../../platform/store/store.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type Action, actionsOn, failureIn, requestOf } from './actions.ts';
import { columnsOf, type DataList, dataLists, isNumber } from './catalog.ts';
import { none } from './formats.ts';
import { alert, framed, keyField, table } from './layout.ts';
import { currencyOf, type ShownRow, shownValue, type View } from './values.ts';
import { type ConsoleVisit, callIn, contextIn } from './visit.ts';
import { fieldInWords, typeInWords } from './words.ts';

/** The forms of what can be done with a row now. */
export function actionForms(visit: ConsoleVisit, list: DataList, row: ShownRow): HtmlContent {
  const actions = actionsOn(list, row, visit.caller);
  if (actions.length === 0) return '';
  return html`<section class="card"><h2>What you can do now</h2><div class="row">${actions.map((action) => actionForm(visit, list, row, action))}</div></section>`;
}

function actionForm(
  { frame }: ConsoleVisit,
  list: DataList,
  row: ShownRow,
  { to, label, fields }: Action,
): HtmlContent {
  const start = html`<form method="post" action="${frame.base}/data/${list.type}/${String(row.id)}/${to}">${keyField(frame)}<input type="hidden" name="version" value="${String(row.version)}">`;
  if (fields.size === 0) return html`${start}<button class="plain">${label}</button></form>`;
  const inputs = [...fields].map(([name, schema]) => {
    const id = `${to}-${name}`;
    const value = row[name] === null || row[name] === undefined ? '' : String(row[name]);
    const kind = isNumber(schema) ? html` inputmode="decimal"` : '';
    return html`<label for="${id}">${fieldInWords(name)}</label><input id="${id}" name="${name}" value="${value}" required autocomplete="off"${kind}>`;
  });
  return html`<details><summary>${label}</summary>${start}${inputs}<div class="row"><button class="plain">Show what would change</button></div></form></details>`;
}

/** A change of a row, as the audit log records it. */
interface Change {
  readonly type: string;
  readonly before: AnyStoredRow | null;
  readonly after: AnyStoredRow;
}

/**
 * Handles the form of an action: rehearses it, and shows what would change; or does it, once that is confirmed.
 *
 * @returns the page of the rehearsal; undefined once it is done
 * @throws Rejection what the operation rejects, or `PRECONDITION_FAILED` if the row has changed since the page was shown
 */
export async function act(
  visit: ConsoleVisit,
  list: DataList,
  row: ShownRow & { readonly version: number },
  to: string,
): Promise<string | undefined> {
  const { fields: entered, caller } = visit;
  const action = actionsOn(list, row, caller).find((one) => one.to === to);
  if (String(row.version) !== entered.get('version') || action === undefined)
    throw new Rejection(
      'PRECONDITION_FAILED',
      'Somebody else has changed it since you opened the page. Open it again.',
    );
  const input = requestOf(list, row, action, entered);
  const isRehearsal = entered.get('confirmed') !== 'yes';
  const context = contextIn(visit, action.operation, { ifMatch: entityTag(row), isRehearsal });
  const start = newId();
  let changes: readonly Change[] = [];
  const write: typeof context.write = (work) =>
    context.write(async (unit) => {
      const result = await work(unit);
      await unit.flushAuditAndEvents();
      changes = await recordedSince(unit.transaction, visit, start);
      return result;
    });
  const body = await callIn(visit, isRehearsal ? { ...context, write } : context, input);
  const failure = failureIn(body);
  if (failure !== undefined) throw new Rejection('INVALID_STATE', failure);
  return isRehearsal ? rehearsalPage(visit, list, row, action, changes) : undefined;
}

/** What a transaction has recorded, which it may not keep. */
function recordedSince(transaction: Transaction, { tenant, exchange }: ConsoleVisit, start: string): Promise<Change[]> {
  return transaction.all<Change>(sql`
    select entity_type as type, before, after from audit_log
    where tenant_id = ${tenant.id} and id > ${start} and request_id = ${exchange.id} order by id`);
}

function rehearsalPage(
  visit: ConsoleVisit,
  list: DataList,
  row: ShownRow,
  { to, label, fields, operation }: Action,
  changes: readonly Change[],
): string {
  const { frame } = visit;
  const url = `${frame.base}/data/${list.type}/${String(row.id)}`;
  const kept = [...fields.keys()].map((name) => [name, visit.fields.get(name) ?? ''] as const);
  const hidden = [['version', String(row.version)], ['confirmed', 'yes'], ...kept] as const;
  const rows = changes.flatMap((change) => changedRows(visit, change));
  return framed(frame, {
    title: `${label}: ${typeInWords(list.type)} ${String(row[list.label ?? ''] ?? '')}`,
    part: '/data',
    lead: html`<a href="${url}">Back without changes</a>`,
    notice: alert('', html`<p>Nothing has changed yet. This is what would change.</p>`),
    body: html`<section class="card"><h2>What would change</h2>${rows.length === 0 ? html`<p>Nothing that you may read.</p>` : table('Changes', ['Row', 'Field', { text: 'Before', isNumber: true }, { text: 'After', isNumber: true }], rows)}
<form method="post" action="${url}/${to}">${keyField(frame)}${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<div class="row"><button${operation.method === 'DELETE' && html` class="danger"`}>${label} now</button><a class="button plain" href="${url}">Cancel</a></div></form></section>`,
  });
}

const bookkeeping = new Set(['version', 'updatedAt', 'createdAt', 'active', 'systemRef', 'sysRefs', 'id']);

/** The single values of a row that differ, if the caller may read such rows: of a new row, what people compare. */
function changedRows({ caller, frame }: ConsoleVisit, { type, before, after }: Change): HtmlContent[][] {
  const [entity, list] = [entityOf(type), dataLists.get(type)];
  const holds = (roles: readonly string[]) => hasRole(caller.roles, roles);
  if (entity === undefined || list === undefined || !holds(entity.readRoles ?? [])) return [];
  const [old, now]: ShownRow[] = [
    before === null ? {} : visibleTo(holds, entity, before),
    visibleTo(holds, entity, after),
  ];
  const view: View = { frame, names: new Map() };
  const names = before === null ? columnsOf(list.properties) : [...list.properties.keys()];
  const isSingle = (value: unknown) => typeof value !== 'object' || value === null;
  const label = String(now?.[list.label ?? ''] ?? '');
  return names.flatMap((name) => {
    const [from, value] = [old?.[name], now?.[name]];
    if (bookkeeping.has(name) || from === value || !isSingle(from) || !isSingle(value)) return [];
    const schema = list.properties.get(name);
    if (before === null && (value === null || schema?.['x-references'] !== undefined)) return [];
    const shown = (one: unknown) => (one === undefined ? none() : shownValue(view, one, schema, currencyOf(now ?? {})));
    return [
      [`${before === null ? 'New ' : ''}${typeInWords(type)} ${label}`, fieldInWords(name), shown(from), shown(value)],
    ];
  });
}
