/** Forms that create rows and change their fields. They are derived from what operations write. */
import type { Schema } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { newId } from '../../platform/store/new-id.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { rehearseOrDo } from './action-pages.ts';
import { type VersionedRow, writeOf, writerOf } from './actions.ts';
import { type DataList, dataLists, isNumber, merged } from './catalog.ts';
import { idsNamed, isId, listInput, typedValue } from './filter.ts';
import { framed, keyField } from './layout.ts';
import { type Names, namesIn } from './names.ts';
import { flatRow, type ShownRow } from './values.ts';
import { type ConsoleVisit, callOperation, rowsIn } from './visit.ts';
import { fieldInWords, typeInWords, valueInWords } from './words.ts';

/** Lists with more rows than this are searched by name instead of being offered as a choice. */
const maxChoices = 100;
/** Empty rows of a list in a form. */
const newItems = 3;
const skipped = new Set(['metadata', 'sysRefs', 'systemRef', 'active']);
/** What only a change has. */
const ofChanges = /^(change|rejection)[A-Z]|Reason$/;

/** An input of a form: a field, a part of it (`address.city`), or one of an item (`lines.0.amount`). */
interface Input {
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** A schema without its null, and without the other ways to refer to a row. */
function plain(unmerged: Schema): Schema {
  const schema = merged(unmerged);
  const [choice] = (schema.anyOf ?? schema.oneOf ?? []).map(merged).filter(({ type }) => type !== 'null');
  const { anyOf: _anyOf, oneOf: _oneOf, ...own } = schema;
  return choice === undefined ? schema : { ...choice, ...own };
}

function isLeaf(schema: Schema): boolean {
  const types = [schema.type ?? 'string'].flat();
  return !types.includes('array') && (schema['x-references'] !== undefined || !types.includes('object'));
}

/** The inputs of a field; none if a form cannot show it, or would lose a part of what the row has. */
function inputsOf(name: string, unmerged: Schema, row: ShownRow | undefined, isRequired: boolean): Input[] {
  const schema = plain(unmerged);
  const types = [schema.type ?? 'string'].flat();
  if (skipped.has(name) || (row === undefined ? ofChanges.test(name) : schema['x-state-machine'] !== undefined))
    return [];
  if (types.includes('array')) {
    const parts = Object.entries(plain(schema.items ?? {}).properties ?? {}).map(
      ([part, of]) => [part, plain(of)] as const,
    );
    const current = row?.[name];
    const count = Array.isArray(current) ? current.length : 0;
    const isWhole = parts.every(([, of]) => isLeaf(of)) && count === (row?.[`${name}Count`] ?? count);
    if (row !== undefined && !isWhole) return [];
    return Array.from({ length: parts.length === 0 ? 0 : count + newItems }, (_unused, index) =>
      parts.flatMap(([part, of]) =>
        isLeaf(of) && part !== 'id' ? [{ path: `${name}.${index}.${part}`, schema: of, isRequired: false }] : [],
      ),
    ).flat();
  }
  if (isLeaf(schema)) return [{ path: name, schema, isRequired }];
  return Object.entries(schema.properties ?? {}).flatMap(([part, of]) =>
    isLeaf(plain(of)) ? [{ path: `${name}.${part}`, schema: plain(of), isRequired: false }] : [],
  );
}

/** All inputs. A new row requires what can neither be null nor is set by the service. */
function allInputs({ attributes }: { readonly attributes: Schema }, row: ShownRow | undefined): Input[] {
  return Object.entries(attributes.properties ?? {}).flatMap(([name, unmerged]) => {
    const schema = merged(unmerged);
    const canBeNull = [schema, ...(schema.anyOf ?? []).map(merged)].some(({ type }) => [type].flat().includes('null'));
    return inputsOf(name, schema, row, row === undefined && !canBeNull && schema['x-on-create'] === undefined);
  });
}

/** The value at a path. */
function valueAt(row: ShownRow | undefined, path: string): unknown {
  return path.split('.').reduce<unknown>((part, name) => Object(part)[name], row);
}

function textOf(value: unknown, { 'x-references': type }: Schema, names: Names): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return type === undefined ? String(value) : (names.get(String(value)) ?? String(value));
}

