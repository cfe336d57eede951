import { resolve } from 'node:path';
import { pasteable } from '../platform/operator-command.ts';
import { standardOutput } from './copies/index.ts';
import { counted } from './counted.ts';
import type { DeleteRequest } from './leave.ts';
import { withOperator } from './run-commands.ts';

/** Exports a tenant, and prints what happens to standard error: the rows may go to standard output. */
export async function exportToFile(tenant: string, to: string, { TRANSFER_KEY }: NodeJS.ProcessEnv): Promise<void> {
  const summary = await withOperator(
    (run, isInServer) => {
      if (isInServer && to === standardOutput)
        throw new Error(
          'The server has the embedded database open, and writes the file itself. Specify a file, such as --to tenant.ndjson.gz.',
        );
      const path = to === standardOutput ? to : resolve(to);
      return run('tenant export', { tenant, to: path, transferKey: transferKey(TRANSFER_KEY) });
    },
    { isLong: true },
  );
  const { rows, tables, files, bytes, missing } = summary;
  console.error(
    `The tenant ${tenant} was exported: ${counted(rows, 'row')} of ${counted(tables, 'table')} and ${counted(files, 'file')} with ${counted(bytes, 'byte')}.`,
  );
  warnOfMissing(missing);
}

export async function importFromFile(
  file: string,
  { name, closed, cell }: { readonly name?: string; readonly closed: boolean; readonly cell?: string },
  { TRANSFER_KEY }: NodeJS.ProcessEnv,
): Promise<void> {
  const summary = await withOperator(
    (run) => {
      const request = { file: resolve(file), name: name ?? null, isClosed: closed, cell: cell ?? null };
      return run('tenant import', { ...request, transferKey: transferKey(TRANSFER_KEY) });
    },
    { creates: true, isLong: true },
  );
  const { tenant, rows, files, missing, linksElsewhere } = summary;
  console.log(
    `The tenant ${tenant} was imported: ${counted(rows, 'row')} and ${counted(files, 'file')}. References and books are consistent.`,
  );
  if (closed) console.log(`It is closed. To open it, run: ${pasteable(`operator tenant open ${tenant}`)}`);
  warnOfMissing(missing);
  if (linksElsewhere > 0)
    console.error(
      `${counted(linksElsewhere, 'payment link leads', 'payment links lead')} to the tenant of this database that had them first, or to an imported one if that is closed.`,
    );
}

/** Deletes a tenant that has waited, and prints what it had; before, from when on it can be deleted. */
export async function runDelete(request: DeleteRequest): Promise<void> {
  const deletion = await withOperator((run) => run('tenant delete', request), { isLong: true });
  const { tenant } = request;
  if ('from' in deletion)
    return console.log(
      `The tenant ${tenant} can be deleted from ${deletion.from} on, by the same command. To keep it, run: ${pasteable(`operator tenant open ${tenant}`)}`,
    );
  const { tenantId, tables, files, bytes, exportSha256 } = deletion.certificate;
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  for (const [table, count] of Object.entries(tables)) console.log(`${table}: ${number(count)}`);
  console.log(
    `The tenant ${tenant} (${tenantId}) was deleted: ${counted(rows, 'row')} of ${counted(Object.keys(tables).length, 'table')} and ${counted(files, 'file')} with ${counted(bytes, 'byte')}. The SHA-256 of its export is ${exportSha256}. Backups that were made before still have it.`,
  );
}

function transferKey(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

function warnOfMissing(missing: readonly string[]): void {
  if (missing.length === 0) return;
  const more = missing.length > 3 ? ` and ${number(missing.length - 3)} more` : '';
  console.error(
    `The storage of the exported tenant lacked the content with the hash ${missing.slice(0, 3).join(', ')}${more}: downloads of these files fail.`,
  );
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
