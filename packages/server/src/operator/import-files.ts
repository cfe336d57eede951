import { createHash } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { components } from '@financial-automation/spec';
import { schemaOf } from '../contract/contract.ts';
import type { Plan } from '../entity/plan.ts';
import { client } from '../modules/clients/index.ts';
import { addFile, checkContentType, file, type NewFile } from '../modules/files/index.ts';
import type { StoredContent } from '../platform/storage/storage.ts';
import { reasonOf } from '../platform/store/errors.ts';
import type { Operator } from './operator.ts';
import { asOperator, tenantNamed } from './tenants.ts';

/** Files of a folder on this machine, with the client and source to record. */
export interface ImportedFiles {
  readonly tenant: string;
  /** The `clientRef` of the client that the files concern. */
  readonly client: string | null;
  readonly source: string;
  /** The folder: an absolute path without symbolic links. */
  readonly root: string;
  /** Relative to the folder, with `/` between the parts. */
  readonly paths: readonly string[];
}

export interface ImportResult {
  readonly imported: number;
  /** Files that were imported before. */
  readonly skipped: number;
  readonly rejected: readonly { readonly path: string; readonly reason: string }[];
}

/** A file that is ready to be added; its content is stored, unless it was rejected. */
interface Prepared {
  readonly about: NewFile;
  /** Identical for the same content at the same path. */
  readonly systemRef: string;
  readonly content: StoredContent | { readonly sizeBytes: number };
}

/**
 * Imports files. Files that were imported before, from the same path and with the same content, are skipped.
 *
 * @throws Error with a sentence if the tenant or the client does not exist, or a file cannot be read or stored.
 */
export async function importFiles(operator: Operator, input: ImportedFiles): Promise<ImportResult> {
  const { service } = operator;
  const tenant = await tenantNamed(operator, input.tenant);
  if (!isSource(input.source)) throw new Error(`Unknown source: ${input.source}.`);
  const { source } = input;
  const rejected: { path: string; reason: string }[] = [];
  const prepared: Prepared[] = [];
  for (const path of input.paths) {
    const about = describe(path, source);
    if ('reason' in about) rejected.push({ path, reason: about.reason });
    else
      prepared.push(
        await prepare(operator, tenant.id, input, path, about, (reason) => rejected.push({ path, reason })),
      );
  }
  const outcomes = await asOperator(service, tenant, 'files import', (unit) =>
    unit.allOrNone(prepared, (plan, one) => add(plan, one, input.client)),
  );
  const imported = outcomes.filter((outcome) => outcome === 'imported').length;
  return { imported, skipped: outcomes.filter((outcome) => outcome === 'skipped').length, rejected };
}

function isSource(source: string): source is components['schemas']['FileSource'] {
  return schemaOf('FileSource').enum?.includes(source) ?? false;
}

/** Derives the properties of a file from its path. */
function describe(path: string, source: components['schemas']['FileSource']): NewFile | { readonly reason: string } {
  const fileName = basename(path).normalize('NFC');
  const folder = dirname(path).normalize('NFC');
  const folderPath = folder === '.' ? null : `/${folder}`;
  if (fileName.length > 255) return { reason: 'The name is longer than 255 characters.' };
  if ((folderPath ?? '').length > 1000) return { reason: 'The path is longer than 1,000 characters.' };
  if (!fileName.isWellFormed() || path.includes('\uFFFD')) return { reason: 'The name is not Unicode text.' };
  return { fileName, source, mimeType: 'application/octet-stream', folderPath };
}

async function prepare(
  { service: { storage } }: Operator,
  tenantId: number,
  { root, client: clientRef }: ImportedFiles,
  path: string,
  about: NewFile,
  reject: (reason: string) => void,
): Promise<Prepared> {
  const full = join(root, path);
  try {
    await checkInside(root, full);
    const checked = await checkContentType(full, about.fileName);
    const described = { ...about, mimeType: checked.mimeType };
    const refOf = (hash: string) =>
      `import-${createHash('sha256')
        .update(JSON.stringify([clientRef, path, hash]))
        .digest('base64url')}`;
    if (checked.reason !== undefined) {
      reject(checked.reason);
      const { size } = await lstat(full);
      return { about: described, systemRef: refOf('rejected'), content: { sizeBytes: size } };
    }
    const content = await storage.put(tenantId, { path: full });
    return { about: described, systemRef: refOf(content.sha256), content };
  } catch (error) {
    throw new Error(`${full} cannot be imported: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Nothing outside of the folder is read, whatever a path contains and wherever a link points. */
async function checkInside(root: string, full: string): Promise<void> {
  const relativePath = relative(root, await realpath(full));
  if (relativePath === '' || relativePath.startsWith('..') || !(await lstat(full)).isFile())
    throw new Error('it is not a file of the folder');
}

function add(
  plan: Plan,
  { about, systemRef, content }: Prepared,
  clientRef: string | null,
): 'imported' | 'skipped' | 'rejected' {
  const owner = clientRef === null ? undefined : plan.find(client, 'clientRef', clientRef);
  if (clientRef !== null && owner?.active !== true) throw new Error(`No active client has the clientRef ${clientRef}.`);
  const isKnown = plan.find(file, 'systemRef', systemRef) !== undefined;
  const fields = { ...about, clientId: owner?.id ?? null };
  if (!('sha256' in content)) {
    if (!isKnown) addFile(plan, fields, { sha256: null, sizeBytes: content.sizeBytes }, { systemRef });
    return 'rejected';
  }
  if (isKnown) return 'skipped';
  addFile(plan, fields, content, { systemRef });
  return 'imported';
}
