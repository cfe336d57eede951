import type { Parameter } from '../document/operation.ts';
import { isObject } from '../json.ts';
import { type Call, isJson } from './call.ts';

/** A serialized request. */
export interface WireRequest {
  readonly method: string;
  /** The path with its query, relative to the base URL. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** Cookies of the call, added to those of the identity. */
  readonly cookie?: string;
  /** Lower-case names of identity headers to omit. */
  readonly without?: readonly string[];
}

/** Serializes a call in the declared styles. */
export function serialize(call: Call): WireRequest {
  const { operation, raw } = call;
  const path = raw?.path ?? pathOf(call);
  const query = raw?.query ?? queryOf(call);
  const { body, contentType } = bodyOf(call);
  const headers: Record<string, string> = { accept: acceptOf(call) };
  if (contentType !== undefined) headers['content-type'] = contentType;
  for (const parameter of operation.parameters) {
    const value = parameter.in === 'header' ? call.headers[parameter.name] : undefined;
    if (value !== undefined) headers[parameter.name.toLowerCase()] = simple(parameter, value, headerText);
  }
  const cookie = cookieOf(call);
  for (const [name, value] of Object.entries(raw?.headers ?? {})) {
    if (value === null) delete headers[name.toLowerCase()];
    else headers[name.toLowerCase()] = value;
  }
  return {
    method: raw?.method ?? operation.method,
    target: query === '' ? path : `${path}?${query}`,
    headers,
    body: raw?.body ?? body,
    ...(cookie === '' || Object.keys(raw?.headers ?? {}).some((name) => name.toLowerCase() === 'cookie')
      ? {}
      : { cookie }),
    without: Object.entries(raw?.headers ?? {}).flatMap(([name, value]) =>
      value === null ? [name.toLowerCase()] : [],
    ),
  };
}

/** Accepts every declared media type, so that the response can never be 406. */
function acceptOf({ operation }: Call): string {
  const types = new Set(operation.responses.flatMap(({ contents }) => contents.map(({ mediaType }) => mediaType)));
  return types.size === 0 ? '*/*' : [...types].join(', ');
}

function pathOf({ operation, path }: Call): string {
  return operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) => {
    const parameter = operation.parameters.find((one) => one.in === 'path' && one.name === name);
    const value = path[name];
    if (parameter === undefined) return encodeURIComponent(text(value));
    if (parameter.style === 'label') return labelled(parameter, value);
    if (parameter.style === 'matrix') return matrix(parameter, value);
    return simple(parameter, value, encodeURIComponent);
  });
}

function labelled({ explode }: Parameter, value: unknown): string {
  return `.${joined(value, explode ? '.' : ',', explode, encodeURIComponent)}`;
}

function matrix({ name, explode }: Parameter, value: unknown): string {
  if (explode && Array.isArray(value))
    return value.map((item) => `;${name}=${encodeURIComponent(text(item))}`).join('');
  if (explode && isObject(value)) {
    return Object.entries(value)
      .map(([key, item]) => `;${encodeURIComponent(key)}=${encodeURIComponent(text(item))}`)
      .join('');
  }
  return `;${name}=${joined(value, ',', false, encodeURIComponent)}`;
}

function queryOf({ operation, query }: Call): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const parameter = operation.parameters.find((one) => one.in === 'query' && one.name === name);
    parts.push(...queryParts(parameter, name, value));
  }
  return parts.join('&');
}

function queryParts(parameter: Parameter | undefined, name: string, value: unknown): string[] {
  const encode = parameter?.allowReserved === true ? encodeReserved : encodeURIComponent;
  const pair = (key: string, item: unknown) => `${encodeURIComponent(key)}=${encode(text(item))}`;
  if (parameter?.mediaType !== undefined) return [`${encodeURIComponent(name)}=${encode(JSON.stringify(value))}`];
  const explode = parameter?.explode ?? true;
  if (Array.isArray(value)) {
    if (parameter?.style === 'pipeDelimited' && !explode)
      return [`${name}=${value.map((item) => encode(text(item))).join('|')}`];
    if (parameter?.style === 'spaceDelimited' && !explode)
      return [`${name}=${value.map((item) => encode(text(item))).join('%20')}`];
    if (explode) return value.map((item) => pair(name, item));
    return [`${encodeURIComponent(name)}=${value.map((item) => encode(text(item))).join(',')}`];
  }
  if (isObject(value)) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    if (parameter?.style === 'deepObject')
      return entries.map(
        ([key, item]) => `${encodeURIComponent(name)}[${encodeURIComponent(key)}]=${encode(text(item))}`,
      );
    if (explode) return entries.map(([key, item]) => pair(key, item));
    return [`${encodeURIComponent(name)}=${joined(value, ',', false, encode)}`];
  }
  return [pair(name, value)];
}

