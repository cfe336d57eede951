export const words = (text: string) => text.split(/\s+/);

/** Fictitious names. */
export const firstNames = words(
  'Ada Amir Bea Carl Chen Dana Elif Emre Fay Gita Hugo Ines Ivo Jun Kai Lena Luis Mara Nils Noor Omar Paula Quinn Rosa Sam Tara Umar Vera Wei Yara',
);
export const lastNames = words(
  'Abara Bexley Calder Dorn Eastby Farrow Galloway Hartsel Ibsen Jarvis Kestrel Lindqvist Marrow Nakada Okafor Pellham Quaid Reyes Solberg Tamsin Ulver Varga Whitfield Yardley',
);
const places = words(
  'Harbor Cedar North River Summit Juniper Granite Willow Beacon Prairie Canyon Lakeside Maple Sterling Copper Bluebird Orchard Anchor Meadow Falcon',
);
const trades = words(
  'Bakery Boatworks Builders Clinic Design Farms Foods Freight Gardens Glass Homes Logistics Media Mills Motors Orchards Pharmacy Press Roofing Software Studios Textiles Timber Vineyard',
);

/** Returns the item of a list with a number, which starts again after the last one. */
export function inTurn<const Value>(list: readonly Value[], number: number): Value {
  const found = list[number % list.length];
  if (found === undefined) throw new RangeError('The list is empty.');
  return found;
}

/** The name of a person; names repeat after a long time, because both lists start again at different numbers. */
export function personName(number: number): readonly [first: string, last: string] {
  return [inTurn(firstNames, number * 7), inTurn(lastNames, number * 5 + Math.floor(number / firstNames.length))];
}

export function businessName(number: number): string {
  return `${inTurn(places, number * 3)} ${inTurn(trades, number * 5 + Math.floor(number / places.length))}`;
}

export const streets = places;

/** An address at the domain of a business, or at that of everybody, also of names that no address can have. */
export function emailOf(person: string, business: string): string {
  const letters = (text: string) => text.toLowerCase().match(/[a-z]+/g) ?? [];
  const local = letters(person).join('.').slice(0, 60).replace(/\.$/, '');
  const domain = letters(business).join('').slice(0, 60);
  return `${local === '' ? 'office' : local}@${domain === '' ? 'example.com' : `${domain}.example`}`;
}

/**
 * Names that are difficult to display: right to left, in other scripts, long, or with characters that are special in SQL and
 * HTML. Firms that people look at have none.
 */
export const awkwardNames = [
  'مؤسسة النخيل للتجارة',
  'חברת הגליל בע״מ',
  '株式会社山田製作所',
  'Ümit & Søn “Gørán” — Çelik Ltd.',
  "O'Hara \\ Sons; drop table client; --",
  '<b>Bold & Brave</b> 🚀 Ventures',
  `${'The Very Long Name of a Partnership That Nobody Ever Shortened and '.repeat(3).slice(0, 190).trim()} LLC`,
] as const;

/** Codes of states and countries in which clients are, the tax on services there in percent, and a city. */
export const regions = [
  ['US', 'OR', 'Oregon', '0', 'Eugene', '97401'],
  ['US', 'WA', 'Washington', '0', 'Spokane', '99201'],
  ['US', 'ID', 'Idaho', '0', 'Boise', '83702'],
  ['US', 'CA', 'California', '0', 'Sacramento', '95814'],
  ['US', 'NV', 'Nevada', '0', 'Reno', '89501'],
  ['US', 'MT', 'Montana', '0', 'Missoula', '59802'],
  ['US', 'UT', 'Utah', '0', 'Provo', '84601'],
  ['US', 'CO', 'Colorado', '0', 'Denver', '80202'],
  ['US', 'NM', 'New Mexico', '5.125', 'Santa Fe', '87501'],
  ['US', 'SD', 'South Dakota', '4.2', 'Rapid City', '57701'],
  ['CA', null, 'Canada', '5', 'Vancouver', 'V6B 1A1'],
] as const;

export const industries =
  'Orchards,Logging,Home building,Roofing,Bakeries,Breweries,Machine shops,Furniture making,Grocery wholesale,Car dealers,Pharmacies,Online retail,Trucking,Film production,Software publishing,Real estate leasing,Law offices,Architects,Physicians,Restaurants'.split(
    ',',
  );
