/**
 * Keeps the accounts of a CRM and the clients of the firm in step. The CRM here is a JSON file (`CRM_FILE`): edit it, change a client in the
 * firm, and run the program again. The CRM owns name and email address, the firm owns status and balance.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createClient, orThrow } from '@financial-automation/client';

interface Account {
  id: string;
  name: string;
  email: string;
  /** From the firm. */
  status?: string;
  outstandingBalance?: string;
  /** What was pushed last, and the version of the client that resulted or was pulled. */
  pushed?: string;
  version?: number;
}
interface Crm {
  accounts: Account[];
  /** Position in the list of events. */
  position: string | null;
}

const api = createClient({
  baseUrl: process.env.API_URL ?? 'http://127.0.0.1:3000',
  tenant: process.env.API_TENANT ?? 'hartwell',
  apiKey: process.env.API_KEY ?? '',
});
const file = process.env.CRM_FILE ?? 'crm.json';
const firstAccounts: Account[] = [
  { id: 'crm-91001', name: 'Foxglove Bakery LLC', email: 'hello@foxglove.example' },
  { id: 'crm-91002', name: 'Ridgeline Surveying Inc', email: 'office@ridgeline.example' },
];
const crm: Crm = JSON.parse(
  await readFile(file, 'utf8').catch(() => JSON.stringify({ accounts: firstAccounts, position: null })),
);

console.log('pushed', await push());
console.log('pulled', await pull());
await save();

/** Sends the accounts that changed since they were pushed, 100 per call. */
async function push(): Promise<number> {
  const changed = crm.accounts.filter((account) => account.pushed !== contentOf(account));
  for (let start = 0; start < changed.length; start += 100) {
    const accounts = changed.slice(start, start + 100);
    const records = accounts.map(({ id, name, email }) => ({
      type: 'Client' as const,
      systemRef: id,
      attributes: { name, email },
    }));
    const { records: results } = await orThrow(api.upsertRecords({ body: { records } }));
    for (const { index, version, error } of results) {
      const account = accounts[index];
      if (account === undefined) continue;
      if (error !== null) {
        // It stays changed, and is sent again by the next run.
        console.error(`${account.id} failed: ${error.detail}`);
        continue;
      }
      account.pushed = contentOf(account);
      if (version !== null) account.version = version;
    }
    await save();
  }
  return changed.length;
}

/** Applies the events since the last run. An event with a version that is known is our own change. */
async function pull(): Promise<number> {
  let applied = 0;
  const query = {
    entityType: 'Client' as const,
    pageSize: 1000,
    ...(crm.position !== null && { after: crm.position }),
  };
  for await (const page of api.listEvents.pages({ query })) {
    for (const event of page.data) {
      if (event.entityType !== 'Client') continue;
      const account = crm.accounts.find(({ id }) => id === event.data.systemRef);
      if (account === undefined || event.data.version < (account.version ?? 0)) continue;
      const { status, outstandingBalance, version } = event.data;
      if (account.status !== status || account.outstandingBalance !== outstandingBalance) applied += 1;
      Object.assign(account, { status, outstandingBalance, version });
    }
    crm.position = page.nextCursor;
    await save();
  }
  return applied;
}

function contentOf({ name, email }: Account): string {
  return JSON.stringify([name, email]);
}

/** Replaces the file in one step, so that a crash leaves the old or the new one. */
async function save(): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(crm, null, 2)}\n`);
  await rename(`${file}.new`, file);
}
