import { envelopeOf, wrapped } from '../document/envelopes.ts';
import type { Field, Operation, Parameter } from '../document/operation.ts';
import { formMembers, isJson, isObject, jsonText } from '../json.ts';
import { bodySchemaOf, type Call, contentOf } from './call.ts';
import { encoded } from './deserialize.ts';

export interface WireRequest {
  readonly method: string;
  /** The path with its query, relative to the base URL, without the extension of the path. */
  readonly target: string;
  /** `.json` or `/`, if the contract's path ends with it. */
  readonly extension?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  readonly cookie?: string;
  readonly keys?: Readonly<Record<string, string>>;
  /** Lower-case names of identity headers to omit. */
  readonly without?: readonly string[];
  /** How many times longer than others it may take. */
  readonly patience?: number;
}

export function serialize(call: Call): WireRequest {
  const { operation, raw } = call;
  const path = raw?.path ?? pathOf(call);
  const query = raw?.query ?? queryOf(call);
  const { body, contentType } = bodyOf(call);
  const headers: Record<string, string> = { accept: acceptOf(call) };
  if (contentType !== undefined) headers['content-type'] = contentType;
  for (const parameter of operation.parameters) {
    const value = parameter.in === 'header' ? call.headers[parameter.name] : undefined;
    if (value !== undefined)
      headers[parameter.name.toLowerCase()] = styled({ ...parameter, style: 'simple' }, value, headerText);
  }
  const cookie = cookieOf(call);
  const own = Object.entries(raw?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of own) {
    if (value === null) delete headers[name];
    else headers[name] = value;
  }
  return {
    method: operation.method,
    target: query === '' ? path : `${path}?${query}`,
    ...(operation.extension !== '' && { extension: operation.extension }),
    headers,
    body: raw?.body ?? body,
    ...(cookie === '' || own.some(([name]) => name === 'cookie') ? {} : { cookie }),
    ...(raw?.keys && { keys: raw.keys }),
    without: own.flatMap(([name, value]) => (value === null ? [name] : [])),
  };
}

/** Accepts every declared media type, so that the response can never be 406. */
function acceptOf({ operation }: Call): string {
  const types = new Set(operation.responses.flatMap(({ contents }) => contents.map(({ mediaType }) => mediaType)));
  return types.size === 0 ? '*/*' : [...types].join(', ');
}

function pathOf({ operation, path }: Call): string {
  return operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    styled(parameterOf(operation, 'path', name), path[name], encoded),
  );
}

function queryOf({ operation, query }: Call): string {
  const parts = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const parameter = parameterOf(operation, 'query', name);
    return styled(parameter, value, parameter.allowReserved ? encodeReserved : encoded) || [];
  });
  return parts.join('&');
}

function cookieOf({ operation, cookies }: Call): string {
  return operation.parameters
    .filter(({ in: place, name }) => place === 'cookie' && cookies[name] !== undefined)
    .map((parameter) => styled({ ...parameter, explode: false }, cookies[parameter.name], encoded))
    .join('; ');
}

type Styled = Pick<Parameter, 'name' | 'style' | 'explode' | 'mediaType' | 'allowReserved'>;

/** A parameter of an operation, or what OpenAPI assumes about one that is not declared. */
function parameterOf({ parameters }: Operation, place: 'path' | 'query', name: string): Styled {
  const style = place === 'path' ? 'simple' : 'form';
  const other = { name, style, explode: place === 'query', mediaType: undefined, allowReserved: false };
  return parameters.find((one) => one.in === place && one.name === name) ?? other;
}

/** How each style writes a value: what is before it, between members that are apart, and between others. */
const styles: Readonly<Record<string, { start: string; apart: string; together: string; isNamed: boolean }>> = {
  simple: { start: '', apart: ',', together: ',', isNamed: false },
  label: { start: '.', apart: '.', together: ',', isNamed: false },
  matrix: { start: ';', apart: ';', together: ',', isNamed: true },
  pipeDelimited: { start: '', apart: '&', together: '|', isNamed: true },
  spaceDelimited: { start: '', apart: '&', together: '%20', isNamed: true },
};
const form = { start: '', apart: '&', together: ',', isNamed: true };

function styled({ name, style, explode, mediaType }: Styled, value: unknown, encode: (text: string) => string): string {
  const { start, apart, together, isNamed } = styles[style] ?? form;
  const pair = (key: string, one: string) => `${key}=${encode(one)}`;
  const whole = mediaType === undefined ? value : jsonText(value);
  if (typeof whole !== 'object' || whole === null)
    return start + (isNamed ? pair(encode(name), text(whole)) : encode(text(whole)));
  const isList = Array.isArray(whole);
  if (style === 'deepObject') return deepPairs(encode(name), whole, encode).join('&');
  const members = Object.entries(whole).flatMap(([key, one]) =>
    one === undefined && !isList ? [] : [[key, text(one)] as const],
  );
  if (explode && isList)
    return start + members.map(([, one]) => (isNamed ? pair(encode(name), one) : encode(one))).join(apart);
  if (explode) return start + members.map(([key, one]) => pair(encode(key), one)).join(apart);
  const texts = isList ? members.map(([, one]) => one) : members.flat();
  return `${start}${isNamed ? `${encode(name)}=` : ''}${texts.map(encode).join(together)}`;
}