/** The form of a row, or of a new one with what the address presets. @throws Rejection `FORBIDDEN` */
export async function editPage(visit: ConsoleVisit, list: DataList, row: VersionedRow | undefined): Promise<string> {
  const { frame, query } = visit;
  const writer = writerFor(visit, list, row);
  const presets = row === undefined ? Object.fromEntries(query) : {};
  const names = await namesIn(visit, [row ?? presets], list.properties);
  const inputs = allInputs(writer, row);
  const shownInput = async (input: Input) => {
    const { path, schema } = input;
    const preset = presets[path];
    if (preset === undefined) return inputFor(visit, input, textOf(valueAt(row, path), schema, names));
    return html`<div>${fieldInWords(path)}: <strong>${names.get(preset) ?? preset}</strong><input type="hidden" name="${path}" value="${preset}"></div>`;
  };
  const isFirst = ({ path, isRequired }: Input) =>
    row !== undefined || isRequired || presets[path] !== undefined || /^\w+\.0\./.test(path);
  const first: HtmlContent[] = [];
  const more: HtmlContent[] = [];
  for (const input of inputs) (isFirst(input) ? first : more).push(await shownInput(input));
  const one = typeInWords(list.type);
  const from = `${frame.base}/data/${list.type}${row === undefined ? '' : `/${String(row.id)}`}`;
  return framed(frame, {
    title:
      row === undefined
        ? `New ${one.toLowerCase()}`
        : `Change ${one.toLowerCase()} ${String(row[list.label ?? ''] ?? '')}`,
    part: '/data',
    lead: html`<a href="${from}">Back without changes</a>`,
    body: html`<form class="card" method="post" action="${from}/${row === undefined ? 'new' : 'edit'}">${keyField(frame)}<input type="hidden" name="version" value="${String(row?.version ?? '')}"><input type="hidden" name="newRef" value="console-${newId()}"><div class="form">${first}</div>${more.length > 0 && html`<details><summary>More fields</summary><div class="form">${more}</div></details>`}<div class="row"><button>Show what would change</button><a class="button plain" href="${from}">Cancel</a></div></form>`,
  });
}

function writerFor({ caller }: ConsoleVisit, list: DataList, row: VersionedRow | undefined) {
  const writer = writerOf(list, row === undefined ? ['upsert'] : ['update', 'upsert'], caller);
  if (writer === undefined) throw new Rejection('FORBIDDEN', `Your API user cannot write ${list.title.toLowerCase()}.`);
  return writer;
}

export async function inputFor(
  visit: ConsoleVisit,
  { path, schema, isRequired }: Input,
  text: string,
): Promise<HtmlContent> {
  const [sentence = ''] = /^.*?[.](?=\s|$)/s.exec(schema.description ?? '') ?? [];
  const [field = '', item = '', part = item] = path.split('.');
  const words =
    part === ''
      ? fieldInWords(field)
      : `${fieldInWords(field)} ${/^\d+$/.test(item) ? `${Number(item) + 1}: ` : ''}${fieldInWords(part).toLowerCase()}`;
  const label = html`<label for="${path}">${words}${isRequired && html` <span class="hint">required</span>`}</label>`;
  const hint = html`<p class="hint" id="hint-${path}">${sentence.replaceAll('`', '').replace(/,? or null\b/, '')}</p>`;
  const attributes = html` id="${path}" name="${path}" aria-describedby="hint-${path}"${isRequired && html` required`}`;
  const choices = await choicesFor(visit, schema);
  if (choices !== undefined)
    return html`<div>${label}<select${attributes}>${[['', ''] as const, ...choices].map(([value, name]) => html`<option value="${value}"${(value === text || name === text) && html` selected`}>${name}</option>`)}</select>${hint}</div>`;
  if ((schema.maxLength ?? 0) >= 1000) return html`<div>${label}<textarea${attributes}>${text}</textarea>${hint}</div>`;
  const kind = schema.format === 'date' ? html` type="date"` : isNumber(schema) && html` inputmode="decimal"`;
  return html`<div>${label}<input${attributes} value="${text}" autocomplete="off"${kind}>${hint}</div>`;
}

