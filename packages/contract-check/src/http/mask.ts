/** Replaces credentials in reports with the names of shell variables, such as `$TOKEN`. */

import { literal } from '../json.ts';
import type { Exchange } from './call.ts';
import { decoded, encoded } from './deserialize.ts';

export interface Secret {
  readonly value: string;
  readonly variable: string;
}

/** A part of a text: visible text, or a secret, of which only the variable is shown. */
export type Piece = string | Secret;

/** A range that is secret because of its position. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly variable: string;
}

/** Shorter values are not searched for in texts: they would match ordinary words, such as a tenant named `demo`. */
const minLiteralLength = 6;

const secretWords =
  /authorization|cookie|passw(or)?d|passphrase|passcode|secret(?!ar)|api_?key|access_?key|private_?key|credential|assertion|session_?id|jwt|bearer|token/;
/** Endings of names that describe a secret without containing it. */
const harmlessEnds =
  /(^|_)(type|kind|url|uri|endpoint|expires|expiry|expiration|in|at|count|limit|id|name|lifetime|length|policy|hint|status|required|size)$/;
const pageTokens = /(^|_)(page|next|previous|prev|continuation|sync|cursor|delta|scroll)_?token$/;

/** Whether a header, property, parameter or form field of this name contains a secret. */
export function isSecretName(name: string): boolean {
  const words = snake(name).toLowerCase();
  return secretWords.test(words) && !harmlessEnds.test(words.replace(/session_?id$/, '')) && !pageTokens.test(words);
}

/**
 * Replaces secrets: known ones, and those that are recognized by their position in exchanges. What is a secret in one
 * place is replaced everywhere. Equal values have the same variable.
 */
export class Mask {
  /** The variables of all secrets, as they are, URL-encoded and JSON-encoded. */
  readonly #variables = new Map<string, string>();
  readonly #literals = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** IDs that are too short to be searched for, by where they are. */
  readonly #ids: readonly Secret[];

  /** @param ids values that are no secrets, and that another run of the same requests replaces. */
  constructor(known: readonly Secret[] = [], exchanges: readonly Exchange[] = [], ids: readonly Secret[] = []) {
    this.#ids = ids.filter(({ value }) => value.length < minLiteralLength);
    for (const { value, variable } of ids) this.#add(value, variable, true);
    for (const { value, variable } of known) {
      this.#counts.set(variable, 1);
      if (value !== '') this.#add(value, variable, true);
    }
    for (const exchange of exchanges) this.pieces(exchange);
  }

  text(text: string): string {
    return shown(this.#pieces(text, urlSpans(text)));
  }

  pieces({ request, response }: Exchange) {
    const inHeaders = (headers: Readonly<Record<string, string>>) =>
      Object.entries(headers).map(([name, value]) => [name, this.#pieces(value, headerSpans(name, value))] as const);
    const type = Object.entries(request.headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
    const { url, body } = request;
    return {
      url: this.#pieces(url, [...urlSpans(url), ...this.#idsIn(url)]),
      headers: inHeaders(request.headers),
      body: body === undefined ? undefined : this.#pieces(body, [...bodySpans(body, type), ...this.#idsIn(body)]),
      responseHeaders: inHeaders(response.headers),
      responseBody: this.#pieces(response.text, bodySpans(response.text, response.mediaType)),
    };
  }

  /** Short IDs as segments of a path, and as values of a name that ends with `id`. */
  #idsIn(text: string): Span[] {
    return this.#ids.flatMap(({ value, variable }) => {
      const before = '(?<=[^/:]/|[?&\\[\\]\\w]*ids?=|"\\w*ids?"\\s*:\\s*\\[?"?)';
      const pattern = new RegExp(`${before}()(${literal(value)})(?=[/?#&",\\s}\\]]|$)`, 'dgi');
      return spansOf(text, pattern, () => variable);
    });
  }

  #pieces(text: string, named: readonly Span[]): Piece[] {
    const positions = [...named, ...apparentSecrets(text)].map((span) => {
      return { ...span, variable: this.#variableOf(text.slice(span.start, span.end), span.variable) };
    });
    const found = [...this.#literals].flatMap(([value, variable]) => occurrences(text, value, variable));
    const pieces: Piece[] = [];
    let end = 0;
    for (const span of together([...positions, ...found])) {
      if (span.start > end) pieces.push(text.slice(end, span.start));
      pieces.push({ value: text.slice(span.start, span.end), variable: span.variable });
      end = span.end;
    }
    if (end < text.length) pieces.push(text.slice(end));
    return pieces;
  }

  #variableOf(value: string, name: string): string {
    const variable = this.#variables.get(value);
    if (variable !== undefined) return variable;
    // Another credential needs another variable: to replace it with `$TOKEN` would change the request.
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    // Words of the language would be masked in ordinary text.
    return this.#add(value, count === 1 ? name : `${name}_${count}`, !/^[a-z]{1,11}$/i.test(value));
  }

  #add(value: string, variable: string, isSearched: boolean): string {
    for (const form of [value, encoded(value), JSON.stringify(value).slice(1, -1)]) {
      if (!this.#variables.has(form)) this.#variables.set(form, variable);
      if (isSearched && value.length >= minLiteralLength && !this.#literals.has(form))
        this.#literals.set(form, variable);
    }
    return variable;
  }
}

/** Pieces as text, with `$TOKEN` for a secret. */
export function shown(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : `$${piece.variable}`)).join('');
}

