import { type Client, orThrow } from '../../../client/src/index.ts';
import { BridgeError } from '../errors.ts';
import type { DocumentFolder } from './folder.ts';

/**
 * Writes the statement of account of each client that owes something or has credit, or of one client.
 *
 * @param api asks for files instead of JSON
 */
export async function exportStatements(
  api: Client,
  folder: DocumentFolder,
  options: { from: string; to: string; client: string | undefined; format: 'pdf' | 'csv'; signal: AbortSignal },
): Promise<void> {
  const { from, to, client, format, signal } = options;
  const open = { _or: [{ outstandingBalance: { _neq: '0.00' } }, { unappliedCredit: { _neq: '0.00' } }] };
  const where = client === undefined ? open : { clientRef: { _eq: client } };
  const fields = ['id' as const, 'clientRef' as const, 'currency' as const];
  for await (const row of api.searchClients.rows({ body: { where, fields, pageSize: 500 }, signal })) {
    const query = { from, to, currency: row.currency };
    await folder.add([row.clientRef ?? row.id, from, to], format, () =>
      orThrow(api.getClientStatement({ path: { id: row.id }, query, signal })),
    );
  }
  if (client !== undefined && folder.written + folder.present === 0)
    throw new BridgeError(`There is no client “${client}”.`);
}
