import { createTenant, type Operator } from '@financial-automation/server/service';
import { sql } from 'kysely';
import { dateText, dayNumber, threeYearsBefore } from './calendar.ts';
import { multiplyFirm } from './multiply.ts';
import { type ProfileName, profiles } from './profile.ts';
import { progressOf, saveProgress, type Writing, writeFirm } from './write-firm.ts';

export interface LoadOptions extends Pick<Writing, 'isForPeople' | 'signal' | 'pauseShare'> {
  /** Receives steps and the seconds that they took. */
  readonly report?: (step: string, seconds: number) => void;
  /** The day on which the three years end, RFC 3339; by default the day of the tenant. */
  readonly today?: string | undefined;
}

const complete = 'complete';

/**
 * Fills a tenant with three years of data of a firm, the same on the same day but for the keys that the service chooses. A run that was
 * interrupted is continued by the next.
 *
 * @returns the day of data that the tenant has already, and which is left as it is; undefined if anything was loaded.
 * @throws Error with a sentence if the tenant has the data of another profile.
 */
export async function loadProfile(
  place: Pick<Writing, 'service' | 'tenant'>,
  profile: ProfileName,
  { report = () => undefined, today, ...how }: LoadOptions = {},
): Promise<string | undefined> {
  const { service, tenant } = place;
  const { store } = service;
  const progress = await progressOf(place);
  const other = Object.keys(profiles).find((name) => name !== profile && progress.has(name));
  if (other !== undefined) throw new Error(`The tenant has the demo data of the profile ${other}.`);
  const begun = progress.get(profile);
  if (begun !== undefined && progress.has(complete)) return dateText(begun);
  const day = begun ?? dayNumber(today ?? (await todayOf(place)));
  await store.write(tenant.id, (transaction) => saveProgress(transaction, tenant.id, profile, day));
  const start = performance.now();
  await writeFirm({ ...place, ...how, size: profiles[profile].written, span: threeYearsBefore(dateText(day)) });
  report('written', (performance.now() - start) / 1000);
  if (profiles[profile].copies > 1) await multiplyFirm(store, tenant.id, profiles[profile], report);
  await store.write(tenant.id, (transaction) => saveProgress(transaction, tenant.id, complete, 1));
  return undefined;
}

/** Whether a tenant has all data of a profile. */
export async function isLoaded(place: Pick<Writing, 'service' | 'tenant'>): Promise<boolean> {
  return (await progressOf(place)).has(complete);
}

async function todayOf({ service, tenant }: Pick<Writing, 'service' | 'tenant'>): Promise<string> {
  const [row] = await service.store.read(tenant.id, (session) =>
    session.all(sql<{ day: string }>`select today()::text as day`),
  );
  return row?.day ?? '';
}

interface DemoTenantOptions {
  readonly operator: Operator;
  readonly profile: ProfileName;
  readonly name: string;
  /** The day on which the data ends, RFC 3339; by default that of the tenant. */
  readonly today?: string | undefined;
  readonly log: (line: string) => void;
}

/**
 * Creates the tenant of a profile and fills it. One from an interrupted run is continued, and one with the data of the profile is left
 * as it is.
 *
 * @throws Error with a sentence if the tenant has the data of another profile.
 */
export async function createProfileTenant({ operator, profile, name, today, log }: DemoTenantOptions): Promise<void> {
  const { service } = operator;
  const start = performance.now();
  const place = { currency: 'USD', timeZone: 'America/Denver', country: 'US' };
  const tenant =
    (await service.directory.tenant(name)) ??
    (await createTenant(operator, { name, displayName: `Demo firm ${name}`, ...place }));
  log(`${name}: ${profile}`);
  const found = await loadProfile({ service, tenant }, profile, {
    today,
    report: (step, seconds) => log(`  ${step} in ${seconds.toFixed(1)} s`),
  });
  if (found !== undefined)
    log(`${name} has the demo data of ${profile} already, of ${found}. Nothing was loaded into it.`);
  log(`done in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
