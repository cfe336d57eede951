import type { Contract, Json, JsonObject, Media, Operation } from './contract.ts';
import { object } from './contract.ts';
import { resolved, scalar } from './parameters.ts';
import { rejection } from './rejection.ts';
import type { Judge } from './validate.ts';
import { readXml } from './xml.ts';

/** Deeper documents are rejected: walking them recursively could overflow the stack. */
const maxDepth = 100;

/** A file of a multipart body. The body's value contains its bytes as a text of one character per byte. */
export interface Upload {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export interface Body {
  readonly mediaType: string | undefined;
  readonly value: Json | undefined;
  readonly files: Readonly<Record<string, Upload>>;
}

/**
 * Reads a body as its operation declares it.
 *
 * @throws Rejection with 400 (malformed), 415 (undeclared media type) or `invalid` (violates the schema).
 */
export async function readBody(
  contract: Contract,
  operation: Operation,
  headers: Readonly<Record<string, string>>,
  bytes: Buffer,
  judge: Judge,
  invalid: number,
): Promise<Body> {
  const none = { mediaType: undefined, value: undefined, files: {} };
  if (operation.body === undefined) return none;
  if (bytes.length === 0) {
    if (operation.body.required) throw rejection(400, 'a body is missing');
    return none;
  }
  const contentType = headers['content-type'] ?? '';
  const mediaType = essence(contentType);
  const media = operation.body.media.find(({ type }) => type === mediaType);
  if (media === undefined || (headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw rejection(415, `${contentType === '' ? 'no media type' : contentType} is not among those declared`);
  }
  const body = await parse(contract, media, contentType, bytes);
  rejectDeep(body.value);
  const fault = media.schema === undefined ? undefined : judge(media.pointer, body.value);
  if (fault !== undefined) throw rejection(invalid, `the body ${fault.pointer} ${fault.message}`, {}, fault.pointer);
  return body;
}

export function essence(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase();
}

async function parse(contract: Contract, media: Media, contentType: string, bytes: Buffer): Promise<Body> {
  const mediaType = media.type;
  if (mediaType === 'multipart/form-data') return multipart(contract, media, contentType, bytes);
  const value = () => {
    const text = utf8(bytes);
    if (mediaType === 'application/x-www-form-urlencoded') return urlencoded(contract, media.schema ?? {}, text);
    if (mediaType.endsWith('xml')) return readXml(contract, media.schema ?? {}, text);
    return mediaType.endsWith('json') ? (JSON.parse(text) as Json) : text;
  };
  try {
    return { mediaType, value: value(), files: {} };
  } catch (error) {
    throw rejection(400, `the body cannot be read: ${(error as Error).message}`);
  }
}

function utf8(bytes: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

function urlencoded(contract: Contract, schema: JsonObject, text: string): Json {
  const fields = Object.create(null) as JsonObject;
  for (const [name, value] of new URLSearchParams(text)) {
    // As Stripe's `metadata[color]`.
    const [, outer = '', key = ''] = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name) ?? [];
    if (key === '') fields[name] = scalar(propertyOf(contract, schema, name), value);
    else fields[outer] = { ...object(fields[outer]), [key]: value };
  }
  return { ...fields };
}

function propertyOf(contract: Contract, schema: JsonObject, name: string): JsonObject {
  return resolved(contract, object(object(schema.properties)[name]));
}

async function multipart(contract: Contract, media: Media, contentType: string, bytes: Buffer): Promise<Body> {
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => {
      throw rejection(400, 'the multipart body is malformed');
    });
  const files: Record<string, Upload> = {};
  const value: JsonObject = {};
  for (const [name, part] of form) {
    if (Object.hasOwn(value, name)) throw rejection(400, `the part ${name} is there twice`);
    const schema = propertyOf(contract, media.schema ?? {}, name);
    // Clients that set the media type of a part often set a file name, too.
    if (typeof part === 'string' || isDocument(schema)) {
      value[name] = partValue(schema, typeof part === 'string' ? part : await part.text());
    } else {
      files[name] = await upload(media, name, part);
      value[name] = files[name].bytes.toString('latin1');
    }
  }
  return { mediaType: media.type, value, files };
}

/** Parts that are objects or arrays are JSON, the default of OpenAPI without `encoding`. */
function partValue(schema: JsonObject, text: string): Json {
  if (!isDocument(schema)) return scalar(schema, text);
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw rejection(400, 'a part is not the JSON that it must be');
  }
}

function isDocument(schema: JsonObject): boolean {
  return schema.type === 'object' || schema.type === 'array';
}

async function upload(media: Media, name: string, part: File): Promise<Upload> {
  const declared = object(media.encoding[name]).contentType;
  const mediaType = essence(part.type === '' ? 'application/octet-stream' : part.type);
  if (typeof declared === 'string' && !declared.split(/,\s*/).includes(mediaType)) {
    throw rejection(415, `the part ${name} must be ${declared}`);
  }
  return { name: part.name, mediaType, bytes: Buffer.from(await part.arrayBuffer()) };
}

function rejectDeep(value: Json | undefined): void {
  let level: (Json | undefined)[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw rejection(400, `the body is nested deeper than ${maxDepth} levels`);
    level = level.flatMap((item) => (item !== null && typeof item === 'object' ? Object.values(item) : []));
  }
}
