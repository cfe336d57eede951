import { type RawBuilder, sql } from 'kysely';

/** A postal address as it is stored. */
export interface StoredAddress {
  readonly line1: string | null;
  readonly line2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postalCode: string | null;
  readonly country: string | null;
}

/** Where a postal code follows the city and the state. */
const postalCodeLast: ReadonlySet<string | null> = new Set([null, 'US', 'CA', 'AU', 'NZ', 'GB', 'IE', 'IN', 'JP']);

/** The lines of an address in a document. The country is in the language of the document, and omitted if both parties have it. */
export function addressLines(address: StoredAddress | null, language: string, isDomestic: boolean): readonly string[] {
  if (address === null) return [];
  const { line1, line2, city, state, postalCode, country } = address;
  const named = postalCodeLast.has(country)
    ? [city, [state, postalCode].filter((part) => part !== null).join(' ')]
    : [[postalCode, city].filter((part) => part !== null).join(' '), state];
  const locality = named.filter((part) => part);
  const nation =
    country === null || isDomestic ? null : new Intl.DisplayNames(language, { type: 'region' }).of(country);
  return [line1, line2, locality.join(state === null ? ' ' : ', '), nation].flatMap((line) => line || []);
}

/** SQL of the address in the columns of a row; null if there is no row. */
export function storedAddress(row: string): RawBuilder<StoredAddress | null> {
  const column = (name: string) => sql.ref(`${row}.${name}`);
  return sql`(case when ${column('id')} is not null then json_build_object('line1', ${column('line1')},
    'line2', ${column('line2')}, 'city', ${column('city')}, 'state', ${column('state')},
    'postalCode', ${column('postal_code')}, 'country', ${column('country')}) end)`;
}
