/** A postal address as it is stored. */
export interface StoredAddress {
  readonly line1: string | null;
  readonly line2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postalCode: string | null;
  readonly country: string | null;
}

const countries = new Intl.DisplayNames('en', { type: 'region' });

/** The lines of an address in a document. */
export function addressLines(address: StoredAddress | null): readonly string[] {
  if (address === null) return [];
  const { line1, line2, city, state, postalCode, country } = address;
  const locality = [city, [state, postalCode].filter((part) => part !== null).join(' ')].filter((part) => part);
  const lines = [line1, line2, locality.join(', '), country === null ? null : countries.of(country)];
  return lines.flatMap((line) => line || []);
}
