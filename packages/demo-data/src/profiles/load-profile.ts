import { sql } from 'kysely';
import { BackgroundLoader, stepsDone } from './background-load.ts';
import { loadInBulk } from './bulk-load.ts';
import { dateText, dayNumber, type Span, threeYearsBefore } from './calendar.ts';
import { loadCharges } from './charges.ts';
import { counterOf, readCounter, saveCounters } from './counters.ts';
import { loadEngagements } from './engagements.ts';
import { fileContent, loadFiles } from './files.ts';
import { loadFirm } from './firm.ts';
import { loadIntegrations } from './integrations.ts';
import { createJobs, loadJobs, loadTasks } from './jobs.ts';
import { loadBilling } from './load-billing.ts';
import { firstClientNumber, loadParties } from './parties.ts';
import { isProfile, type ProfileName, profiles } from './profile.ts';
import { addUpSums } from './sums.ts';
import { type Loader, load, type Place, type Report } from './table-loader.ts';
import { loadTime } from './time.ts';

/** The tenant to fill, its size, and the API user who created its payment links. */
export interface Filling {
  readonly tenantId: number;
  readonly profile: ProfileName;
  readonly apiUserId: string;
  /** False for a firm from before there were credit notes. By default true. */
  readonly hasCreditNotes?: boolean;
}

export interface LoadOptions {
  readonly report?: Report;
  /** The day on which the three years end, RFC 3339; by default the day of the tenant. */
  readonly today?: string | undefined;
  /** Whether to lock the tables, which is faster; only on PostgreSQL. By default for large tenants. */
  readonly isBulk?: boolean;
}

/** The maximum number of time entries that are loaded row by row without a long wait. */
const mostRowByRow = 50_000;

/**
 * Fills tenants with three years of data of a firm each, the same in every run on the same day. It is one transaction: an
 * interrupted run leaves nothing behind, and can be repeated. Rows have no audit rows and no events.
 *
 * @returns the tenants that had demo data already, which are left as they are, and its day; undefined if that is not known.
 */
export async function loadProfiles(
  place: Place,
  fillings: readonly Filling[],
  { report = () => undefined, today, isBulk = fillings.some(isLarge) }: LoadOptions = {},
): Promise<ReadonlyMap<number, string | undefined>> {
  const { store, databaseUrl, storage } = place;
  const found = new Map<number, string | undefined>();
  const days = new Map<number, string>();
  for (const { tenantId, profile } of fillings) {
    const loaded = await loadedDay(place, tenantId, profile);
    if (loaded !== undefined) found.set(tenantId, loaded.day);
    else days.set(tenantId, today ?? (await dayOf(place, tenantId)));
  }
  const wanted = fillings.filter(({ tenantId }) => !found.has(tenantId));
  if (wanted.length === 0) return found;
  for (const { tenantId } of wanted) await storage?.put(tenantId, fileContent);
  const fillOne = (loader: Loader, filling: Filling) =>
    fill(loader, filling, threeYearsBefore(days.get(filling.tenantId) ?? ''));
  if (isBulk && databaseUrl !== undefined) {
    await loadInBulk(databaseUrl, report, async (loaderOf) => {
      for (const filling of wanted) await fillOne(loaderOf(filling.tenantId), filling);
    });
    return found;
  }
  for (const filling of wanted)
    await load({ store, databaseUrl }, filling.tenantId, report, (loader) => fillOne(loader, filling));
  // Without statistics of the new rows, the planner assumes empty tables.
  await store.system((transaction) => transaction.all(sql`analyze`));
  return found;
}

/**
 * Fills a tenant in short transactions while the service serves calls. A run that was interrupted is continued by the next.
 *
 * @param signal interrupts it after the current transaction.
 * @returns whether anything was left to load.
 */
