/** Replaces credentials in reports with the names of shell variables, such as `$TOKEN`. */

import type { Exchange } from '../http/call.ts';
import { decoded } from '../http/deserialize.ts';
import { parsedJson, remembered } from '../json.ts';

/** A value to mask, and the variable that replaces it: `TOKEN`, `OTHER_TENANT_TOKEN`. */
export interface Secret {
  readonly value: string;
  readonly variable: string;
}

/** A part of a text: visible text, or a secret, of which only the variable is shown. */
export type Piece = string | (Secret & { readonly isKnown: boolean });

/** A range that is secret because of its position. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly variable: string;
}

/** Shorter values are not searched for in text: they would match ordinary words, such as a tenant named `demo`. */
const shortestLiteral = 6;
/**
 * Text that a check appends to a known secret is shown, so that the command repeats the request. Longer text could be
 * another secret.
 */
const longestAddition = 12;

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

/** Masks known secrets anywhere in an exchange, and other secrets by name. */
export function maskExchange(exchange: Exchange, secrets: readonly Secret[] = []): Exchange {
  const variables = new Variables(secrets);
  const { request, response } = exchange;
  const masked = textsOf(exchange, (text, named) => shown(variables.pieces(text, named)));
  const { url, body, responseText: text } = masked;
  return {
    operation: exchange.operation,
    request: { method: request.method, url, headers: Object.fromEntries(masked.headers), body },
    response: {
      ...{ ...response, headers: Object.fromEntries(masked.responseHeaders), text },
      json: text === response.text ? response.json : response.json && parsedJson(text),
    },
  };
}

/** Secrets that are recognized by their position in an exchange, so that they can be masked elsewhere, too. */
export function secretsIn(exchanges: readonly Exchange[], known: readonly Secret[] = []): Secret[] {
  const variables = new Variables(known);
  const found = new Map<string, Secret>();
  // Each position by itself: a secret can contain another one.
  const note = (text: string, named: readonly Span[]) => {
    for (const { start, end, variable } of [...named, ...apparentSecrets(text)])
      for (const piece of variables.pieces(text.slice(start, end), [{ start: 0, end: end - start, variable }]))
        if (typeof piece !== 'string' && !piece.isKnown) found.set(piece.value, piece);
  };
  for (const exchange of exchanges) textsOf(exchange, note);
  // Words of the language would be masked in ordinary text.
  return [...found.values()].filter(({ value }) => value.length >= shortestLiteral && !/^[a-z]{1,11}$/i.test(value));
}

/** Every text of an exchange, written from the text and the positions of its secrets. */
function textsOf<Written>({ request, response }: Exchange, write: (text: string, named: readonly Span[]) => Written) {
  const inHeaders = (headers: Readonly<Record<string, string>>) =>
    Object.entries(headers).map(([name, value]) => [name, write(value, headerSpans(name, value))] as const);
  const mediaType = Object.entries(request.headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  return {
    headers: inHeaders(request.headers),
    url: write(request.url, urlSpans(request.url)),
    body: request.body === undefined ? undefined : write(request.body, bodySpans(request.body, mediaType)),
    responseText: write(response.text, bodySpans(response.text, response.mediaType)),
    responseHeaders: inHeaders(response.headers),
  };
}

/** The secrets in a header, with the variables that are usual for them. */
export function secretsInHeader(name: string, value: string): Secret[] {
  return headerSpans(name, value).map(({ start, end, variable }) => ({ value: value.slice(start, end), variable }));
}

/** The parts of a request, with variables in place of secrets. */
export function requestPieces(exchange: Exchange, secrets: readonly Secret[] = []) {
  const variables = new Variables(secrets);
  return textsOf(exchange, (text, named) => variables.pieces(text, named));
}

/** Masks known secrets and text that looks like a secret. */
export function maskText(text: string, secrets: readonly Secret[] = []): string {
  return shown(new Variables(secrets).pieces(text, urlSpans(text)));
}

/** The variable for a name: `API_KEY` for `X-Api-Key`. */
export function variableOf(name: string): string {
  const variable = snake(name).toUpperCase().replace(/^X_/, '');
  return /^[A-Z]/.test(variable) ? variable : `SECRET_${variable}`;
}

/** Assigns variables within one exchange: equal values share a variable. */
class Variables {
  readonly #secrets: readonly Secret[];
  /** The variables of values, by name. */
  readonly #values = new Map<string, Map<string, string>>();

  constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets.filter(({ value }) => value.length > 0);
  }

  /** Splits a text at its secrets. Known secrets take precedence over those recognized by position. */
  pieces(text: string, named: readonly Span[]): Piece[] {
    const known = new Set(this.#knownSpans(text, named));
    const others = without([...named, ...apparentSecrets(text)], [...known]);
    const pieces: Piece[] = [];
    let end = 0;
    for (const span of apart([...known, ...others])) {
      if (span.start > end) pieces.push(text.slice(end, span.start));
      const value = text.slice(span.start, span.end);
      const isKnown = known.has(span);
      pieces.push({ value, variable: isKnown ? span.variable : this.#variable(span.variable, value), isKnown });
      end = span.end;
    }
    if (end < text.length) pieces.push(text.slice(end));
    return pieces;
  }

  #knownSpans(text: string, named: readonly Span[]): Span[] {
    const spans = this.#secrets.flatMap(({ value, variable }) => {
      const whole = named.filter(({ start, end }) => end - start === value.length && text.startsWith(value, start));
      const anywhere = value.length < shortestLiteral ? [] : occurrences(text, value);
      return [...whole, ...anywhere].map(({ start, end }) => ({ start, end, variable }));
    });
    return apart(spans);
  }

  #variable(name: string, value: string): string {
    // An unknown credential gets another name: replacing it with `$TOKEN` would change the request.
    const base = this.#secrets.some(({ variable }) => variable === name) ? `OTHER_${name}` : name;
    const values = remembered(this.#values, base, () => new Map<string, string>());
    return remembered(values, value, () => (values.size === 0 ? base : `${base}_${values.size + 1}`));
  }
}