/** `filter[name]=a`, and within it `filter[range][from]=1` and `filter[tags][0]=b`. */
function deepPairs(name: string, value: unknown, encode: (text: string) => string): string[] {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [`${name}=${encode(text(value))}`];
  return Object.entries(value).flatMap(([key, one]) => deepPairs(`${name}[${encode(key)}]`, one, encode));
}

function bodyOf(call: Call): { body: string | Buffer | undefined; contentType: string | undefined } {
  const { mediaType, operation, path } = call;
  const envelope = call.isFlat === true ? envelopeOf(bodySchemaOf(call) ?? {}) : undefined;
  const id = operation.path.endsWith('}') ? path[/\{([^}]+)\}$/.exec(operation.path)?.[1] ?? ''] : undefined;
  const body = envelope === undefined ? call.body : wrapped(envelope, call.body, id);
  if (body === undefined || mediaType === undefined) return { body: undefined, contentType: undefined };
  if (isJson(mediaType)) return { body: jsonText(body), contentType: mediaType };
  if (mediaType.startsWith('multipart/')) return multipart(call, body, mediaType);
  if (mediaType === 'application/x-www-form-urlencoded') return { body: formOf(call, body), contentType: mediaType };
  return { body: sampleOf(mediaType) ?? text(body), contentType: mediaType };
}

const fieldsIn = (call: Call) => contentOf(call)?.fields ?? new Map<string, Field>();

/** The properties in the declared styles. Without one, a list is a repeated property, and an object is JSON. */
function formOf(call: Call, body: unknown): string {
  const fields = fieldsIn(call);
  const pairs = Object.entries(formMembers(body)).flatMap(([name, value]) => {
    const { style, explode = true } = fields.get(name) ?? {};
    const styles = { name, style: style ?? 'form', explode, allowReserved: false };
    const isPlain = style === undefined && Array.isArray(value);
    const parts = isPlain ? value.map((item) => (isObject(item) ? jsonText(item) : item)) : value;
    const mediaType = style === undefined && isObject(value) ? 'application/json' : undefined;
    return value === undefined ? [] : styled({ ...styles, mediaType }, parts, encoded) || [];
  });
  return pairs.join('&');
}

function multipart(call: Call, body: unknown, mediaType: string): { body: Buffer; contentType: string } {
  // A constant boundary keeps requests reproducible by seed.
  const boundary = 'contract-check-boundary-7d1f0c';
  const fields = fieldsIn(call);
  // A list is a repeated part.
  const parts = Object.entries(formMembers(body)).flatMap(([name, value]) =>
    [value].flat().map((item: unknown) => part(boundary, name, item, fields.get(name)?.mediaType)),
  );
  return {
    body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `${mediaType}; boundary=${boundary}`,
  };
}

function part(boundary: string, name: string, value: unknown, declared: string | undefined): Buffer {
  const isFile = declared !== undefined && !isJson(declared) && !declared.startsWith('text/plain');
  const disposition = `form-data; name="${name}"${isFile ? '; filename="check"' : ''}`;
  const type = declared ?? (isObject(value) ? 'application/json' : undefined);
  const head = `--${boundary}\r\nContent-Disposition: ${disposition}\r\n${type === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`;
  const content = isFile ? (sampleOf(declared) ?? Buffer.from(text(value))) : Buffer.from(text(value));
  return Buffer.concat([Buffer.from(head), content, Buffer.from('\r\n')]);
}

/** The smallest file of a media type, because servers may validate the content. */
function sampleOf(mediaType: string): Buffer | undefined {
  const sample = samples[mediaType];
  return sample === undefined ? undefined : Buffer.from(sample, 'base64');
}

const samples: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'image/gif': 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'application/pdf':
    'JVBERi0xLjEKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0tpZHNbXS9Db3VudCAwPj5lbmRvYmoKdHJhaWxlcjw8L1Jvb3QgMSAwIFI+PgolJUVPRg==',
};

const text = (value: unknown) => (typeof value === 'string' ? value : value === undefined ? '' : jsonText(value));

/** Keeps reserved characters of RFC 3986, except those that would end the value. */
const encodeReserved = (value: string) => encodeURI(value.toWellFormed()).replaceAll(/[&#+]/g, encoded);

/** HTTP headers are Latin-1. Other characters are sent as UTF-8 bytes. */
const headerText = (value: string) => Buffer.from(value, 'utf8').toString('latin1');
