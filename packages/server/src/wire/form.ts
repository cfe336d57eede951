import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Rejection } from '../contract/rejection.ts';
import type { Exchange } from './exchange.ts';

/** Maximum size of a form, in bytes, unless its page allows more. */
const maxFormBytes = 16 * 1024;

/** Browsers submit forms in the encoding of the page. */
const formType = /^application\/x-www-form-urlencoded *(; *charset *= *"?utf-8"? *)?$/i;

/** Reads the fields of a form; undefined if the body is not a form. Browsers compress none. */
export async function readFields(exchange: Exchange, maxBytes = maxFormBytes): Promise<URLSearchParams | undefined> {
  const isForm = formType.test(exchange.header('content-type') ?? '');
  if (!isForm || exchange.header('content-encoding') !== undefined) return undefined;
  return new URLSearchParams((await exchange.body(maxBytes).read()).toString());
}

/** A file that a form sent, on this machine until the result of the request is known. */
export interface SentFile {
  readonly path: string;
  readonly fileName: string;
}

const uploadType = /^multipart\/form-data; *boundary=([\w-]{1,70})$/i;
/** The head of the part with the file. */
const fileHead = /\r\nContent-Disposition:[^\r\n]*; *filename="[^\r\n]*(?:\r\n[^\r\n]+)*\r\n\r\n/i;

/**
 * Reads a form whose last field is a file of at most so many bytes; undefined if the body is not such a form.
 *
 * @throws Rejection `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `MALFORMED_REQUEST`
 */
export async function readUpload(exchange: Exchange, maxFileBytes: number) {
  const type = exchange.header('content-type') ?? '';
  const [, boundary] = uploadType.exec(type) ?? [];
  if (boundary === undefined) return undefined;
  const folder = await exchange.temporaryFolder();
  const [form, path] = ['form', 'content'].map((name) => join(folder, name)) as [string, string];
  await exchange.saveBody(form, maxFileBytes + maxFormBytes);
  const closing = Buffer.from(`\r\n--${boundary}--\r\n`);
  await using saved = await open(form);
  const { size } = await saved.stat();
  const read = async (start: number, length: number) =>
    (await saved.read(Buffer.alloc(length), 0, length, Math.max(start, 0))).buffer;
  const head = await read(0, Math.min(maxFormBytes, size));
  const found = fileHead.exec(head.toString('latin1'));
  const [start, end] = [(found?.index ?? 0) + (found?.[0].length ?? 0), size - closing.length];
  const isWhole = found !== null && start <= end && (await read(end, closing.length)).equals(closing);
  if (!isWhole) throw new Rejection('MALFORMED_REQUEST', 'The form is incomplete.');
  if (end - start > maxFileBytes) throw new Rejection('PAYLOAD_TOO_LARGE', 'The file is too large.');
  const headers = { 'Content-Type': type };
  const fieldsAndHead = new Response(Buffer.concat([head.subarray(0, start), closing]), { headers });
  const parsed = await fieldsAndHead.formData().catch((cause: unknown) => {
    throw new Rejection('MALFORMED_REQUEST', 'The form is malformed.', { cause });
  });
  const parts = [...parsed];
  const content = start === end ? [] : createReadStream(form, { start, end: end - 1 });
  await pipeline(content, createWriteStream(path, { mode: 0o600 }));
  const fields = parts.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []));
  const fileName = parts.flatMap(([, value]) => (typeof value === 'string' ? [] : value.name)).join();
  return { fields: new URLSearchParams(fields), file: fileName === '' ? undefined : { path, fileName } };
}
