import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { BridgeError } from '../errors.ts';

const marks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
];

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

/** Reads a whole file of at most `maxBytes`. */
export async function readWholeText(path: string, maxBytes: number, encoding?: string): Promise<string> {
  const parts: string[] = [];
  let length = 0;
  for await (const part of readText(path, encoding)) {
    length += part.length;
    if (length > maxBytes)
      throw new BridgeError(`${basename(path)} is larger than ${maxBytes / 1_000_000} MB. Split it.`);
    parts.push(part);
  }
  return parts.join('');
}

async function firstBytes(path: string): Promise<Uint8Array> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1000), 0, 1000, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw new BridgeError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
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
