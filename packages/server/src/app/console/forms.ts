/** Inputs of forms, derived from the schemas of what operations write, and the values that people enter in them. */

import { mayCall } from '@financial-automation/spec/roles';
import { validate as isId } from 'uuid';
import type { Schema } from '../../contract/contract.ts';
import { isFixedIn, isOf } from '../../contract/fields.ts';
import { Rejection } from '../../contract/rejection.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { dataLists, isEventType, isNumber, merged, plain } from './catalog.ts';
import { idsNamed, readList, typedValue } from './filter.ts';
import { options, type SelectOption } from './layout.ts';
import { type Names, namesIn } from './names.ts';
import type { ShownRow } from './values.ts';
import type { ConsoleVisit } from './visit.ts';
import { eventTypes, fieldInWords, itemInWords, sentenceInWords, typeInWords, valueInWords } from './words.ts';

/** Of lists with more rows than this, a row is entered by its name, number or key instead of being chosen. */
const maxChoices = 100;
/** Empty rows of a list in a form. */
const newItems = 3;
const skipped = new Set(['metadata', 'sysRefs', 'systemRef', 'active']);

/** An input of a form: a field, a part of it (`address.city`), or one of an item (`lines.0.amount`). */
export interface FormInput {
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired?: boolean;
  /** The other parts of an item, which it keeps as they are. */
  readonly carried?: readonly string[];
}

/** Whether a value is a list of texts, or of the IDs of rows. */
function isTexts(schema: Schema): boolean {
  return isOf(schema, 'array') && isLeaf(plain(schema.items ?? {}));
}

function isLeaf(schema: Schema): boolean {
  return !isOf(schema, 'array') && (schema['x-references'] !== undefined || !isOf(schema, 'object'));
}

/**
 * The inputs of what is written of a row, or of a new one, which requires what can neither be null nor is set by the service. A
 * field is left out if a form would lose a part of what the row has.
 */
export function inputsOf({ properties = {} }: Schema, row?: ShownRow, isCustom = false): FormInput[] {
  return Object.entries(properties).flatMap(([name, unmerged]): FormInput[] => {
    const schema = plain(unmerged);
    const { initial } = schema['x-state-machine'] ?? {};
    const isSkipped =
      row === undefined
        ? schema['x-of-change'] || initial?.length === 1
        : initial !== undefined || isFixedIn(row, schema['x-immutable']);
    if (!isCustom && (skipped.has(name) || schema['x-imports-only'] || isSkipped)) return [];
    if (initial !== undefined) return [{ path: name, schema: { ...schema, enum: initial } }];
    if (isLeaf(schema)) return [{ path: name, schema, isRequired: row === undefined && isRequired(merged(unmerged)) }];
    const isList = isOf(schema, 'array');
    const item = plain((isList ? schema.items : schema) ?? {});
    const current = row?.[name];
    // Texts are separated by commas.
    if (isTexts(schema))
      return [current].flat().join().split(',').length > [current].flat().length
        ? []
        : [{ path: name, schema, isRequired: false }];
    const hasId = isList && item.properties?.id !== undefined;
    const parts = Object.entries(item.properties ?? {}).flatMap(([part, of]) =>
      hasId && part === 'id' ? [] : [[part, plain(of)] as const],
    );
    const leaves = parts.filter(([, of]) => isLeaf(of) || (isTexts(of) && of['x-references'] === undefined));
    const rows = parts.filter(([, of]) => isTexts(of) && of['x-references'] !== undefined);
    const carried = row === undefined ? [] : ['id', ...rows.map(([part]) => part)];
    const inputsAt = (path: string) =>
      leaves.map(([part, of]): FormInput => ({ path: `${path}.${part}`, schema: of, isRequired: false, carried }));
    if (!isList) return inputsAt(name);
    const count = Array.isArray(current) ? current.length : 0;
    // The service keeps the other parts of an item with an ID.
    const isWhole = hasId || leaves.length + rows.length === parts.length;
    const isComplete = isWhole && count === (row?.[`${name}Count`] ?? count);
    if (leaves.length === 0 || (row !== undefined && !isComplete)) return [];
    return Array.from({ length: count + newItems }, (_unused, index) => inputsAt(`${name}.${index}`)).flat();
  });
}

function isRequired(schema: Schema): boolean {
  return !isOf(schema, 'null') && schema['x-on-create'] === undefined;
}

