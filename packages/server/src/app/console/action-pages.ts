import { hasRole } from '@financial-automation/spec/roles';
import { sql } from 'kysely';
import type { Operation } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { visibleTo } from '../../entity/field-access.ts';
import { entityOf } from '../../entity/registry.ts';
import type { AnyStoredRow } from '../../entity/row.ts';
import type { Caller } from '../../platform/auth/caller.ts';
import { formatDecimal, parseDecimal, sum } from '../../platform/decimal.ts';
import { newId } from '../../platform/store/new-id.ts';
import type { Transaction } from '../../platform/store/store.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type Action, actionsOn, failuresIn, isOfSeveral, requestOf, type VersionedRow } from './actions.ts';
import { columnsOf, type DataList, dataLists, isNumber } from './catalog.ts';
import { decimal, none } from './formats.ts';
import { alert, framed, keyField, table } from './layout.ts';
import { currencyOf, type ShownRow, shownValue, type View } from './values.ts';
import { type ConsoleVisit, callIn, contextIn } from './visit.ts';
import { fieldInWords, typeInWords } from './words.ts';

/** The forms of what can be done with a row now. */
export function actionForms(
  visit: ConsoleVisit,
  list: DataList,
  row: ShownRow,
  others: readonly HtmlContent[],
): HtmlContent {
  const actions = actionsOn(list, row, visit.caller);
  if (actions.length + others.length === 0) return '';
  return html`<section class="card"><h2>What you can do now</h2><div class="row">${actions.map((action) => actionForm(visit, list, row, action))}${others}</div></section>`;
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
    if ([schema.type].flat().includes('boolean')) return html`<input type="hidden" name="${name}" value="true">`;
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

/** What a form of the console writes. */
export interface FormWrite {
  readonly operation: Operation;
  readonly input: { readonly path?: Readonly<Record<string, string>>; readonly body: object };
  readonly ifMatch?: string;
  /** The verb of the button that confirms it. */
  readonly label: string;
  readonly title: string;
  /** Address of the page that the form is on, below the console. */
  readonly from: string;
  /** Names of the rows that are written, in their order. */
  readonly names: readonly string[];
}

/**
 * Rehearses what a form writes, and returns the page that shows what would change; or does it, once that is confirmed.
 *
 * @returns the page of the rehearsal, or what the operation returned
 * @throws Rejection what the operation rejects; a rejection of all rows is one of the form
 */
export async function rehearseOrDo(
  visit: ConsoleVisit,
  write: FormWrite,
): Promise<{ readonly page: string } | { readonly body: Readonly<Record<string, unknown>> }> {
  const isRehearsal = visit.fields.get('confirmed') !== 'yes';
  const { operation, ifMatch } = write;
  const context = contextIn(visit, operation, { isRehearsal, ...(ifMatch !== undefined && { ifMatch }) });
  const start = newId();
  const changes: Change[] = [];
  const recording: typeof context.write = (work) =>
    context.write(async (unit) => {
      const result = await work(unit);
      await unit.flushAuditAndEvents();
      changes.push(...(await recordedSince(unit.transaction, visit, start)));
      return result;
    });
  const body = await callIn(visit, isRehearsal ? { ...context, write: recording } : context, write.input);
  const failures = failuresIn(body);
  const [first] = failures.values();
  if (first !== undefined && failures.size >= write.names.length) throw new Rejection('INVALID_STATE', first);
  return isRehearsal ? { page: rehearsalPage(visit, write, changes, failures) } : { body };
}

/** Handles the form of an action. @throws Rejection also `PRECONDITION_FAILED` if the row has changed since the page was shown */
export async function act(visit: ConsoleVisit, list: DataList, row: VersionedRow, to: string) {
  const { fields: entered, caller } = visit;
  const action = actionsOn(list, row, caller).find((one) => one.to === to);
  if (String(row.version) !== entered.get('version') || action === undefined)
    throw new Rejection(
      'PRECONDITION_FAILED',
      'Somebody else has changed it since you opened the page. Open it again.',
    );
  const name = `${typeInWords(list.type)} ${String(row[list.label ?? ''] ?? '')}`;
  return rehearseOrDo(visit, {
    operation: action.operation,
    input: requestOf(list, [row], action, entered),
    ifMatch: entityTag(row),
    label: action.label,
    title: `${action.label}: ${name}`,
    from: `/data/${list.type}/${String(row.id)}`,
    names: [name],
  });
}

/** What can be done with several rows of a list at once: what needs no fields, by its state. */
export function bulkActions(list: DataList, rows: readonly ShownRow[], caller: Caller): Action[] {
  const all = rows.flatMap((row) => actionsOn(list, row, caller));
  const simple = all.filter(({ fields, operation }) => fields.size === 0 && isOfSeveral(operation));
  return [...new Map(simple.map((action) => [action.to, action])).values()];
}

/** Handles the form of a list: does one thing with the rows that were selected, in the versions that the page showed. */
export function actOnSelected(visit: ConsoleVisit, list: DataList, to: string) {
  const rows = visit.fields.getAll('row').flatMap((text): VersionedRow[] => {
    const [status = '', version = '', systemRef = '', ...label] = text.split(' ');
    return /^\d+$/.test(version)
      ? [{ status, version: Number(version), systemRef: decodeURIComponent(systemRef), label: label.join(' ') }]
      : [];
  });
  const action = bulkActions(list, rows, visit.caller).find((one) => one.to === to);
  if (action === undefined) throw new Rejection('INVALID_STATE', 'Select rows for which this is possible.');
  return rehearseOrDo(visit, {
    operation: action.operation,
    input: requestOf(list, rows, action, visit.fields),
    label: action.label,
    title: `${action.label}: ${list.title.toLowerCase()}`,
    from: `/data/${list.type}`,
    names: rows.map(({ label, systemRef }) => String(label || systemRef)),
  });
}

/** What a row of a list sends if it is selected. */
export function selection(list: DataList, row: ShownRow): string {
  const { status, version, systemRef } = row;
  return `${String(status)} ${String(version)} ${encodeURIComponent(String(systemRef))} ${String(row[list.label ?? ''] ?? '')}`;
}

/** What a transaction has recorded, which it may not keep. */
function recordedSince(transaction: Transaction, { tenant, exchange }: ConsoleVisit, start: string): Promise<Change[]> {
  return transaction.all<Change>(sql`
    select entity_type as type, before, after from audit_log
    where tenant_id = ${tenant.id} and id > ${start} and request_id = ${exchange.id} order by id`);
}

/** With more changed rows, their sums are shown instead of each. */
const maxShown = 8;

function rehearsalPage(
  visit: ConsoleVisit,
  { operation, label, title, from, names }: FormWrite,
  changes: readonly Change[],
  failures: ReadonlyMap<number, string>,
): string {
  const { frame, fields, exchange } = visit;
  const url = `${frame.base}${from}`;
  const entered = [...fields].filter(([name]) => name !== 'formKey');
  const hidden = [...entered, ['confirmed', 'yes'] as const];
  const rows =
    changes.length > maxShown ? summary(visit, changes) : changes.flatMap((change) => changedRows(visit, change));
  const heads = ['Row', 'Field', { text: 'Before', isNumber: true }, { text: 'After', isNumber: true }];
  const failed = [...failures].map(([index, detail]) => [names[index] ?? '', detail]);
  const target = `${frame.base}${(exchange.path ?? '').replace(/^.*?\/console/, '')}`;
  return framed(frame, {
    title,
    part: '/data',
    lead: html`<a href="${url}">Back without changes</a>`,
    notice: alert(
      '',
      html`<p>Nothing has changed yet. This is what would change${names.length > 1 && ` in ${names.length - failures.size} of ${names.length} rows`}.</p>`,
    ),
    body: html`${failed.length > 0 && html`<section class="card"><h2>What would not change</h2>${table('Failures', ['Row', 'Why'], failed)}</section>`}<section class="card"><h2>What would change</h2>${rows.length === 0 ? html`<p>Nothing that you may read.</p>` : table('Changes', changes.length > maxShown ? ['Rows', 'What', ...heads.slice(2)] : heads, rows)}
<form method="post" action="${target}">${keyField(frame)}${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<div class="row"><button${operation.method === 'DELETE' && html` class="danger"`}>${label} now</button><a class="button plain" href="${url}">Cancel</a></div></form></section>`,
  });
}

/** Of each type, how many rows change, and the sums of their amounts and hours before and after. */
function summary(visit: ConsoleVisit, changes: readonly Change[]): HtmlContent[][] {
  return [
    ...Map.groupBy(changes, ({ type, before }) => `${type} ${before === null ? 'new' : 'changed'}`).values(),
  ].flatMap((of) => {
    const shown = of.flatMap((change) => visibleChange(visit, change));
    const [first] = shown;
    if (first === undefined) return [];
    const { list, isNew } = first;
    const sums = [...list.properties].flatMap(([name, schema]) => {
      if (schema.format !== 'decimal' || /Rate$|Percent$/.test(name)) return [];
      const total = (side: 'old' | 'now') => sum(shown.map((one) => parseDecimal(String(one[side][name] ?? '0'))));
      const [old, now] = [total('old'), total('now')];
      return old.eq(now)
        ? []
        : [['', fieldInWords(name), decimal(formatDecimal(old, 2)), decimal(formatDecimal(now, 2))]];
    });
    return [
      [`${isNew ? 'New ' : ''}${list.title}`, 'Rows', isNew ? '0' : String(of.length), String(of.length)],
      ...sums,
    ];
  });
}

/** Both sides of a change, as far as the caller may read such rows. */
function visibleChange({ caller }: ConsoleVisit, { type, before, after }: Change) {
  const [entity, list] = [entityOf(type), dataLists.get(type)];
  const holds = (roles: readonly string[]) => hasRole(caller.roles, roles);
  if (entity === undefined || list === undefined || !holds(entity.readRoles ?? [])) return [];
  const old: ShownRow = before === null ? {} : visibleTo(holds, entity, before);
  const now: ShownRow = visibleTo(holds, entity, after);
  return [{ list, old, now, isNew: before === null }];
}

const bookkeeping = new Set(['version', 'updatedAt', 'createdAt', 'active', 'systemRef', 'sysRefs', 'id']);

/** The single values of a row that differ: of a new row, what people compare. */
function changedRows(visit: ConsoleVisit, change: Change): HtmlContent[][] {
  return visibleChange(visit, change).flatMap(({ list, old, now, isNew }) => {
    const view: View = { frame: visit.frame, names: new Map() };
    const names = isNew ? columnsOf(list.properties) : [...list.properties.keys()];
    const isSingle = (value: unknown) => typeof value !== 'object' || value === null;
    const row = `${isNew ? 'New ' : ''}${typeInWords(list.type)} ${String(now[list.label ?? ''] ?? '')}`;
    return names.flatMap((name) => {
      const [from, value] = [old[name], now[name]];
      if (bookkeeping.has(name) || from === value || !isSingle(from) || !isSingle(value)) return [];
      const schema = list.properties.get(name);
      if (isNew && (value === null || schema?.['x-references'] !== undefined)) return [];
      const shown = (one: unknown) => (one === undefined ? none() : shownValue(view, one, schema, currencyOf(now)));
      return [[row, fieldInWords(name), shown(from), shown(value)]];
    });
  });
}
