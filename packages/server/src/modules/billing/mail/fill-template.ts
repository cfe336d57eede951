import type { components } from '@financial-automation/spec';
import { schemaOf } from '../../../contract/contract.ts';
import { propertiesOf } from '../../../contract/fields.ts';
import { html } from '../../../wire/html.ts';

/** Values by the name of the variable; an empty text if it has none. */
export type MailValues = Readonly<components['schemas']['MailVariables']>;

const variable = /\{\{\s*(\w+)\s*\}\}/g;
const known: ReadonlySet<string> = new Set(Object.keys(propertiesOf(schemaOf('MailVariables'))));

/** Returns the first variable of a text that does not exist. */
export function unknownVariable(text: string): string | undefined {
  return [...text.matchAll(variable)].map(([, name = '']) => name).find((name) => !known.has(name));
}

/** Fills a plain text. A line whose variables are all empty is left out. */
export function fillText(text: string, values: MailValues): string {
  const lines = text.split('\n').filter((line) => !isEmptyLine(line, values));
  return lines.map((line) => filled(line, values, (value) => value)).join('\n');
}

/** Fills the subject, which is one line whatever the values are. */
export function fillSubject(text: string, values: MailValues): string {
  const line = oneLine(filled(text, values, (value) => value));
  return line.slice(0, maxSubjectLength).toWellFormed();
}

/** The text of a header, which has no line breaks. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
}

const maxSubjectLength = 300;

/** The same for HTML: values are text, and keep their lines. */
export function fillHtml(text: string, values: MailValues): string {
  const lines = text.split('\n').filter((line) => !isEmptyLine(line, values));
  return lines.map((line) => filled(line, values, inHtml)).join('\n');
}

/** HTML of a filled plain text: paragraphs, lines and links. */
export function htmlOf(text: string): string {
  const paragraphs = text
    .split(/\n{2,}/)
    .map((paragraph) => `<p dir="auto">${inHtml(paragraph).replaceAll(link, '<a href="$&">$&</a>')}</p>`);
  return paragraphs.join('\n');
}

const link = /https?:\/\/[^\s<"&]+/g;

function inHtml(value: string): string {
  return html`${value}`.text.replaceAll('\n', '<br>\n');
}

function isEmptyLine(line: string, values: MailValues): boolean {
  const names = [...line.matchAll(variable)].map(([, name = '']) => name);
  return names.length > 0 && names.every((name) => variableOf(name, values) === '');
}

function filled(text: string, values: MailValues, shown: (value: string) => string): string {
  return text.replaceAll(variable, (_, name: string) => shown(variableOf(name, values)));
}

function variableOf(name: string, values: MailValues): string {
  return Object.entries(values).find(([known]) => known === name)?.[1] ?? '';
}