/** What a field can be, if it is not much; undefined if it is entered as text. */
async function choicesFor(
  visit: ConsoleVisit,
  schema: Schema,
): Promise<readonly (readonly [value: string, words: string])[] | undefined> {
  if (schema.enum !== undefined)
    return schema.enum.flatMap((value) => (value === null ? [] : [[value, valueInWords(value)] as const]));
  if ([schema.type].flat().includes('boolean'))
    return [
      ['yes', 'yes'],
      ['no', 'no'],
    ];
  const list = dataLists.get(schema['x-references'] ?? '');
  const { label } = list ?? {};
  if (list === undefined || label === undefined || list.filters.some(({ name }) => name === label)) return undefined;
  const rows = rowsIn(
    await callOperation(visit, list.operation, { path: list.path, ...listInput(list, {}, undefined, maxChoices) }),
  );
  return rows.map(flatRow).map((row) => [String(row.id), String(row[label] ?? row.systemRef)] as const);
}

/** Handles the form: rehearses what was entered, or writes it. Only fields that differ are written. */
export async function saveRow(visit: ConsoleVisit, list: DataList, row: VersionedRow | undefined) {
  const { fields } = visit;
  const writer = writerFor(visit, list, row);
  if (row !== undefined && fields.get('version') !== String(row.version))
    throw new Rejection(
      'PRECONDITION_FAILED',
      'Somebody else has changed it since you opened the page. Open it again.',
    );
  const names = row === undefined ? new Map() : await namesIn(visit, [row], list.properties);
  const entered = allInputs(writer, row).filter(({ path }) => fields.has(path));
  const attributes: Record<string, unknown> = {};
  for (const [name, inputs] of Map.groupBy(entered, ({ path }) => path.split('.')[0] ?? path)) {
    const textNow = (path: string) => fields.get(path)?.trim() ?? '';
    const current = ({ path, schema }: Input) => textOf(valueAt(row, path), schema, names);
    if (inputs.every((input) => textNow(input.path) === current(input).trim())) continue;
    const values: (readonly [string, unknown])[] = [];
    for (const input of inputs) {
      const text = textNow(input.path);
      const kept = text === current(input).trim() ? valueAt(row, input.path) : undefined;
      values.push([input.path, kept ?? (text === '' ? null : await parsed(visit, input.schema, text))]);
    }
    const assembled = assembledFrom(name, values);
    if (row !== undefined || assembled !== null) attributes[name] = assembled;
  }
  if (Object.keys(attributes).length === 0) throw new Rejection('INVALID_STATE', 'Nothing was changed.');
  const written = row ?? { systemRef: fields.get('newRef') ?? '', version: 0 };
  const { operation } = writer;
  const label = row === undefined ? 'Create' : 'Change';
  const name = `${typeInWords(list.type)} ${String(row?.[list.label ?? ''] ?? '')}`.trim();
  return rehearseOrDo(visit, {
    operation,
    input: writeOf(list, [written], operation, attributes),
    label,
    title: `${label}: ${name}`,
    from: `/data/${list.type}${row === undefined ? '' : `/${String(row.id)}`}`,
    names: [name],
  });
}

/** The value of a field from those of its inputs: one, an object, or a list without its empty items. */
function assembledFrom(name: string, values: readonly (readonly [path: string, value: unknown])[]): unknown {
  const [first] = values;
  if (first?.[0] === name) return first[1];
  const isFilled = ([, value]: readonly [string, unknown]) => value !== null;
  const partsOf = (of: typeof values) =>
    Object.fromEntries(of.filter(isFilled).map(([path, value]) => [path.split('.').at(-1) ?? '', value]));
  if (!/\.\d+\./.test(first?.[0] ?? '')) return values.some(isFilled) ? partsOf(values) : null;
  const items = [...Map.groupBy(values, ([path]) => path.split('.')[1]).values()].filter((item) => item.some(isFilled));
  return items.length === 0 ? null : items.map(partsOf);
}

async function parsed(visit: ConsoleVisit, schema: Schema, text: string): Promise<unknown> {
  const list = dataLists.get(schema['x-references'] ?? '');
  if (list === undefined || isId(text)) return typedValue(schema, text);
  const named = await idsNamed(visit, list, text);
  const exact = named.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  const [one, ...others] = exact.length > 0 ? exact : named;
  if (one !== undefined && others.length === 0) return one.id;
  const problem =
    one === undefined ? `None of the ${list.title.toLowerCase()} is` : `Several of the ${list.title.toLowerCase()} are`;
  throw new Rejection('VALIDATION_ERROR', `${problem} called “${text}”.`);
}