/** The text of an input for what a row has at its path. */
function currentText({ tenant }: ConsoleVisit, { path, schema }: FormInput, row: ShownRow, names: Names): string {
  const value = valueAt(row, path);
  if (value === null || value === undefined) return '';
  if (schema.format === 'date-time')
    return Temporal.Instant.from(String(value))
      .toZonedDateTimeISO(tenant.timeZone)
      .toPlainDateTime()
      .toString({ smallestUnit: 'minute' });
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const isCode = merged(schema.items ?? {}).enum !== undefined;
  const textOf = (one: string) => {
    const name = isCode ? valueInWords(one) : (names.get(one) ?? one);
    return name.includes(',') ? one : name;
  };
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return (schema['x-references'] !== undefined && names.get(String(value))) || String(value);
}

function valueAt(row: ShownRow | undefined, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((part, name) => (Object.hasOwn(Object(part), name) ? Object(part)[name] : undefined), row);
}

interface FormState {
  readonly names?: Names;
  /** Distinguishes the inputs of several forms on a page. */
  readonly form?: string;
  /** Why what was entered was rejected. */
  readonly problem?: Rejection | undefined;
}

/** What is chosen in the form of a new row: what people enter comes from no other system. */
export function newRow(inputs: readonly FormInput[]): ShownRow {
  return inputs.some(({ path, schema }) => path === 'source' && schema.enum?.includes('MANUAL'))
    ? { source: 'MANUAL' }
    : {};
}

/** The item that an input is a part of, in words; nothing for other inputs. */
function itemOf({ path }: FormInput): string {
  const [, list, position = ''] = /^(\w+)\.(\d+)\./.exec(path) ?? [];
  return list === undefined ? '' : itemInWords(list, position);
}

/** The inputs of a form, with what was entered, or what a row has: first those of the row itself, then those of each item. */
export async function inputsFor(
  visit: ConsoleVisit,
  inputs: readonly FormInput[],
  row: ShownRow = {},
  { names = new Map(), form = '', problem }: FormState = {},
): Promise<HtmlContent> {
  const known: Choices = new Map();
  const all = inputs.map(async (input) => {
    const own = problem?.errors?.filter(({ pointer }) => pointer === `/${input.path.replaceAll('.', '/')}`) ?? [];
    const faults = own.map(({ detail }) => html`<p class="fault">${sentenceInWords(detail)}</p>`);
    const shown = html`<div>${await inputFor(visit, input, row, { names, form, known })}${faults}</div>`;
    return { item: itemOf(input), shown };
  });
  const items = Map.groupBy(await Promise.all(all), ({ item }) => item);
  const shownIn = (item: string) => items.get(item)?.map(({ shown }) => shown);
  const own = shownIn('') ?? [];
  items.delete('');
  const others = [...items.keys()].map((item) => html`<fieldset><legend>${item}</legend>${shownIn(item)}</fieldset>`);
  return html`<div class="form">${own}${others}</div>`;
}

const inputTypes: Readonly<Record<string, string>> = { date: 'date', 'date-time': 'datetime-local', binary: 'file' };

async function inputFor(
  visit: ConsoleVisit,
  input: FormInput,
  row: ShownRow,
  { names, form, known }: { readonly names: Names; readonly form: string; readonly known: Choices },
): Promise<HtmlContent> {
  const { path, schema, isRequired } = input;
  const text = visit.fields.get(path) ?? currentText(visit, input, row, names);
  const id = `${form}${path}`;
  const item = itemOf(input);
  const [field = '', part = ''] = item === '' ? path.split('.') : path.split('.').slice(2);
  const words = part === '' ? fieldInWords(field) : `${fieldInWords(field)} ${fieldInWords(part).toLowerCase()}`;
  const label = html`<label for="${id}">${words}${isRequired && text === '' && html` <span class="hint">required</span>`}</label>`;
  // The others say the same.
  const described = /\.[1-9]\d*\./.test(path) ? '' : hintOf(schema);
  const hint = described !== '' && html`<p class="hint" id="hint-${id}">${described}</p>`;
  const whole = item !== '' && html` aria-label="${item}: ${words.toLowerCase()}"`;
  const attributes = html` id="${id}" name="${path}"${whole}${described !== '' && html` aria-describedby="hint-${id}"`}${isRequired && html` required`}`;
  // Of several rows, the names are entered.
  const { 'x-references': target } = schema;
  const read = async () => {
    const found = known.get(target ?? '') ?? choicesFor(visit, schema);
    if (target !== undefined) known.set(target, found);
    return found;
  };
  const choices = isOf(schema, 'array') ? undefined : await read();
  if (choices !== undefined) {
    // A row is chosen by its ID, as others can have its name; it stays a choice when it is no longer offered.
    const stored = schema['x-references'] === undefined ? text : String(valueAt(row, path) ?? '');
    const chosen = visit.fields.get(path) ?? stored;
    const isOffered = ['', ...choices].some((one) => chosen === (typeof one === 'string' ? one : one[0]));
    const first = isRequired && text !== '' ? [] : [''];
    const kept = isOffered ? [] : [[chosen, names.get(chosen) ?? chosen] as const];
    return html`${label}<select${attributes}>${options([...first, ...kept, ...choices], chosen)}</select>${hint}`;
  }
  // An input on one line would lose the others.
  if (((schema.maxLength ?? 0) >= 1000 && schema.format !== 'uri') || text.includes('\n'))
    return html`${label}<textarea${attributes}>${text}</textarea>${hint}`;
  const type = inputTypes[schema.format ?? ''];
  const kind = type ? html` type="${type}"` : isNumber(schema) && html` inputmode="decimal"`;
  const isReference = schema['x-references'] !== undefined && html` placeholder="Name, number or key"`;
  const types = () => [...eventTypes.values()].map((one) => html`<option>${typeInWords(one)}</option>`);
  const offers = isEventType(schema) && html`<datalist id="types-${id}">${types()}</datalist>`;
  return html`${label}<input${attributes} value="${text}"${kind}${isReference}${offers && html` list="types-${id}"`}>${offers}${hint}`;
}

