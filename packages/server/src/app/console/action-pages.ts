/** Forms of what can be done, and what happens when they are sent: what would change is shown first, then it is done. */
import { takes } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { newId } from '../../platform/store/new-id.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type Action, bulkActions, failuresIn, requestOf, type VersionedRow, writingOf } from './actions.ts';
import { type DataList, responseProperties } from './catalog.ts';
import { type Change, changeTable, recordedSince } from './changes.ts';
import { currentText, enteredValues, type FormInput, inputFor } from './forms.ts';
import { alert, card, framed, keyField, table } from './layout.ts';
import { namesIn } from './names.ts';
import { fields, nameOf, type ShownRow, urlOf } from './values.ts';
import { type CallInput, type ConsoleVisit, callIn, contextIn } from './visit.ts';
import { fieldInWords, typeInWords } from './words.ts';

/** The forms of what can be done now. A form with fields opens; one without is a button. */
export async function actionForms(visit: ConsoleVisit, url: string, actions: readonly Action[], row: ShownRow = {}) {
  const forms: HtmlContent[] = [];
  for (const { name, label, inputs, operation } of actions) {
    const start = html`<form method="post" action="${visit.frame.base}${url}/${name}">${keyField(visit.frame)}${versionField(row)}`;
    const isRehearsed = takes(operation, 'Dry-Run');
    if (inputs.length === 0) {
      forms.push(html`${start}<button class="plain">${label}</button></form>`);
      continue;
    }
    const shown: HtmlContent[] = [];
    for (const input of inputs)
      shown.push(await inputFor(visit, input, currentText(input, row, new Map()), `${name}-`));
    forms.push(
      html`<details><summary>${label}</summary>${start}<div class="form">${shown}</div><div class="row"><button class="plain">${isRehearsed ? 'Show what would change' : label}</button></div></form></details>`,
    );
  }
  return forms;
}

function versionField(row: ShownRow | undefined): HtmlContent {
  return html`<input type="hidden" name="version" value="${String(row?.version ?? 0)}">`;
}

/** The form of a row, or of a new one with what the address presets. @throws Rejection `FORBIDDEN` */
export async function editPage(visit: ConsoleVisit, list: DataList, row: VersionedRow | undefined): Promise<string> {
  const { frame, query, caller } = visit;
  const action = writingOf(list, row, caller);
  if (action === undefined) throw cannotWrite(list);
  const presets = row === undefined ? Object.fromEntries(query) : {};
  const names = await namesIn(visit, [row ?? presets], list.properties);
  const first: HtmlContent[] = [];
  const more: HtmlContent[] = [];
  for (const input of action.inputs) {
    const { path, isRequired } = input;
    const preset = presets[path];
    const isFirst = row !== undefined || isRequired || preset !== undefined || /^\w+\.0\./.test(path);
    (isFirst ? first : more).push(
      preset === undefined
        ? await inputFor(visit, input, currentText(input, row, names))
        : presetField(input, preset, names),
    );
  }
  const from = `${frame.base}${urlOf(list, row)}`;
  return framed(frame, {
    title: titleOf(list, action, row),
    part: '/data',
    lead: html`<a href="${from}">Back without changes</a>`,
    body: html`<form class="card" method="post" action="${from}/${action.name}">${keyField(frame)}${versionField(row)}<input type="hidden" name="newRef" value="console-${newId()}"><div class="form">${first}</div>${more.length > 0 && html`<details><summary>More fields</summary><div class="form">${more}</div></details>`}<div class="row"><button>Show what would change</button><a class="button plain" href="${from}">Cancel</a></div></form>`,
  });
}

function presetField({ path }: FormInput, value: string, names: ReadonlyMap<string, string>): HtmlContent {
  return html`<div>${fieldInWords(path)}: <strong>${names.get(value) ?? value}</strong><input type="hidden" name="${path}" value="${value}"></div>`;
}

function cannotWrite({ title }: DataList): Rejection {
  return new Rejection('FORBIDDEN', `Your API user cannot write ${title.toLowerCase()}.`);
}

function titleOf(list: DataList, { label }: Action, row: ShownRow | undefined): string {
  return row === undefined ? `New ${typeInWords(list.type).toLowerCase()}` : `${label}: ${nameOf(list, row)}`;
}

/** What came of a form: a page to show, or the response of the operation. */
export type ActionOutcome = { readonly page: string } | { readonly body: Readonly<Record<string, unknown>> };

/**
 * Handles the form of an action on a row, or of a new one.
 *
 * @throws Rejection also `PRECONDITION_FAILED` if the row has changed since the page was shown
 */