function shown(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : `$${piece.variable}`)).join('');
}

/** Where a text has a value, as it is, URL-encoded or JSON-encoded. */
function occurrences(text: string, value: string): { start: number; end: number }[] {
  const forms = new Set([value, encodeURIComponent(value.toWellFormed()), JSON.stringify(value).slice(1, -1)]);
  return [...forms].flatMap((form) => {
    const parts = text.split(form).slice(0, -1);
    let end = 0;
    return parts.map((part) => {
      const start = end + part.length;
      end = start + form.length;
      return { start, end };
    });
  });
}

function inOrder(spans: readonly Span[]): Span[] {
  return spans.toSorted((one, other) => one.start - other.start || other.end - one.end);
}

/** Sorts spans and removes overlaps: the first one is kept; of those with the same start, the longest. */
function apart(spans: readonly Span[]): Span[] {
  let end = 0;
  return inOrder(spans).filter((span) => {
    if (span.start < end) return false;
    end = span.end;
    return true;
  });
}

/** Removes known secrets, which are sorted and do not overlap, from spans. */
function without(spans: readonly Span[], known: readonly Span[]): Span[] {
  let next = 0;
  return inOrder(spans).flatMap((span) => {
    while ((known[next]?.end ?? Number.POSITIVE_INFINITY) <= span.start) next += 1;
    const rest: Span[] = [];
    let start = span.start;
    for (let index = next; (known[index]?.start ?? Number.POSITIVE_INFINITY) < span.end; index += 1) {
      rest.push({ ...span, start, end: known[index]?.start ?? start });
      start = known[index]?.end ?? start;
    }
    if (start === span.start) return [span];
    return [...rest, { ...span, start }].filter((one) => one.end - one.start > longestAddition);
  });
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
  if (lower === 'cookie') return spansOf(value, /([^=;\s]+)=([^;]+)/dg, cookieVariable);
  if (lower === 'set-cookie') return spansOf(value, /(?:^|,\s*)([^=;,\s]+)=([^;,]+)/dg, cookieVariable);
  if (/^(proxy-)?authorization$/.test(lower)) {
    return spansOf(value, /^(?:([A-Za-z][\w-]*)[ \t]+(?=\S))?([\s\S]+)$/dg, schemeVariable);
  }
  if (isSecretName(name) && value !== '') return [{ start: 0, end: value.length, variable: variableOf(name) }];
  return urlSpans(value);
}

function cookieVariable(name: string): string {
  return `COOKIE_${snake(name).toUpperCase()}`;
}

function schemeVariable(scheme: string): string {
  return scheme.toLowerCase() === 'basic' ? 'CREDENTIALS' : 'TOKEN';
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

interface Level {
  /** The name of the secret that contains this level. */
  readonly within: string | undefined;
  key: string | undefined;
}

/**
 * Strings under secret names. Works on tokens instead of a tree, because the rest of the text must stay unchanged, even
 * if it is truncated, has duplicate keys or is not JSON.
 */
function jsonSpans(text: string): Span[] {
  const spans: Span[] = [];
  let level: Level = { within: undefined, key: undefined };
  const outer: Level[] = [];
  for (const match of text.matchAll(/"([^"\\]*(?:\\[\s\S]?[^"\\]*)*)(?:"|$)(\s*:)?|[{}[\],]/g)) {
    const [token, content = '', colon] = match;
    const named = level.within ?? (level.key !== undefined && isSecretName(level.key) ? level.key : undefined);
    if (colon !== undefined) level.key = content;
    else if (token === '{' || token === '[') {
      outer.push(level);
      level = { within: named, key: undefined };
    } else if (token === '}' || token === ']') level = outer.pop() ?? { within: undefined, key: undefined };
    else if (token === ',') level.key = undefined;
    else if (named !== undefined && content !== '') {
      spans.push({
        start: match.index + 1,
        end: match.index + 1 + content.length,
        variable: variableOf(named),
      });
    }
  }
  return spans;
}

function snake(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
}