/** The first sentence about a field, and the values of a list of them. */
function hintOf({ description = '', items }: Schema): string {
  const [sentence = ''] = /^[^\n]*?[.](?=\s|$)/.exec(description) ?? [];
  const offered = items && merged(items).enum?.map(valueInWords).join(', ');
  const several = items && ` Several are separated by commas${offered === undefined ? '' : `: ${offered}`}.`;
  // One of a few words repeats the label.
  const telling =
    sentence.split(' ').length > 4 ? sentence.replace(/,? or null\b(?= )/, '; empty').replace(/,? or null\b/, '') : '';
  return sentenceInWords(`${telling.replaceAll(/\bnull\b/g, 'empty')}${several ?? ''}`.trim());
}

/** A form that shows a page again with what is entered in it. */
export async function queryForm(
  visit: ConsoleVisit,
  url: string,
  values: ShownRow,
  inputs: readonly FormInput[],
  button = 'Show',
) {
  return html`<form class="card scope" method="get" action="${visit.base}${url}">${await inputsFor(visit, inputs, values)}<div class="row"><button>${button}</button></div></form>`;
}

/** What has been read to be chosen on a page, by the type of the rows. */
type Choices = Map<string, ReturnType<typeof choicesFor>>;

/** What a field can be, if it is not much; undefined if it is entered as text. */
async function choicesFor(visit: ConsoleVisit, schema: Schema): Promise<readonly SelectOption[] | undefined> {
  if (schema.enum !== undefined)
    return schema.enum.flatMap((value) => (value === null ? [] : [[value, valueInWords(value)] as const]));
  if (isOf(schema, 'boolean')) return ['yes', 'no'];
  const list = dataLists.get(schema['x-references'] ?? '');
  const { label } = list ?? {};
  const isRead = list !== undefined && mayCall(list.operation, visit.caller.roles);
  if (!isRead || label === undefined || list.filters.some(({ name }) => name === label)) return undefined;
  const { rows, next } = await readList(visit, list, { pageSize: maxChoices });
  if (next !== undefined) return undefined;
  const rowsByName = Map.groupBy(rows, (row) => String(row[label] ?? row.systemRef));
  const alike = [...rowsByName.values()].filter((same) => same.length > 1).flat();
  const names = await namesIn(visit, alike, list.properties);
  // What tells rows of one name apart: whose they are, and their number.
  const details = (row: ShownRow) =>
    list.columns.slice(1, 3).flatMap((column) => names.get(String(row[column])) ?? row[column] ?? []);
  return rows.map((row) => {
    const name = String(row[label] ?? row.systemRef);
    return [String(row.id), alike.includes(row) ? `${name} (${details(row).join(', ')})` : name] as const;
  });
}

function enteredText({ fields }: ConsoleVisit, { path }: FormInput): string {
  return trimmed(fields.get(path) ?? '');
}

/** Browsers end lines with CR LF, whatever ended them in the page. */
function trimmed(text: string): string {
  return text.replaceAll('\r\n', '\n').trim();
}

