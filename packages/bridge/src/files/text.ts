import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { BridgeError } from '../errors.ts';

const marks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
];

/** No line or value of a bank file is so long; without a limit, one could fill the memory. */
const maxPiece = 1_000_000;

/**
 * Reads a text file part by part. A byte order mark decides the encoding; otherwise it is UTF-8, unless `encoding` names another one.
 *
 * @param encoding any label of the Encoding Standard, such as `windows-1252`
 * @throws BridgeError if the bytes are not valid in the encoding: a wrong one would store wrong names
 */
export async function* readText(path: string, encoding?: string): AsyncGenerator<string> {
  const start = await firstBytes(path);
  const marked = marks.find(({ bytes }) => bytes.every((byte, index) => start[index] === byte))?.encoding;
  const name = marked ?? encoding ?? 'utf-8';
  const decoder = decoderOf(name);
  const decode = (bytes?: Uint8Array): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new BridgeError(
        `${basename(path)} is not valid ${name.toUpperCase()}. Add --encoding with the encoding that it was saved in, such as --encoding windows-1252.`,
      );
    }
  };
  if (marked === undefined && !name.startsWith('utf-16') && start.includes(0))
    throw new BridgeError(
      `${basename(path)} has bytes that texts do not have. If it is UTF-16, add --encoding utf-16le.`,
    );
  for await (const bytes of createReadStream(path)) yield decode(bytes);
  yield decode();
}

/** The start of a file, by which its form is recognized. */
export async function startOf(path: string, encoding: string | undefined): Promise<string> {
  let start = '';
  for await (const part of readText(path, encoding)) {
    start += part;
    if (start.length > 60_000) break;
  }
  return start;
}

/** The pieces of a text between separators of one character. */
export async function* splitText(text: AsyncIterable<string>, separator: string): AsyncGenerator<string> {
  let rest = '';
  for await (const part of text) {
    const pieces = (rest + part).split(separator);
    rest = pieces.pop() ?? '';
    if (rest.length > maxPiece)
      throw new BridgeError(
        `The file has more than ${maxPiece.toLocaleString('en')} characters without a “${separator === '\n' ? 'line break' : separator}”.`,
      );
    yield* pieces;
  }
  yield rest;
}

async function firstBytes(path: string): Promise<Uint8Array> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1000), 0, 1000, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new BridgeError(
      isMissing
        ? `There is no file ${path}.`
        : `${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function decoderOf(name: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(name, { fatal: true });
  } catch {
    throw new BridgeError(
      `--encoding ${name} is unknown. Examples: utf-8, utf-16le, windows-1252, iso-8859-15, macintosh.`,
    );
  }
}
