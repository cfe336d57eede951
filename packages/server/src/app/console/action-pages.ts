/** Forms of what can be done, and what happens when they are sent: what would change is shown first, then it is done. */
import { isDeepStrictEqual } from 'node:util';
import { takes } from '../../contract/contract.ts';
import { isOf } from '../../contract/fields.ts';
import { Rejection } from '../../contract/rejection.ts';
import { checkContentType, storeUpload } from '../../modules/files/index.ts';
import { newId } from '../../platform/store/new-id.ts';
import { entityTag } from '../../query/entity-tag.ts';
import { FormFields, type SentFile } from '../../wire/form.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type Action, actionsOn, bulkActions, failuresIn, requestOf, writingOf } from './actions.ts';
import { type DataList, propertiesOf, schemasOf } from './catalog.ts';
import { changedMeanwhile, changeTable, meanwhileCard, recordedSince, type VisibleChange } from './changes.ts';
import { listNamed, readRow } from './data-pages.ts';
import { type Changed, changedInputs, enteredValues, type FormInput, inputsFor, newRow } from './forms.ts';
import { alert, type ConsolePage, card, keyField, rejected, table } from './layout.ts';
import { namesIn } from './names.ts';
import { fields, nameOf, type ShownRow, urlOf } from './values.ts';
import { type CallInput, type ConsoleVisit, callOperation, contextIn } from './visit.ts';
import { fieldInWords, newInWords, sentenceInWords } from './words.ts';

/** The forms of what can be done now. A form with fields opens; one without is a button. One that was sent has what was entered. */
export function actionForms(visit: ConsoleVisit, url: string, actions: readonly Action[], row: ShownRow = {}) {
  const forms = actions.map(async (action) => {
    const { name, label, inputs } = action;
    const start = formStart(visit, `${url}/${name}`, row);
    if (inputs.length === 0) return html`${start}<button class="plain">${label}</button></form>`;
    const isSent = visit.formPath === `${url}/${name}`;
    const own = isSent ? visit : { ...visit, fields: new URLSearchParams() };
    const shown = await inputsFor(own, inputs, row, { form: `${name}-` });
    return html`<details${isSent && html` open`}><summary>${label}</summary>${start}${shown}<div class="row"><button class="plain">${buttonOf(action)}</button></div></form></details>`;
  });
  return Promise.all(forms);
}

/** A file would have to be sent twice to be rehearsed. */
function canRehearse({ operation, file }: Action): boolean {
  return takes(operation, 'Dry-Run') && file === undefined;
}

function buttonOf(action: Action): string {
  return canRehearse(action) ? 'Show what would change' : action.label;
}

/** The start of a form about a row in the version that the page shows. Its own inputs are named as no field can be. */
export function formStart(
  visit: ConsoleVisit,
  url: string,
  { version = 0 }: ShownRow,
  more?: HtmlContent,
): HtmlContent {
  return html`<form${more} method="post" action="${visit.base}${url}">${keyField(visit)}<input type="hidden" name="_version" value="${String(version)}">`;
}

/**
 * The form that changes a row, or creates one with what the address presets; again with what was entered, and why it was rejected.
 *
 * @throws Rejection `FORBIDDEN`
 */
export async function formPage(
  own: ConsoleVisit,
  type: string,
  id?: string,
  problem = own.file instanceof Rejection ? own.file : undefined,
): Promise<ConsolePage> {
  const list = await listNamed(own, type);
  const row = id === undefined ? undefined : await readRow(own, list, id);
  const action = writingOf(list, row, own.caller);
  if (action === undefined) throw cannotWrite(list);
  const changes = row === undefined ? [] : await changedMeanwhile(own, list, row);
  const before = changes[0]?.old;
  const sends = html` class="card"${action.file && html` enctype="multipart/form-data"`}`;
  const presets = row === undefined ? own.query : new URLSearchParams();
  const names = await namesIn(own, [row ?? Object.fromEntries(presets), before], list.properties);
  // Of a row that somebody else has changed, only what was changed in the form is kept.
  // Items are sent by their positions, which can be those of other items now.
  const isMoved = ([name, [first]]: Changed) =>
    /\.\d+\./.test(first?.path ?? '') && !isDeepStrictEqual(before?.[name], changes[0]?.now[name]);
  const changed = before === undefined ? [] : changedInputs(own, action.inputs, before, names);
  const kept = changed
    .filter((field) => !isMoved(field))
    .flatMap(([, inputs]) => inputs.map(({ path }) => [path, own.fields.get(path) ?? '']));
  const moved = changed.filter(isMoved).map(([name]) => fieldInWords(name).toLowerCase());
  const visit = before === undefined ? own : { ...own, fields: new FormFields(kept) };
  const isPreset = ({ path }: FormInput) => presets.has(path);
  // What people compare comes first, too.
  const isFirst = ({ path, isRequired, schema }: FormInput) =>
    row !== undefined ||
    isRequired ||
    list.columns.includes(path) ||
    /^\w+\.0\./.test(path) ||
    (action.items === undefined && isOf(schema, 'array') && schema['x-references'] !== undefined);
  const entered = action.inputs.filter((input) => !isPreset(input));
  const more = entered.filter((input) => !isFirst(input));
  const fixed = action.inputs.filter(isPreset).map(({ path }) => {
    const value = presets.get(path) ?? '';
    return html`<p>${fieldInWords(path)}: <strong>${names.get(value) ?? value}</strong><input type="hidden" name="${path}" value="${value}"></p>`;
  });
  const from = urlOf(list, row);
  const isOpen = more.some(({ path }) => (visit.fields.get(path) ?? '') !== '') && html` open`;
  const newRef = visit.fields.get('_newRef') ?? `console-${newId()}`;
  const inputsOf = (inputs: readonly FormInput[]) =>
    inputsFor(visit, inputs, row ?? newRow(inputs), { names, problem });
  const first = await inputsOf(entered.filter(isFirst));
  return {
    title: titleOf(list, action, row),
    lead: backTo(visit, from),
    ...(problem && { notice: rejected(problem), status: problem.status }),
    body: html`${await meanwhileCard(visit, changes)}${moved.length > 0 && html`<p>Enter again what you changed in: ${moved.join(', ')}.</p>`}${formStart(visit, `${from}/${action.name}${searchOf(visit)}`, row ?? {}, sends)}<input type="hidden" name="_newRef" value="${newRef}">${fixed}${first}${more.length > 0 && html`<details${isOpen}><summary>More fields</summary>${await inputsOf(more)}</details>`}${action.file && (await inputsOf([action.file]))}<div class="row"><button>${buttonOf(action)}</button><a class="button plain" href="${visit.base}${from}">Cancel</a></div></form>`,
  };
}

