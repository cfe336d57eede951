import { sql } from 'kysely';
import { loadInBulk } from './bulk-load.ts';
import { loadCharges } from './charges.ts';
import { saveCounters } from './counters.ts';
import { loadEngagements } from './engagements.ts';
import { fileContent, loadFiles } from './files.ts';
import { loadFirm } from './firm.ts';
import { loadIntegrations } from './integrations.ts';
import { loadJobs } from './jobs.ts';
import { loadBilling } from './load-billing.ts';
import { firstClientNumber, loadParties } from './parties.ts';
import { type ProfileName, profiles } from './profile.ts';
import { addUpSums } from './sums.ts';
import { type Loader, load, type Place, type Report } from './table-loader.ts';
import { loadTime } from './time.ts';

/** The tenant to fill, its size, and the API user who created its payment links. */
export interface Filling {
  readonly tenantId: number;
  readonly profile: ProfileName;
  readonly apiUserId: string;
}

/** The maximum number of time entries that are loaded row by row without a long wait. */
const mostRowByRow = 50_000;

/**
 * Fills tenants with three years of data of a firm each, the same in every run. It is one transaction: an interrupted run
 * leaves nothing behind, and can be repeated. Rows have no audit rows and no events.
 *
 * @param isBulk whether to lock the tables, which is faster; only on PostgreSQL. By default for large tenants.
 * @throws Error with a sentence if a tenant already has demo data.
 */
export async function loadProfiles(
  { store, databaseUrl, storage }: Place,
  fillings: readonly Filling[],
  report: Report = () => undefined,
  isBulk = fillings.some(({ profile }) => profiles[profile].entries > mostRowByRow),
): Promise<void> {
  for (const { tenantId } of fillings) await storage?.put(tenantId, fileContent);
  if (isBulk && databaseUrl !== undefined)
    return loadInBulk(databaseUrl, report, async (loaderOf) => {
      for (const filling of fillings) await fill(loaderOf(filling.tenantId), filling);
    });
  for (const filling of fillings)
    await load({ store, databaseUrl }, filling.tenantId, report, (loader) => fill(loader, filling));
  // Without statistics of the new rows, the planner assumes empty tables.
  await store.system((transaction) => transaction.all(sql`analyze`));
}

/** Fills one tenant. */
export function loadProfile(
  place: Place,
  tenantId: number,
  profile: ProfileName,
  apiUserId: string,
  report?: Report,
): Promise<void> {
  return loadProfiles(place, [{ tenantId, profile, apiUserId }], report);
}

async function fill(loader: Loader, { tenantId, profile: name, apiUserId }: Filling): Promise<void> {
  const profile = profiles[name];
  const [filled] = await loader.all(sql`
    select 1 from client where tenant_id = ${tenantId} and client_ref = ${`C-${firstClientNumber}`}`);
  if (filled !== undefined) throw new Error('The tenant has demo data already.');
  const firm = await loadFirm(loader, profile);
  const clients = await loadParties(loader, profile, firm);
  const jobs = await loadJobs(loader, profile, firm, clients);
  const work = await loadTime(loader, profile, firm, jobs);
  await loadCharges(loader, profile, firm, jobs, work);
  await loadBilling(loader, firm, clients, jobs, work, apiUserId);
  await loadEngagements(loader, firm, clients, jobs);
  await loadFiles(loader, profile, firm, clients, jobs);
  await loadIntegrations(loader, profile, clients, apiUserId);
  // The planner needs statistics of the rows before they are summed up.
  if (!loader.keepsSums) await loader.all(sql`analyze`);
  await addUpSums(loader);
  await saveCounters(loader, [['client.client_ref', firstClientNumber + clients.length]]);
}