/** Whether what was entered is what a row has. A choice of rows has their IDs. */
function isKept(visit: ConsoleVisit, input: FormInput, row: ShownRow = {}, names: Names): boolean {
  const texts = [String(valueAt(row, input.path) ?? ''), currentText(visit, input, row, names)];
  return texts.map(trimmed).includes(enteredText(visit, input));
}

/** A field that was changed, with the inputs of it that were sent. */
export type Changed = readonly [field: string, inputs: readonly FormInput[]];

export function changedInputs(
  visit: ConsoleVisit,
  inputs: readonly FormInput[],
  row: ShownRow | undefined,
  names: Names,
): Changed[] {
  const sent = inputs.filter(({ path }) => visit.fields.has(path));
  const fields = [...Map.groupBy(sent, ({ path }) => path.split('.')[0] ?? path)];
  return fields.filter(([, own]) => !own.every((input) => isKept(visit, input, row, names)));
}

/** What was entered in a form, by the field: what differs from the row, or all that is not empty. @throws Rejection `VALIDATION_ERROR` */
export async function enteredValues(
  visit: ConsoleVisit,
  inputs: readonly FormInput[],
  row: ShownRow | undefined,
  names: Names,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, own] of changedInputs(visit, inputs, row, names)) {
    const parts: (readonly [string, unknown])[] = [];
    for (const input of own) {
      const [text, kept] = [
        enteredText(visit, input),
        isKept(visit, input, row, names) ? valueAt(row, input.path) : undefined,
      ];
      parts.push([input.path, kept ?? (text === '' ? null : await parsed(visit, input.schema, text))]);
    }
    const value = assembledFrom(name, parts, row, own[0]?.carried);
    if (row !== undefined || (value !== null && !(Array.isArray(value) && value.length === 0))) values[name] = value;
  }
  return values;
}

/** The value of a field from those of its inputs: one, an object, or a list without its empty items. */
function assembledFrom(
  name: string,
  values: readonly (readonly [path: string, value: unknown])[],
  row: ShownRow | undefined,
  carried: readonly string[] = [],
): unknown {
  const [first] = values;
  if (first?.[0] === name) return first[1];
  const isFilled = ([, value]: readonly [string, unknown]) => value !== null;
  const partsOf = (of: typeof values) =>
    Object.fromEntries(of.filter(isFilled).map(([path, value]) => [path.split('.').at(-1) ?? '', value]));
  if (!/\.\d+\./.test(first?.[0] ?? '')) return values.some(isFilled) ? partsOf(values) : null;
  const items = [...Map.groupBy(values, ([path]) => path.split('.')[1])].filter(([, item]) => item.some(isFilled));
  return items.map(([position, item]) => {
    const kept = Object.entries(Object(valueAt(row, `${name}.${position}`))).filter(([part]) => carried.includes(part));
    return { ...Object.fromEntries(kept), ...partsOf(item) };
  });
}

/** The instant of a time at the firm; a text that is none stays one. */
function instantOf({ tenant }: ConsoleVisit, text: string): string {
  try {
    if (!/^[\d-]+T[\d:]+$/.test(text)) return text;
    return Temporal.PlainDateTime.from(text).toZonedDateTime(tenant.timeZone).toInstant().toString();
  } catch {
    return text;
  }
}

async function parsed(visit: ConsoleVisit, schema: Schema, text: string): Promise<unknown> {
  if (schema.format === 'date-time') return instantOf(visit, text);
  const target = schema['x-references'];
  if (target !== undefined && isOf(schema, 'array'))
    return Promise.all(text.split(',').map((one) => parsed(visit, { 'x-references': target }, one.trim())));
  const list = dataLists.get(target ?? '');
  // A record of a custom type has a key.
  if (target !== undefined && list === undefined && !isId(text)) return { systemRef: text };
  if (list === undefined || isId(text)) return typedValue(schema, text);
  const named = await idsNamed(visit, list, text);
  const exact = named.filter((row) => row.number === text || row.name.toLowerCase() === text.toLowerCase());
  const [one, ...others] = exact.length > 0 ? exact : named;
  if (one !== undefined && others.length === 0) return one.id;
  const title = list.title.toLowerCase();
  if (one === undefined) throw new Rejection('VALIDATION_ERROR', `None of the ${title} is called “${text}”.`);
  const numbers = [one, ...others].flatMap(({ number }) => number ?? []).slice(0, 5);
  const advice =
    numbers.length > 0 ? ` Enter the number or key of the one you mean, such as ${numbers.join(', ')}.` : '';
  throw new Rejection('VALIDATION_ERROR', `More than one of the ${title} is called “${text}”.${advice}`);
}
