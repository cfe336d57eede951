import { createHash, type Hash } from 'node:crypto';
import type { TenantRow } from './tenant-row.ts';

/** The first line of a file. */
export interface FileHeader {
  readonly format: typeof fileFormat;
  readonly formatVersion: number;
  /** The last migration of the database that the rows are from. */
  readonly schema: string;
  /** When the rows were read, all at the same moment. RFC 3339. */
  readonly exportedAt: string;
  /** Identifies the key of the secrets and of the signature. */
  readonly key: string;
  /** The columns of the tenant itself. */
  readonly tenant: TenantRow;
}

/** A part of the content of a stored file. */
export interface ContentPart {
  readonly kind: 'content';
  readonly sha256: string;
  /** Undefined if the storage that was exported lacks the content. */
  readonly bytes: Buffer | undefined;
  readonly isLast: boolean;
}

/** A row of a table. */
export interface FileRow {
  readonly kind: 'row';
  readonly table: string;
  /** Encrypted columns, in base64. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The other columns, as JSON text, which is never parsed here: numbers keep all their digits. */
  readonly json: string;
}

export interface SectionSummary {
  readonly lines: number;
  /** Of these lines, with their line breaks. */
  readonly sha256: string;
}

/** The last line of a file. */
export interface FileEnd {
  readonly rows: number;
  readonly tables: Readonly<Record<string, SectionSummary>>;
  readonly content: SectionSummary;
  /** Of all lines before this one, with their line breaks. */
  readonly sha256: string;
  /** Of this hash, with the key that the first line names. */
  readonly signature: string;
}

export const fileFormat = 'financial-automation tenant';
export const formatVersion = 1;

export function headerLine(header: Omit<FileHeader, 'format' | 'formatVersion'>): string {
  return `${JSON.stringify({ format: fileFormat, formatVersion, ...header })}\n`;
}

export function contentLine({ sha256, bytes, isLast }: Omit<ContentPart, 'kind'>): string {
  const what = bytes === undefined ? { isMissing: true } : { bytes: bytes.toString('base64'), isLast };
  return `${JSON.stringify({ content: sha256, ...what })}\n`;
}

export function rowLine({ table, secrets, json }: Omit<FileRow, 'kind'>): string {
  const hidden = Object.keys(secrets).length === 0 ? '' : `"secrets":${JSON.stringify(secrets)},`;
  return `{"table":"${table}",${hidden}"row":${json}}\n`;
}

export function endLine(end: FileEnd): string {
  return `${JSON.stringify({ end })}\n`;
}

const rowPattern = /^\{"table":"(\w+)",(?:"secrets":(\{[^{}]*\}),)?"row":(\{.*\})\}$/s;

/** Parses a line between the first and the last one. @throws SyntaxError if it is none */
export function parseLine(line: string): FileRow | ContentPart {
  const [, table, secrets = '{}', json] = rowPattern.exec(line) ?? [];
  if (table !== undefined && json !== undefined) return { kind: 'row', table, secrets: JSON.parse(secrets), json };
  const { content: sha256, bytes, isLast, isMissing } = Object(JSON.parse(line));
  if (typeof sha256 !== 'string' || (isMissing !== true && typeof bytes !== 'string'))
    throw new SyntaxError('The line is neither a row nor content.');
  return isMissing === true
    ? { kind: 'content', sha256, bytes: undefined, isLast: true }
    : { kind: 'content', sha256, bytes: Buffer.from(bytes, 'base64'), isLast: isLast === true };
}

/** Counts and hashes of lines, in all and by what they are about. */
export class FileDigest {
  readonly #total = createHash('sha256');
  readonly #sections = new Map<string, { lines: number; readonly hash: Hash }>();

  addHeader(line: string | Buffer): void {
    this.#total.update(line);
  }

  /** @param table undefined for content */
  add(table: string | undefined, lines: string | Buffer, count = 1): void {
    this.#total.update(lines);
    const name = table ?? contentSection;
    const section = this.#sections.getOrInsertComputed(name, () => ({ lines: 0, hash: createHash('sha256') }));
    section.lines += count;
    section.hash.update(lines);
  }

  /** It cannot be used afterwards. */
  end(): Omit<FileEnd, 'signature'> {
    const sections = new Map(
      [...this.#sections].map(([name, { lines, hash }]) => [name, { lines, sha256: hash.digest('hex') }]),
    );
    const content = sections.get(contentSection) ?? { lines: 0, sha256: createHash('sha256').digest('hex') };
    sections.delete(contentSection);
    const rows = [...sections.values()].reduce((sum, { lines }) => sum + lines, 0);
    return { rows, tables: Object.fromEntries(sections), content, sha256: this.#total.digest('hex') };
  }
}

/** No table has this name. */
const contentSection = '';