export async function loadInBackground(
  place: Place,
  { tenantId, profile, apiUserId }: Filling,
  signal: AbortSignal,
): Promise<boolean> {
  const { store, storage } = place;
  const reader = readerOf(place, tenantId);
  const begun = await readCounter(reader, dayCounter(profile));
  const loaded = await loadedDay(place, tenantId, profile);
  if (loaded !== undefined && (begun === undefined || loaded.isComplete)) return false;
  const day = begun ?? dayNumber(await dayOf(place, tenantId));
  await store.write(tenantId, (transaction) => transaction.all(counterOf(tenantId, dayCounter(profile), day)));
  await storage?.put(tenantId, fileContent);
  const loader = new BackgroundLoader(store, tenantId, (await readCounter(reader, stepsDone)) ?? 0, signal);
  await fillTables(loader, { tenantId, profile, apiUserId }, threeYearsBefore(dateText(day)));
  await loader.updateStatistics();
  return true;
}

/** Fills one tenant. @throws Error with a sentence if it has demo data already. */
export async function loadProfile(
  place: Place,
  tenantId: number,
  profile: ProfileName,
  apiUserId: string,
  options: LoadOptions = {},
): Promise<void> {
  const found = await loadProfiles(place, [{ tenantId, profile, apiUserId }], options);
  if (found.size > 0) throw new Error('The tenant has demo data already.');
}

function isLarge({ profile }: Filling): boolean {
  return profiles[profile].entries > mostRowByRow;
}

/** The counter with the day of the data of a profile, and the one that a complete load has. */
const dayCounter = (profile: ProfileName) => `demo_data.${profile}`;
const complete = 'demo_data.complete';

function readerOf({ store }: Place, tenantId: number): Pick<Loader, 'all' | 'tenantId'> {
  return { tenantId, all: (query) => store.read(tenantId, (session) => session.all(query)) };
}

async function dayOf(place: Place, tenantId: number): Promise<string> {
  const [row] = await readerOf(place, tenantId).all<{ day: string }>(sql`select today()::text as day`);
  return row?.day ?? '';
}

/** @throws Error with a sentence if the tenant has the data of another profile. */
async function loadedDay(
  place: Place,
  tenantId: number,
  profile: ProfileName,
): Promise<{ readonly day: string | undefined; readonly isComplete: boolean } | undefined> {
  const reader = readerOf(place, tenantId);
  const [client] = await reader.all(sql`
    select 1 from client where tenant_id = ${tenantId} and client_ref = ${`C-${firstClientNumber}`}`);
  if (client === undefined) return undefined;
  const day = await readCounter(reader, dayCounter(profile));
  for (const other of Object.keys(profiles).filter(isProfile))
    if (day === undefined && (await readCounter(reader, dayCounter(other))) !== undefined)
      throw new Error(`The tenant has the demo data of the profile ${other}.`);
  const isComplete = (await readCounter(reader, complete)) !== undefined;
  return { day: day === undefined ? undefined : dateText(day), isComplete };
}

async function fill(loader: Loader, filling: Filling, span: Span): Promise<void> {
  await saveCounters(loader, [[dayCounter(filling.profile), span.today]]);
  await fillTables(loader, filling, span);
}

async function fillTables(loader: Loader, filling: Filling, span: Span): Promise<void> {
  const { profile: name, apiUserId, hasCreditNotes = true } = filling;
  const profile = profiles[name];
  const firm = await loader.step(() => loadFirm(loader, profile, span));
  const clients = await loader.step(() => loadParties(loader, profile, firm));
  const jobs = createJobs(profile, firm, clients);
  await loader.step(async () => {
    await loadJobs(loader, firm, clients, jobs);
    await loadEngagements(loader, firm, clients, jobs);
  });
  await loader.updateStatistics();
  await loadTasks(loader, firm, jobs);
  const work = await loadTime(loader, profile, firm, jobs);
  await loadCharges(loader, profile, firm, jobs, work);
  await loadBilling(loader, firm, clients, jobs, work, { apiUserId, hasCreditNotes });
  await loadFiles(loader, profile, firm, clients, jobs);
  await loader.step(() => loadIntegrations(loader, profile, firm, clients, apiUserId));
  // The planner needs statistics of the rows before they are summed up.
  if (!loader.keepsSums) await loader.run(sql`analyze`);
  await addUpSums(loader);
  await saveCounters(loader, [
    ['client.client_ref', firstClientNumber + clients.length],
    [complete, 1],
  ]);
}