function cookieOf({ operation, cookies }: Call): string {
  const declared = operation.parameters.filter((parameter) => parameter.in === 'cookie');
  return declared
    .filter(({ name }) => cookies[name] !== undefined)
    .map(({ name }) => `${name}=${joined(cookies[name], ',', false, encodeURIComponent)}`)
    .join('; ');
}

function simple({ explode, mediaType }: Parameter, value: unknown, encode: (value: string) => string): string {
  if (mediaType !== undefined) return encode(JSON.stringify(value));
  return joined(value, ',', explode, encode);
}

function joined(value: unknown, separator: string, explode: boolean, encode: (value: string) => string): string {
  if (Array.isArray(value)) return value.map((item) => encode(text(item))).join(separator);
  if (isObject(value)) {
    return Object.entries(value)
      .map(([key, item]) => `${encode(key)}${explode ? '=' : ','}${encode(text(item))}`)
      .join(separator);
  }
  return encode(text(value));
}

function bodyOf(call: Call): { body: string | Buffer | undefined; contentType: string | undefined } {
  const { body, mediaType } = call;
  if (body === undefined || mediaType === undefined) return { body: undefined, contentType: undefined };
  if (isJson(mediaType)) return { body: JSON.stringify(body), contentType: mediaType };
  if (mediaType === 'application/x-www-form-urlencoded') return { body: formOf(body), contentType: mediaType };
  if (mediaType.startsWith('multipart/')) return multipart(call, body, mediaType);
  return { body: sampleOf(mediaType) ?? text(body), contentType: mediaType };
}

function formOf(body: unknown): string {
  const pairs = Object.entries(isObject(body) ? body : {}).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => [key, text(item)] as [string, string]),
  );
  return new URLSearchParams(pairs).toString();
}

function multipart(call: Call, body: unknown, mediaType: string): { body: Buffer; contentType: string } {
  // A constant boundary keeps requests reproducible by seed.
  const boundary = 'contract-check-boundary-7d1f0c';
  const types = partTypes(call, mediaType);
  const parts = Object.entries(isObject(body) ? body : {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => part(boundary, name, item, types.get(name))),
  );
  return {
    body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `${mediaType}; boundary=${boundary}`,
  };
}

/** The media types of multipart properties, from `encoding` or from their schemas. Properties with one are files. */
function partTypes({ operation }: Call, mediaType: string): Map<string, string> {
  const content = operation.body?.contents.find((one) => one.mediaType === mediaType);
  const encoding = isObject(content?.node.encoding) ? content.node.encoding : {};
  const properties = isObject(content?.schema?.properties) ? content.schema.properties : {};
  const types = new Map<string, string>();
  for (const [name, schema] of Object.entries(properties)) {
    const member = isObject(schema) && isObject(schema.items) ? schema.items : schema;
    if (!isObject(member)) continue;
    if (typeof member.contentMediaType === 'string') types.set(name, member.contentMediaType);
    else if (member.format === 'binary') types.set(name, 'application/octet-stream');
  }
  for (const [name, described] of Object.entries(encoding)) {
    const type = isObject(described) ? described.contentType : undefined;
    if (typeof type === 'string') types.set(name, (type.split(',')[0] ?? '').trim());
  }
  return types;
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

function text(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

/** Keeps reserved characters of RFC 3986, except those that would end the value. */
function encodeReserved(value: string): string {
  return encodeURI(value).replaceAll(/[&#+]/g, encodeURIComponent);
}

/** HTTP headers are Latin-1. Other characters are sent as UTF-8 bytes. */
function headerText(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}