/** Also the address of a form presets fields, so that it can be shown again. */
function searchOf({ query }: ConsoleVisit): string {
  return query.size === 0 ? '' : `?${query}`;
}

function backTo({ base }: ConsoleVisit, url: string): HtmlContent {
  return html`<a href="${base}${url}">Back without changes</a>`;
}

function cannotWrite({ title }: DataList): Rejection {
  return new Rejection('FORBIDDEN', `Your API user cannot write ${title.toLowerCase()}.`);
}

function titleOf(list: DataList, { label }: Action, row: ShownRow | undefined): string {
  return row === undefined ? newInWords(list.type) : `${label}: ${nameOf(list, row)}`;
}

/** Handles the form of what can be done with a row, of its fields or of a new row. @throws Rejection `PRECONDITION_FAILED` */
export async function actOnRow(visit: ConsoleVisit, type: string, id: string | undefined, name: string) {
  const { fields: entered, caller } = visit;
  const list = await listNamed(visit, type);
  const row = id === undefined ? undefined : await readRow(visit, list, id);
  const writing = writingOf(list, row, caller);
  const action = [...(row === undefined ? [] : actionsOn(list, row, caller)), writing].find(
    (one) => one?.name === name,
  );
  if (action === undefined && row === undefined) throw cannotWrite(list);
  const isWriting = action !== undefined && action === writing;
  if (action === undefined || (row !== undefined && entered.get('_version') !== String(row.version ?? 0))) {
    const advice = isWriting ? 'Check what you entered.' : 'This is how it is now.';
    const detail = `Somebody else has changed it since you opened the page. ${advice}`;
    const problem = new Rejection('PRECONDITION_FAILED', detail);
    if (isWriting) return formPage(visit, type, id, problem);
    throw problem;
  }
  if (isWriting && entered.has('_again')) return formPage(visit, type, id);
  const changed = isWriting ? row : undefined;
  try {
    const names = await namesIn(visit, [changed], list.properties);
    const values = await enteredValues(visit, action.inputs, changed, names);
    const file = action.file && (await acceptedFile(visit));
    if (file !== undefined) values.fileName = file.fileName;
    if (isWriting && Object.keys(values).length === 0) throw new Rejection('INVALID_STATE', 'Nothing was changed.');
    const version = Number(row?.version);
    const written = row ?? { systemRef: entered.get('_newRef') ?? '' };
    return await perform(visit, action, {
      input: requestOf(type, [written], action, values),
      // Records have their version beside them.
      ifMatch: row && !action.items && takes(action.operation, 'If-Match') ? entityTag({ ...row, version }) : undefined,
      title: titleOf(list, action, row),
      list,
      from: urlOf(list, row),
      isWriting,
      names: [nameOf(list, written)],
      next: async (body) => {
        const written: ShownRow = row ?? Object([body.records ?? body.file ?? body].flat()[0]);
        const { service, tenant, exchange } = visit;
        const origin = { tenant, caller, operation: 'uploadContent', requestId: exchange.id, vault: service.vault };
        if (file !== undefined) await storeUpload(service, origin, String(written.id), file);
        return `${urlOf(list, written)}?done=yes`;
      },
    });
  } catch (error) {
    // What was entered is not lost.
    if (isWriting && error instanceof Rejection) return formPage(visit, type, id, error);
    throw error;
  }
}

