import { sql } from 'kysely';
import { dateText, dayNumber, threeYearsBefore } from './calendar.ts';
import { multiplyFirm } from './multiply.ts';
import { isProfile, type ProfileName, profiles } from './profile.ts';
import { readCounter, saveCounter, type Writing, writeFirm } from './write-firm.ts';

export interface LoadOptions extends Pick<Writing, 'isForPeople' | 'signal' | 'pauseShare'> {
  /** Receives steps and the seconds that they took. */
  readonly report?: (step: string, seconds: number) => void;
  /** The day on which the three years end, RFC 3339; by default the day of the tenant. */
  readonly today?: string | undefined;
}

/** The counter with the day of the data of a profile, and the one that a complete load has. */
const dayCounter = (profile: ProfileName) => `demo_data.${profile}`;
const complete = 'demo_data.complete';

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
  const counter = (name: string) => store.read(tenant.id, (session) => readCounter(session, tenant.id, name));
  for (const other of Object.keys(profiles).filter(isProfile))
    if (other !== profile && (await counter(dayCounter(other))) !== undefined)
      throw new Error(`The tenant has the demo data of the profile ${other}.`);
  const begun = await counter(dayCounter(profile));
  if (begun !== undefined && (await counter(complete)) !== undefined) return dateText(begun);
  const day = begun ?? dayNumber(today ?? (await todayOf(place)));
  await store.write(tenant.id, (transaction) => saveCounter(transaction, tenant.id, dayCounter(profile), day));
  const start = performance.now();
  await writeFirm({ ...place, ...how, size: profiles[profile].written, span: threeYearsBefore(dateText(day)) });
  report('written', (performance.now() - start) / 1000);
  if (profiles[profile].copies > 1) await multiplyFirm(store, tenant.id, profiles[profile], report);
  await store.write(tenant.id, (transaction) => saveCounter(transaction, tenant.id, complete, 1));
  return undefined;
}

/** Whether a tenant has all data of a profile. */
export async function isLoaded({ service, tenant }: Pick<Writing, 'service' | 'tenant'>): Promise<boolean> {
  const found = await service.store.read(tenant.id, (session) => readCounter(session, tenant.id, complete));
  return found !== undefined;
}

async function todayOf({ service, tenant }: Pick<Writing, 'service' | 'tenant'>): Promise<string> {
  const [row] = await service.store.read(tenant.id, (session) =>
    session.all(sql<{ day: string }>`select today()::text as day`),
  );
  return row?.day ?? '';
}
