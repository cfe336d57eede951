import type { components } from '@financial-automation/spec';
import provinces from 'provinces';
import { schemaOf } from '../../contract/contract.ts';
import { propertiesOf } from '../../contract/fields.ts';

type Address = components['schemas']['Address'];

/** An address with all parts null, in the contract's order. */
const empty = Object.fromEntries(Object.keys(propertiesOf(schemaOf('Address'))).map((part) => [part, null]));

/** Completes an address: missing parts are null, and states are abbreviated. */
export function completeAddress(address: Address): Address {
  const complete: Address = { ...empty, ...address };
  return { ...complete, state: abbreviatedState(complete.country, complete.state) ?? null };
}

/** Abbreviates names of US states and Canadian provinces; values of other countries are unchanged. */
export function abbreviatedState<Text extends string | null | undefined>(
  country: string | null | undefined,
  state: Text,
): Text | string {
  if (typeof state !== 'string' || (country !== 'US' && country !== 'CA')) return state;
  const name = withoutAccents(state);
  const found = provinces.find(
    (region) =>
      region.country === country && (withoutAccents(region.name) === name || region.short?.toLowerCase() === name),
  );
  return found?.short ?? state;
}

/** Normalizes a name without case and accents: Québec becomes quebec. */
function withoutAccents(name: string): string {
  return name.trim().normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