/** The file of a form. @throws Rejection `VALIDATION_ERROR` if it is not accepted */
async function acceptedFile({ file }: ConsoleVisit): Promise<SentFile> {
  if (file === undefined || file instanceof Rejection)
    throw new Rejection('VALIDATION_ERROR', 'Choose a file.', '/file');
  const { reason } = await checkContentType(file.path, file.fileName);
  if (reason !== undefined) throw new Rejection('VALIDATION_ERROR', reason, '/file');
  return file;
}

/** Handles the form of a list: does one thing with the rows that were selected, in the versions that the page showed. */
export async function actOnRows(visit: ConsoleVisit, type: string, name: string) {
  const list = await listNamed(visit, type);
  const rows = visit.fields.getAll('row').flatMap((text): ShownRow[] => {
    const { label, ...row } = Object.fromEntries(new URLSearchParams(text));
    return /^\d+$/.test(row.version ?? '') ? [{ ...row, [list.label ?? 'name']: label }] : [];
  });
  // The state is all that is known of a row, and a form can have thousands of rows.
  const states = new Map(rows.map((row) => [row.status, row]));
  const action = bulkActions(list, [...states.values()], visit.caller).find((one) => one.name === name);
  if (action === undefined) throw new Rejection('INVALID_STATE', 'Select rows for which this is possible.');
  return perform(visit, action, {
    input: requestOf(type, rows, action, {}),
    title: `${action.label}: ${list.title.toLowerCase()}`,
    from: urlOf(list, undefined),
    names: rows.map((row) => nameOf(list, row)),
    next: () => `${urlOf(list, undefined)}?done=yes`,
  });
}

interface ActionRequest {
  readonly input: CallInput;
  readonly ifMatch?: string | undefined;
  readonly title: string;
  /** The list of the rows that are written; that of a custom type is known here alone. */
  readonly list?: DataList;
  /** Address of the page that the form is on, below the console. */
  readonly from: string;
  /** Whether what was entered can be changed before it is done. */
  readonly isWriting?: boolean;
  /** Names of the rows that are written, in their order. */
  readonly names: readonly string[];
  /** Where the browser goes after it is done. */
  next(body: Readonly<Record<string, unknown>>): string | Promise<string>;
}

/**
 * Rehearses an action, and returns the page that shows what would change; or does it once that is confirmed, and returns where the
 * browser goes next. What cannot be rehearsed is done at once, and its response shown. @throws Rejection also if all rows fail
 */
export async function perform(
  visit: ConsoleVisit,
  action: Action,
  request: ActionRequest,
): Promise<ConsolePage | string> {
  const { operation, label } = action;
  const { input, ifMatch, names, from } = request;
  const isRehearsal = canRehearse(action) && visit.fields.get('_confirmed') !== 'yes';
  const context = contextIn(visit, operation, { isRehearsal, ifMatch });
  const start = newId();
  const changes: VisibleChange[] = [];
  const recording: typeof context.write = (work) =>
    context.write(async (unit) => {
      const result = await work(unit);
      await unit.flushAuditAndEvents();
      changes.push(...(await recordedSince(unit.transaction, visit, start, request.list)));
      return result;
    });
  const body = await callOperation(visit, operation, input, isRehearsal ? { ...context, write: recording } : context);
  const failures = failuresIn(body);
  const [first] = failures.values();
  if (first !== undefined && failures.size >= names.length) throw new Rejection('INVALID_STATE', first);
  if (isRehearsal) return rehearsalPage(visit, action, request, changes, failures);
  if (takes(operation, 'Dry-Run')) return request.next(body);
  const shown = fields({ visit, names: new Map() }, body, propertiesOf(schemasOf(operation).response));
  const lead = html`<a href="${visit.base}${from}">Back</a>`;
  return { title: label, lead, body: card('Done', shown) };
}

async function rehearsalPage(
  visit: ConsoleVisit,
  { label, operation }: Action,
  { title, from, names, isWriting = false }: ActionRequest,
  changes: readonly VisibleChange[],
  failures: ReadonlyMap<number, string>,
): Promise<ConsolePage> {
  const { base, fields: entered, exchange } = visit;
  const url = `${base}${from}`;
  const kept = [...[...entered].filter(([name]) => name !== 'formKey'), ['_confirmed', 'yes'] as const];
  const hidden = kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const failed = [...failures].map(([index, detail]) => [names[index] ?? '', sentenceInWords(detail)]);
  const target = `${base}${(exchange.path ?? '').replace(/^.*?\/console/, '')}${searchOf(visit)}`;
  const rows = names.length > 1 && ` in ${names.length - failures.size} of ${names.length} rows`;
  return {
    title,
    lead: backTo(visit, from),
    notice: alert('', html`Nothing has changed yet. This is what would change${rows}.`),
    body: html`${failed.length > 0 && card('What would not change', table('Failures', ['Row', 'Why'], failed))}${card(
      'What would change',
      html`${await changeTable(visit, changes)}
<form method="post" action="${target}">${keyField(visit)}${hidden}<div class="row"><button${operation.method === 'DELETE' && html` class="danger"`}>${label} now</button>${isWriting && html`<button class="plain" name="_again" value="yes">Change what you entered</button>`}<a class="button plain" href="${url}">Cancel</a></div></form>`,
    )}`,
  };
}
