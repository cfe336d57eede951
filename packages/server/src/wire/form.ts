import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import { Rejection } from '../contract/rejection.ts';
import type { Exchange } from './exchange.ts';

/** Maximum size of a form, in bytes, unless its page allows more. */
const maxFormBytes = 16 * 1024;

/** Browsers submit forms in the encoding of the page. */
const formType = /^application\/x-www-form-urlencoded *(; *charset *= *"?utf-8"? *)?$/i;

/**
 * Fields that are found by an index, and not changed after that: `URLSearchParams` looks through all of them for each name, of
 * which a page with many lines has as many.
 */
export class FormFields extends URLSearchParams {
  #byName: ReadonlyMap<string, (readonly [name: string, value: string])[]> | undefined;

  override getAll(name: string): string[] {
    this.#byName ??= Map.groupBy(this, ([key]) => key);
    return this.#byName.get(name)?.map(([, value]) => value) ?? [];
  }

  override get(name: string): string | null {
    return this.getAll(name)[0] ?? null;
  }

  override has(name: string): boolean {
    return this.getAll(name).length > 0;
  }
}

/** Reads the fields of a form; undefined if the body is not a form. Browsers compress none. */
export async function readFields(exchange: Exchange, maxBytes = maxFormBytes): Promise<FormFields | undefined> {
  const isForm = formType.test(exchange.header('content-type') ?? '');
  if (!isForm || exchange.header('content-encoding') !== undefined) return undefined;
  return new FormFields((await exchange.body(maxBytes).read()).toString());
}

/** A file that a form sent, on this machine until the result of the request is known. */
export interface SentFile {
  readonly path: string;
  readonly fileName: string;
}

/** How many fields a form with a file can have. */
const maxFields = 100;

/**
 * Reads a form with fields and at most one file of at most so many bytes; undefined if the body is not such a form.
 *
 * @throws Rejection `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `MALFORMED_REQUEST`
 */
export async function readUpload(exchange: Exchange, maxFileBytes: number) {
  const type = exchange.header('content-type') ?? '';
  if (!/^multipart\/form-data *;/i.test(type)) return undefined;
  const path = join(await exchange.temporaryFolder(), 'content');
  const fields = new URLSearchParams();
  let content: BusboyFileStream | undefined;
  let file: SentFile | undefined;
  let saved: Promise<void> | undefined;
  try {
    const limits = { fileSize: maxFileBytes, files: 1, fieldSize: maxFormBytes, fields: maxFields };
    const parser = new Busboy({ headers: { 'content-type': type }, limits });
    const reject = (error = new Error('The form has too many fields or files.')) => void parser.destroy(error);
    parser.on('filesLimit', reject).on('fieldsLimit', reject);
    parser.on('field', (name: string | undefined, value, _, isCut) => {
      if (name === undefined || isCut) reject(new Error('A field has no name, or is too long.'));
      else fields.append(name, value);
    });
    parser.on('file', (_, stream, fileName) => {
      content = stream;
      if (fileName) file = { path, fileName };
      saved = pipeline(stream, createWriteStream(path, { mode: 0o600 }));
      saved.catch(reject);
    });
    await exchange.writeBody(parser, maxFileBytes + maxFormBytes);
    await saved;
  } catch (error) {
    // If the body ends too early, the parser leaves this stream open, and with it the file.
    content?.destroy();
    // Errors of the parser have no code.
    if (error instanceof Error && 'code' in error) throw error;
    throw new Rejection('MALFORMED_REQUEST', 'The form is malformed.', { cause: error });
  }
  if (content?.truncated) throw new Rejection('PAYLOAD_TOO_LARGE', 'The file is too large.');
  return { fields, file };
}
