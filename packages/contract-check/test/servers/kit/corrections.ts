import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { type Json, type JsonObject, object } from './contract.ts';

/** A defect of a published contract, and its correction. */
interface Correction {
  /** A JSON pointer. */
  readonly at: string;
  readonly why: string;
  /** The replacement. Without it, the value is removed. */
  readonly set?: Json;
}

/**
 * Writes a corrected copy of a published contract, and returns its path.
 *
 * @throws Error if a corrected place does not exist: the publisher may have fixed it.
 */
export async function correct(published: string, corrections: string): Promise<string> {
  const document = parse(await readFile(published, 'utf8')) as JsonObject;
  for (const correction of parse(await readFile(corrections, 'utf8')) as Correction[]) apply(document, correction);
  // Aliases would replace the parts that the published contract repeats.
  return keep(stringify(document, { aliasDuplicateObjects: false }));
}

/** The name is a hash of the content, so that all runs share one file. */
async function keep(text: string): Promise<string> {
  const name = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const file = join(tmpdir(), `contract-check-corrected-${name}.yaml`);
  const unfinished = `${file}.${process.pid}-${Math.random()}`;
  await writeFile(unfinished, text);
  await rename(unfinished, file);
  return file;
}

function apply(document: JsonObject, { at, set }: Correction): void {
  const tokens = at
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = tokens.pop() ?? '';
  const parent = tokens.reduce<Json | undefined>(
    (value, token) => (value as JsonObject | undefined)?.[token],
    document,
  );
  if (parent === null || typeof parent !== 'object') throw new Error(`there is no ${at} to correct`);
  if (set === undefined) delete object(parent)[last];
  else if (Array.isArray(parent)) parent[Number(last)] = set;
  else parent[last] = set;
}