/** The secrets in a header, with the variables that are usual for them. */
export function secretsInHeader(name: string, value: string): Secret[] {
  return headerSpans(name, value).map(({ start, end, variable }) => ({ value: value.slice(start, end), variable }));
}

/** The variable for a name: `API_KEY` for `X-Api-Key`. */
export function variableOf(name: string): string {
  const variable = snake(name).toUpperCase().replace(/^X_/, '');
  return /^[A-Z]/.test(variable) ? variable : `SECRET_${variable}`;
}

function occurrences(text: string, value: string, variable: string): Span[] {
  const spans: Span[] = [];
  for (let start = text.indexOf(value); start >= 0; start = text.indexOf(value, start + value.length))
    spans.push({ start, end: start + value.length, variable });
  return spans;
}

/** Sorts spans, and joins those that overlap: the longest one gives the variable. */
function together(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    const last = joined.at(-1);
    if (last === undefined || span.start >= last.end) joined.push(span);
    else joined.splice(-1, 1, { ...last, end: Math.max(last.end, span.end) });
  }
  return joined;
}

/** JSON Web Tokens, and values after a scheme name. */
function apparentSecrets(text: string): Span[] {
  return [
    ...spansOf(text, /\beyJ[\w-]{8,}\.[\w-]{2,}\.[\w-]*/dg, () => 'TOKEN', 0),
    ...spansOf(text, /\b(?:Bearer|Basic)\s+((?=\S*\d)[\w.~+/=-]{8,})/dgi, () => 'TOKEN', 1),
  ];
}

function headerSpans(name: string, value: string): Span[] {
  const lower = name.toLowerCase();
  const ofCookie = (cookie: string) => `COOKIE_${snake(cookie).toUpperCase()}`;
  if (lower === 'cookie') return spansOf(value, /([^=;\s]+)=([^;]+)/dg, ofCookie);
  if (lower === 'set-cookie') return spansOf(value, /(?:^|,\s*)([^=;,\s]+)=([^;,]+)/dg, ofCookie);
  const ofScheme = (scheme: string) => (scheme.toLowerCase() === 'basic' ? 'CREDENTIALS' : 'TOKEN');
  if (/^(proxy-)?authorization$/.test(lower))
    return spansOf(value, /^(?:([A-Za-z][\w-]*)[ \t]+(?=\S))?([\s\S]+)$/dg, ofScheme);
  if (isSecretName(name) && value !== '') return [{ start: 0, end: value.length, variable: variableOf(name) }];
  return urlSpans(value);
}

function urlSpans(text: string): Span[] {
  return [
    ...spansOf(text, /[?&]([^=&#?\s]+)=([^&#\s>"']+)/dg, secretVariable),
    ...spansOf(text, /\b[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]*:([^@/?#\s]+)@/dgi, () => 'PASSWORD', 1),
  ];
}

function bodySpans(text: string, mediaType: string): Span[] {
  if (/form-urlencoded/i.test(mediaType)) return spansOf(text, /(?:^|&)([^=&]+)=([^&]+)/dg, secretVariable);
  if (/^multipart\//i.test(mediaType)) {
    return spansOf(text, /name="([^"]*)"[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n([\s\S]+?)(?=\r?\n--)/dg, secretVariable);
  }
  return /json/i.test(mediaType) || /^\s*[{[]/.test(text) ? jsonSpans(text) : [];
}

/** The variable of an encoded name; undefined if the name is not secret. */
function secretVariable(encoded: string): string | undefined {
  const name = decoded(encoded);
  return isSecretName(name) ? variableOf(name) : undefined;
}

/** The spans that match a pattern: by default its second group, named by its first. */
function spansOf(text: string, pattern: RegExp, variable: (name: string) => string | undefined, group = 2): Span[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const [start, end] = match.indices?.[group] ?? [0, 0];
    const name = variable(match[1] ?? '');
    return name === undefined || start === end ? [] : [{ start, end, variable: name }];
  });
}

/**
 * Strings under secret names. Works on tokens instead of a tree, because the rest of the text must stay unchanged, even
 * if it is truncated, has duplicate keys or is not JSON.
 */
function jsonSpans(text: string): Span[] {
  const spans: Span[] = [];
  /** The secret name that each open object or list is below, and its last key. */
  const levels: { readonly within: string | undefined; key?: string }[] = [];
  for (const match of text.matchAll(/"([^"\\]*(?:\\[\s\S]?[^"\\]*)*)(?:"|$)(\s*:)?|[{}[\],]/g)) {
    const [token, content = '', colon] = match;
    const { within, key = '' } = levels.at(-1) ?? {};
    const named = within ?? (isSecretName(key) ? key : undefined);
    if (token === '{' || token === '[') levels.push({ within: named });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' || colon !== undefined) levels.splice(-1, 1, { within, key: content });
    else if (named !== undefined && content !== '')
      spans.push({ start: match.index + 1, end: match.index + 1 + content.length, variable: variableOf(named) });
  }
  return spans;
}

function snake(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
}
