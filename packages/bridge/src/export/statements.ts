import { access, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, orThrow } from '../../../client/src/index.ts';
import { BridgeError } from '../errors.ts';

export interface StatementsResult {
  readonly written: number;
  /** Files that an earlier run has written. */
  readonly present: number;
}

/**
 * Writes the statement of account of each client that owes something or has credit, or of one client.
 *
 * @param api asks for files instead of JSON
 */
export async function exportStatements(
  api: Client,
  options: {
    from: string;
    to: string;
    client: string | undefined;
    format: 'pdf' | 'csv';
    folder: string;
    signal: AbortSignal;
  },
  onFile: (name: string) => void,
): Promise<StatementsResult> {
  const { from, to, client, format, folder, signal } = options;
  await mkdir(folder, { recursive: true });
  const open = { _or: [{ outstandingBalance: { _neq: '0.00' } }, { unappliedCredit: { _neq: '0.00' } }] };
  const where = client === undefined ? open : { clientRef: { _eq: client } };
  let written = 0;
  let present = 0;
  const fields = ['id' as const, 'clientRef' as const, 'currency' as const];
  for await (const row of api.searchClients.rows({ body: { where, fields, pageSize: 500 }, signal })) {
    const name = `${(row.clientRef ?? row.id).replace(/[^\p{L}\p{N}._-]+/gu, '_')}-${from}-${to}.${format}`;
    const path = join(folder, name);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    ) {
      present += 1;
      continue;
    }
    const query = { from, to, currency: row.currency };
    const content: unknown = await orThrow(api.getClientStatement({ path: { id: row.id }, query, signal }));
    if (typeof content !== 'string' && !(content instanceof Uint8Array))
      throw new BridgeError('The service returned no file.');
    await writeFile(`${path}.tmp`, content, { mode: 0o600 });
    await rename(`${path}.tmp`, path);
    written += 1;
    onFile(name);
  }
  if (client !== undefined && written + present === 0) throw new BridgeError(`There is no client “${client}”.`);
  return { written, present };
}
