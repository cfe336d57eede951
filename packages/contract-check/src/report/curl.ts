/** A POSIX shell command that repeats a request byte by byte. */
import type { Exchange } from '../http/call.ts';
import { Mask, type Piece } from '../http/mask.ts';
import { literal } from '../json.ts';

/** Headers that curl sends itself. */
const ownHeaders = new Set(['content-length', 'connection', 'transfer-encoding', 'keep-alive']);
/** Linux limits an argument to 128 KiB. Builtins such as `printf` have no limit. */
const maxArgumentLength = 100_000;
/** Control and invisible characters, for `printf`. Line breaks and tabs are safe within quotes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const unseen = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/;

/** @param mask replaces secrets by variables, which must be set to run the command. */
export function curlOf(exchange: Exchange, mask = new Mask()): string {
  const { method, url: address } = exchange.request;
  const { url, headers, body } = mask.pieces(exchange);
  const words = ['curl', ...methodWords(method, body !== undefined)];
  // curl expands [1-3] and {a,b}, and normalizes /../.
  if (/[[\]{}]/.test(address)) words.push('-g');
  if (/\/(\.|%2e)/i.test(address)) words.push('--path-as-is');
  words.push(quoted(url));
  for (const [name, value] of headers) {
    if (!isOwnHeader(name, value, address)) words.push('-H', headerWord(name, value));
  }
  if (body === undefined) return words.join(' ');
  if (!headers.some(([name]) => name.toLowerCase() === 'content-type')) words.push('-H', quoted(['Content-Type:']));
  if (isPiped(body)) return `printf ${printfFormat(body)} | ${words.join(' ')} --data-binary @-`;
  // With --data-binary, a leading @ is the name of a file.
  const option = typeof body[0] === 'string' && body[0].startsWith('@') ? '--data-raw' : '--data-binary';
  return [...words, option, quoted(body)].join(' ');
}

/** A command whose response has an ID, as one that assigns the ID to a variable, and prints the response. */
export function assigned(
  command: string,
  variable: string,
  id: string,
  { text, headers }: Exchange['response'],
): string {
  const match = new RegExp(`"([\\w-]+)"\\s*:\\s*("?)${literal(id)}\\2\\s*[,}]`).exec(text);
  const [, name = '', quote = ''] = match ?? [];
  const before = text.slice(0, match?.index).split(`"${name}":`).length;
  const member = `grep -o '"${name}": *${quote === '' ? '[0-9]*' : '"[^"]*"'}' | sed -n ${before}p | ${quote === '' ? 'tr -dc 0-9' : `cut -d'"' -f4`}`;
  const last = "sed -n 's#^[Ll]ocation: .*/\\([^/]*\\)\\r*$#\\1#p' | tr -d '\\r'";
  if (match === null && headers.location === undefined) return command;
  return `${variable}=$(${command.replace('curl -i', 'curl -si')} | tee /dev/stderr | ${match === null ? last : member})`;
}

function methodWords(method: string, hasBody: boolean): string[] {
  // With -X HEAD, curl waits for a body of the declared length.
  if (method === 'HEAD' && !hasBody) return ['-I'];
  return method === 'GET' && !hasBody ? ['-i'] : ['-i', '-X', quoted([method])];
}

function isOwnHeader(name: string, value: readonly Piece[], address: string): boolean {
  const lower = name.toLowerCase();
  if (lower === 'host') return value.length === 1 && URL.parse(address)?.host === value[0];
  return ownHeaders.has(lower);
}

function headerWord(name: string, value: readonly Piece[]): string {
  // `Name:` removes a header in curl; `Name;` sends it empty.
  if (value.length === 0) return quoted([`${name};`]);
  const pieces = [`${name}: `, ...value];
  // HTTP headers are Latin-1, but a shell writes UTF-8.
  const isAscii = pieces.every((piece) => typeof piece !== 'string' || /^[\t\x20-\x7e]*$/.test(piece));
  return isAscii ? quoted(pieces) : `"$(printf ${printfFormat(pieces, 'latin1')})"`;
}

function isPiped(body: readonly Piece[]): boolean {
  const text = body.filter((piece) => typeof piece === 'string').join('');
  return text.length > maxArgumentLength || unseen.test(text);
}

function quoted(pieces: readonly Piece[]): string {
  const texts = pieces.filter((piece) => typeof piece === 'string');
  // Not for bodies: `$( )` removes trailing line breaks.
  if (texts.some((text) => unseen.test(text))) return `"$(printf ${printfFormat(pieces)})"`;
  if (texts.length === pieces.length) return singleQuoted(texts.join(''));
  // In an interactive bash, ! in double quotes expands the history.
  if (texts.some((text) => text.includes('!'))) return pieces.map(separately).join('');
  return `"${pieces.map((piece, index) => within(piece, pieces[index + 1])).join('')}"`;
}

function singleQuoted(text: string): string {
  if (/^[\w./:=,@%+-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function separately(piece: Piece): string {
  return typeof piece === 'string' ? singleQuoted(piece) : `"$${piece.variable}"`;
}

function within(piece: Piece, next: Piece | undefined): string {
  if (typeof piece === 'string') return piece.replace(/[\\"$`]/g, '\\$&');
  return typeof next === 'string' && /^\w/.test(next) ? `\${${piece.variable}}` : `$${piece.variable}`;
}

/** A `printf` format: invisible bytes as octal escapes, and variables as arguments. */
function printfFormat(pieces: readonly Piece[], encoding: 'utf8' | 'latin1' = 'utf8'): string {
  const values = pieces.filter((piece) => typeof piece !== 'string');
  const format = pieces.map((piece) => (typeof piece === 'string' ? escaped(piece, encoding) : '%s')).join('');
  // A leading hyphen would be an option.
  const word = format.replace(/^-/, '\\055').replaceAll("'", `'\\''`);
  return [`'${word}'`, ...values.map(({ variable }) => `"$${variable}"`)].join(' ');
}

function escaped(text: string, encoding: 'utf8' | 'latin1'): string {
  const plain = text.replaceAll('\\', '\\\\').replaceAll('%', '%%');
  const hidden = encoding === 'latin1' ? /[^\x20-\x7e]/g : new RegExp(unseen, 'g');
  return plain.replace(hidden, (character) =>
    [...Buffer.from(character, encoding)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  );
}
