import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import {
  type ContentPart,
  FileDigest,
  type FileEnd,
  type FileHeader,
  type FileRow,
  fileFormat,
  formatVersion,
  parseLine,
} from './file-format.ts';
import type { FileKey } from './file-key.ts';

/** A file whose first line has been read. */
export interface OpenFile {
  readonly header: FileHeader;
  /** Its other lines, in their order. What they add up to is compared with the last line after all others. */
  readonly lines: AsyncGenerator<FileRow | ContentPart, FileEnd>;
}

/** A line must fit into memory. No row is nearly as long. */
const maxLineBytes = 256 << 20;

/**
 * Opens a file that was exported, compressed or not.
 *
 * @throws Error with a sentence if it is damaged, was not written by this program, or has another key; so do its lines.
 */
export async function openFile(path: string, key: FileKey): Promise<OpenFile> {
  const source = linesOf(await uncompressed(path));
  const first = await source.next();
  const header = first.done === true ? undefined : headerIn(first.value);
  if (first.done === true || header === undefined)
    throw new Error(`${path} is not a file that "operator tenant export" has written.`);
  if (header.formatVersion !== formatVersion)
    throw new Error(
      `${path} has the format ${header.formatVersion}, and this program reads ${formatVersion}. Import it with the version that exported it, or a later one.`,
    );
  if (header.key !== key.id)
    throw new Error(
      `${path} was exported with another key than that of this service. Set TRANSFER_KEY to the TRANSFER_KEY of the export, or to the MASTER_KEY that the exporting service had.`,
    );
  const digest = new FileDigest();
  digest.addHeader(first.value);
  return { header, lines: verified(path, source, digest, key) };
}

/** Reads a file to its end, without keeping anything of it. @throws Error like `openFile` */
export async function verifyFile(path: string, key: FileKey): Promise<{ header: FileHeader; end: FileEnd }> {
  const { header, lines } = await openFile(path, key);
  for (;;) {
    const next = await lines.next();
    if (next.done === true) return { header, end: next.value };
  }
}

async function* verified(
  path: string,
  source: AsyncGenerator<Buffer>,
  digest: FileDigest,
  key: FileKey,
): AsyncGenerator<FileRow | ContentPart, FileEnd> {
  let number = 1;
  let end: FileEnd | undefined;
  for await (const line of source) {
    number++;
    if (end !== undefined) throw damaged(path, `has lines after its last one, from line ${number} on`);
    const text = line.toString('utf8', 0, line.at(-1) === newline ? line.length - 1 : line.length);
    end = endIn(text);
    if (end !== undefined) continue;
    const parsed = parsedLine(path, number, text);
    digest.add(parsed.kind === 'row' ? parsed.table : undefined, line);
    yield parsed;
  }
  if (end === undefined) throw damaged(path, `is cut off after line ${number}`);
  const found = digest.end();
  for (const [table, { lines, sha256 }] of Object.entries({ ...end.tables, ...found.tables })) {
    const [expected, actual] = [end.tables[table], found.tables[table]];
    if (expected?.sha256 !== actual?.sha256 || expected?.lines !== actual?.lines)
      throw damaged(path, `has other rows of ${table} than were exported (${lines}, with the hash ${sha256})`);
  }
  if (found.content.sha256 !== end.content.sha256) throw damaged(path, 'has other content of files than was exported');
  if (found.sha256 !== end.sha256)
    throw damaged(path, 'has another first line, or another order of lines, than was exported');
  if (!key.verify(end.sha256, end.signature))
    throw damaged(path, 'has a last line that does not have the signature of its key');
  return end;
}

function damaged(path: string, what: string): Error {
  return new Error(
    `${path} ${what}. Nothing was imported. Copy the file again from where it was exported to, or export the tenant again.`,
  );
}

function parsedLine(path: string, number: number, text: string): FileRow | ContentPart {
  try {
    return parseLine(text);
  } catch {
    throw damaged(path, `is damaged in line ${number}`);
  }
}

function headerIn(line: Buffer): FileHeader | undefined {
  try {
    const header = JSON.parse(line.toString());
    return header?.format === fileFormat && typeof header.tenant?.name === 'string' ? header : undefined;
  } catch {
    return undefined;
  }
}

function endIn(text: string): FileEnd | undefined {
  if (!text.startsWith('{"end":')) return undefined;
  try {
    const { end } = JSON.parse(text);
    return typeof end?.sha256 === 'string' && typeof end.signature === 'string' ? end : undefined;
  } catch {
    return undefined;
  }
}

async function uncompressed(path: string): Promise<Readable> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read: ${error.code ?? error.message}.`);
  });
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0).finally(() => file.close());
  const bytes = createReadStream(path, { highWaterMark: 1 << 18 });
  if (buffer.readUInt16BE() !== gzipMagic) return bytes;
  const gunzip = createGunzip({ chunkSize: 1 << 18 });
  bytes.once('error', (error) => gunzip.destroy(error));
  return bytes.pipe(gunzip).once('error', () => bytes.destroy());
}

const gzipMagic = 0x1f8b;
const newline = 0x0a;

/** Splits bytes at line breaks, which stay with their lines. */
async function* linesOf(source: Readable): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        const piece = chunk.subarray(from, at + 1);
        yield pieces.length === 0 ? piece : Buffer.concat([...pieces, piece]);
        pieces = [];
        length = 0;
        from = at + 1;
      }
      if (from === chunk.length) continue;
      pieces.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > maxLineBytes) throw new Error('A line is too long: the file was not exported by this program.');
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // What is cut off or damaged within compressed bytes. What was read until there is no export without a last line.
    if (!code.startsWith('Z_')) throw error;
  }
  if (pieces.length > 0) yield Buffer.concat(pieces);
}