export async function act(
  visit: ConsoleVisit,
  list: DataList,
  row: VersionedRow | undefined,
  action: Action | undefined,
) {
  const { fields: entered } = visit;
  if (action === undefined && row === undefined) throw cannotWrite(list);
  if (action === undefined || (row !== undefined && entered.get('version') !== String(row.version)))
    throw new Rejection(
      'PRECONDITION_FAILED',
      'Somebody else has changed it since you opened the page. Open it again.',
    );
  const isEdit = action.name === 'edit';
  const names = isEdit ? await namesIn(visit, [row], list.properties) : new Map<string, string>();
  const values = await enteredValues(visit, action.inputs, isEdit ? row : undefined, names);
  if ((isEdit || row === undefined) && Object.keys(values).length === 0)
    throw new Rejection('INVALID_STATE', 'Nothing was changed.');
  const written = row ?? { systemRef: entered.get('newRef') ?? '', version: 0 };
  return perform(visit, action, {
    input: requestOf(list, [written], action, { ...action.fixed, ...values }),
    ifMatch: row && takes(action.operation, 'If-Match') ? entityTag(row) : undefined,
    title: titleOf(list, action, row),
    from: urlOf(list, row),
    names: [nameOf(list, written)],
  });
}

/** Handles the form of a list: does one thing with the rows that were selected, in the versions that the page showed. */
export function actOnSelected(visit: ConsoleVisit, list: DataList, name: string): Promise<ActionOutcome> {
  const rows = visit.fields.getAll('row').flatMap((text): VersionedRow[] => {
    const [status = '', version = '', systemRef = '', ...label] = text.split(' ');
    const row = { status, version: Number(version), systemRef: decodeURIComponent(systemRef) };
    return /^\d+$/.test(version) ? [{ ...row, [list.label ?? 'name']: label.join(' ') }] : [];
  });
  const action = bulkActions(list, rows, visit.caller).find((one) => one.name === name);
  if (action === undefined) throw new Rejection('INVALID_STATE', 'Select rows for which this is possible.');
  return perform(visit, action, {
    input: requestOf(list, rows, action, action.fixed),
    title: `${action.label}: ${list.title.toLowerCase()}`,
    from: urlOf(list, undefined),
    names: rows.map((row) => nameOf(list, row)),
  });
}

/** What a row of a list sends if it is selected. */
export function selection(list: DataList, row: ShownRow): string {
  const { status, version, systemRef } = row;
  return `${String(status)} ${String(version)} ${encodeURIComponent(String(systemRef))} ${String(row[list.label ?? ''] ?? '')}`;
}

export interface ActionRequest {
  readonly input: CallInput;
  readonly ifMatch?: string | undefined;
  readonly title: string;
  /** Address of the page that the form is on, below the console. */
  readonly from: string;
  /** Names of the rows that are written, in their order. */
  readonly names: readonly string[];
}

/**
 * Rehearses an action, and returns the page that shows what would change; or does it, once that is confirmed. What cannot be
 * rehearsed is done at once, and its response shown.
 *
 * @throws Rejection what the operation rejects; a rejection of all rows is one of the form
 */
export async function perform(visit: ConsoleVisit, action: Action, request: ActionRequest): Promise<ActionOutcome> {
  const { operation } = action;
  const { input, ifMatch, names } = request;
  const isRehearsal = takes(operation, 'Dry-Run') && visit.fields.get('confirmed') !== 'yes';
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
  const body = await callIn(visit, isRehearsal ? { ...context, write: recording } : context, input);
  const failures = failuresIn(body);
  const [first] = failures.values();
  if (first !== undefined && failures.size >= names.length) throw new Rejection('INVALID_STATE', first);
  if (isRehearsal) return { page: rehearsalPage(visit, action, request, changes, failures) };
  return takes(operation, 'Dry-Run') ? { body } : { page: responsePage(visit, action, request, body) };
}

function rehearsalPage(
  visit: ConsoleVisit,
  { label, operation }: Action,
  { title, from, names }: ActionRequest,
  changes: readonly Change[],
  failures: ReadonlyMap<number, string>,
): string {
  const { frame, fields: entered, exchange } = visit;
  const url = `${frame.base}${from}`;
  const hidden = [...[...entered].filter(([name]) => name !== 'formKey'), ['confirmed', 'yes'] as const];
  const failed = [...failures].map(([index, detail]) => [names[index] ?? '', detail]);
  const target = `${frame.base}${(exchange.path ?? '').replace(/^.*?\/console/, '')}`;
  const rows = names.length > 1 && ` in ${names.length - failures.size} of ${names.length} rows`;
  return framed(frame, {
    title,
    part: '/data',
    lead: html`<a href="${url}">Back without changes</a>`,
    notice: alert('', html`Nothing has changed yet. This is what would change${rows}.`),
    body: html`${failed.length > 0 && card('What would not change', table('Failures', ['Row', 'Why'], failed))}${card(
      'What would change',
      html`${changeTable(visit, changes)}
<form method="post" action="${target}">${keyField(frame)}${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<div class="row"><button${operation.method === 'DELETE' && html` class="danger"`}>${label} now</button><a class="button plain" href="${url}">Cancel</a></div></form>`,
    )}`,
  });
}

function responsePage(
  { frame }: ConsoleVisit,
  { label, operation }: Action,
  { from }: ActionRequest,
  body: ShownRow,
): string {
  return framed(frame, {
    title: label,
    part: from,
    lead: html`<a href="${frame.base}${from}">Back</a>`,
    body: card('Done', fields({ frame, names: new Map() }, body, responseProperties(operation))),
  });
}
