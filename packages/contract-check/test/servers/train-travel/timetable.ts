export interface Station {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly country_code: string;
  readonly timezone: string;
}

export interface Trip {
  readonly id: string;
  readonly origin: string;
  readonly destination: string;
  readonly departure_time: string;
  readonly arrival_time: string;
  readonly operator: string;
  readonly price: number;
  readonly bicycles_allowed: boolean;
  readonly dogs_allowed: boolean;
}

const day = 24 * 60 * 60 * 1000;
const hour = 60 * 60 * 1000;
const tripsPerDay = 12;
/** Days from the year 0 to 1970, so that day numbers of four-digit years are never negative. */
const epoch = 719_528;

export const stations: readonly Station[] = [
  ['efdbb9d1-02c2-4bc3-afb7-6788d8782b1e', 'Berlin Hauptbahnhof', 'Europaplatz 1, 10557 Berlin', 'DE', 'Europe/Berlin'],
  [
    'b2e783e1-c824-4d63-b37a-d8d698862f1d',
    'Paris Gare du Nord',
    '18 Rue de Dunkerque, 75010 Paris',
    'FR',
    'Europe/Paris',
  ],
  ['0c000000-0000-4000-8000-000000000003', 'Wien Hauptbahnhof', 'Am Hauptbahnhof 1, 1100 Wien', 'AT', 'Europe/Vienna'],
  ['0c000000-0000-4000-8000-000000000004', 'Zürich HB', 'Bahnhofplatz 15, 8001 Zürich', 'CH', 'Europe/Zurich'],
  ['0c000000-0000-4000-8000-000000000005', 'Roma Termini', 'Via Giolitti 40, 00185 Roma', 'IT', 'Europe/Rome'],
  [
    '0c000000-0000-4000-8000-000000000006',
    'Madrid Atocha',
    'Plaza Emperador Carlos V, 28045 Madrid',
    'ES',
    'Europe/Madrid',
  ],
  ['0c000000-0000-4000-8000-000000000007', 'Lisboa Oriente', 'Avenida Dom João II, 1990 Lisboa', 'PT', 'Europe/Lisbon'],
  [
    '0c000000-0000-4000-8000-000000000008',
    'Bruxelles-Midi',
    'Avenue Fonsny 47B, 1060 Bruxelles',
    'BE',
    'Europe/Brussels',
  ],
  [
    '0c000000-0000-4000-8000-000000000009',
    'Amsterdam Centraal',
    'Stationsplein, 1012 Amsterdam',
    'NL',
    'Europe/Amsterdam',
  ],
  [
    '0c000000-0000-4000-8000-00000000000a',
    'København H',
    'Bernstorffsgade 16, 1577 København',
    'DK',
    'Europe/Copenhagen',
  ],
  [
    '0c000000-0000-4000-8000-00000000000b',
    'Praha hlavní nádraží',
    'Wilsonova 300, 120 00 Praha',
    'CZ',
    'Europe/Prague',
  ],
  ['0c000000-0000-4000-8000-00000000000c', 'London St Pancras', 'Euston Road, London N1C 4QP', 'GB', 'Europe/London'],
].map(([id = '', name = '', address = '', country_code = '', timezone = '']) => ({
  id,
  name,
  address,
  country_code,
  timezone,
}));

/** Trains run between any two stations on every day of a four-digit year, ordered by departure. */
export function tripsOn(origin: string, destination: string, date: string): Trip[] {
  const from = indexOf(origin);
  const to = indexOf(destination);
  const number = Math.floor(instantOf(date) / day) + epoch;
  if (from < 0 || to < 0 || from === to) return [];
  return Array.from({ length: tripsPerDay }, (_, slot) => tripAt(number, slot, from, to)).filter(
    (trip) => trip !== undefined,
  );
}

/** An ID encodes the day, the time and the stations of a trip. */
export function tripOf(id: string): Trip | undefined {
  const parts = /^([0-9a-f]{8})-([0-9a-f]{4})-4000-8000-([0-9a-f]{6})([0-9a-f]{6})$/i.exec(id)?.slice(1) ?? [];
  const [number = -1, slot = -1, from = -1, to = -1] = parts.map((part) => Number.parseInt(part, 16));
  const exists = slot < tripsPerDay && from !== to && stations[from] !== undefined && stations[to] !== undefined;
  return exists ? tripAt(number, slot, from, to) : undefined;
}

function tripAt(number: number, slot: number, from: number, to: number): Trip | undefined {
  const departure = new Date((number - epoch) * day + (6 + slot) * hour);
  const year = departure.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) return undefined;
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  return {
    id: `${hex(number, 8)}-${hex(slot, 4)}-4000-8000-${hex(from, 6)}${hex(to, 6)}`,
    origin: stations[from]?.id ?? '',
    destination: stations[to]?.id ?? '',
    departure_time: departure.toISOString(),
    arrival_time: new Date(departure.getTime() + 6 * hour).toISOString(),
    operator: slot % 2 === 0 ? 'Deutsche Bahn' : 'SNCF',
    price: 50 + slot / 2,
    bicycles_allowed: slot % 2 === 0,
    dogs_allowed: slot % 3 !== 0,
  };
}

function indexOf(id: string): number {
  return stations.findIndex((station) => station.id === id.toLowerCase());
}

/** RFC 3339 allows leap seconds and a space between date and time; JavaScript does not. */
function instantOf(date: string): number {
  return Date.parse(
    date
      .toUpperCase()
      .replace(' ', 'T')
      .replace(/:60(?=\D)/, ':59'),
  );
}
