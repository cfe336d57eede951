import type { components } from '@financial-automation/spec';
import provinces from 'provinces';
import { schemaOf } from '../../contract/contract.ts';
import { propertiesOf } from '../../contract/fields.ts';

type Address = components['schemas']['Address'];

/** An address without a single part, in the contract's order. */
const empty = Object.fromEntries(Object.keys(propertiesOf(schemaOf('Address'))).map((part) => [part, null]));

/** An address with all of its parts: one that is left out is null, and states are abbreviated. */
export function completeAddress(address: Address): Address {
  const complete: Address = { ...empty, ...address };
  return { ...complete, state: abbreviatedState(complete.country, complete.state) ?? null };
}

/** Names of US states and Canadian provinces become their abbreviations; other countries keep what was written. */
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

/** A name without case and accents: Québec is Quebec. */
function withoutAccents(name: string): string {
  return name.trim().normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
